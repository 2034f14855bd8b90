local function compose(f, g) return function(x) return g(f(x)) end end

local function twice(f) return function(x) return f(f(x)) end end

local function counter(by)
  local n = 0
  return function()
    n = n + by
    return n
  end
end

local function fold(xs, init, f)
  local acc = init
  for i = 1, #xs do acc = f(acc, xs[i]) end
  return acc
end

local function main()
  local first = compose(compose(function(x) return x + 1 end, function(x) return x * 3 end), function(x) return x % 10007 end)
  local second = twice(function(x) return x + 7 end)
  local third = twice(twice(function(x) return x - 2 end))
  local functions = {first, second, third}
  local tick = counter(2)
  local xs = {}
  for i = 0, 999 do xs[i + 1] = i end
  local acc = 0
  for round = 0, 2999 do
    local f = functions[round % 3 + 1]
    acc = acc + fold(xs, 0, function(sum, x) return sum + f(x) end) % 1000 + tick()
  end
  return acc
end

print(main())
