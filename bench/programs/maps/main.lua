local function by_int(n)
  local m = {}
  for i = 0, n - 1 do m[i * 7919 % 10000019] = i end
  local sum = 0
  for i = 0, n - 1 do
    local key = i * 7919 % 10000019
    m[key] = m[key] + 1
    sum = sum + m[key]
  end
  for i = 0, n - 1 do
    if i % 2 == 0 then m[i * 7919 % 10000019] = nil end
  end
  local count = 0
  for key, v in pairs(m) do
    sum = sum + key % 10 + v
    count = count + 1
  end
  return sum + count
end

local function by_string(n)
  local m = {}
  for i = 0, n - 1 do m["key " .. i] = i end
  local sum = 0
  for i = 0, n - 1 do sum = sum + (m["key " .. i * 7 % n] or 0) end
  local count = 0
  for key, v in pairs(m) do
    sum = sum + #key + v
    count = count + 1
  end
  return sum + count
end

print(string.format("%d %d", by_int(1000000), by_string(1000000)))
