local function map(xs, f)
  local out = {}
  for i = 1, #xs do out[i] = f(xs[i]) end
  return out
end

local function filter(xs, f)
  local out, n = {}, 0
  for i = 1, #xs do
    local x = xs[i]
    if f(x) then
      n = n + 1
      out[n] = x
    end
  end
  return out
end

local function reduce(xs, init, f)
  local acc = init
  for i = 1, #xs do acc = f(acc, xs[i]) end
  return acc
end

local function main()
  local xs = {}
  for i = 1, 1000000 do xs[i] = i - 1 end
  local k = 3
  local sum = 0
  for r = 1, 3 do
    local doubled = map(xs, function(x) return x * 2 + r end)
    local kept = filter(doubled, function(x) return x % k == 0 end)
    sum = sum + reduce(kept, 0, function(a, b) return a + b end)
  end
  return sum
end

print(main())
