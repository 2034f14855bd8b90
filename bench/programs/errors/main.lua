-- Where a Concerto function gives a Result, this one gives a value, or nil and
-- an error.
local function check(n)
  if n % 5 == 4 then return nil, {message = "refused", at = n} end
  return n * 2
end

local function inner(n)
  local v, err = check(n)
  if err then return nil, err end
  return v + 1
end

local function middle(n)
  local v, err = inner(n)
  if err then return nil, err end
  local w
  w, err = check(n + 1)
  if err then return nil, err end
  return v + w
end

local function outer(n)
  local v, err = middle(n)
  if err then return nil, err end
  return v - 3
end

local function risky(n)
  if n % 3 == 0 then error({message = "thrown", at = n}) end
  return n + 1
end

local function main()
  local good, bad = 0, 0
  for i = 0, 499999 do
    local v, err = outer(i)
    if err then bad = bad + err.at else good = good + v end
  end
  for i = 0, 499999 do
    local ok, v = pcall(risky, i)
    if ok then good = good + v * 2 else bad = bad + v.at end
  end
  return good .. " " .. bad
end

print(main())
