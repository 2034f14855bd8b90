local function sift(xs, from, last)
  local root = from
  while true do
    local child = root * 2
    if child > last then return end
    if child + 1 <= last and xs[child] < xs[child + 1] then child = child + 1 end
    if xs[root] >= xs[child] then return end
    xs[root], xs[child] = xs[child], xs[root]
    root = child
  end
end

local function copy(xs)
  local out = {}
  for i = 1, #xs do out[i] = xs[i] end
  return out
end

local function heapsort(xs)
  local out = copy(xs)
  local n = #out
  for from = math.floor(n / 2), 1, -1 do sift(out, from, n) end
  for last = n, 2, -1 do
    out[last], out[1] = out[1], out[last]
    sift(out, 1, last - 1)
  end
  return out
end

local function main()
  local xs = {}
  local seed = 42
  for i = 1, 200000 do
    seed = seed * 16807 % 2147483647
    xs[i] = seed
  end
  local ours = heapsort(xs)
  local library = copy(xs)
  table.sort(library)
  local check = 0
  for i = 1, #ours do
    if ours[i] ~= library[i] then error("they differ at " .. i) end
    check = (check * 31 + ours[i]) % 1000000007
  end
  return check
end

print(main())
