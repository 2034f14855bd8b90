local function make(n)
  local letters, parts, seed = "ACGT", {}, 42
  for i = 1, n do
    seed = (seed * 3877 + 29573) % 139968
    local at = seed * 4 // 139968 + 1
    parts[i] = letters:sub(at, at)
  end
  return table.concat(parts)
end

-- count also returns the keys in the order in which they were found, which Lua's tables forget.
local function count(text, size)
  local found, keys = {}, {}
  for i = 1, #text - size + 1 do
    local key = text:sub(i, i + size - 1)
    local n = found[key]
    if n == nil then keys[#keys + 1] = key end
    found[key] = (n or 0) + 1
  end
  return found, keys
end

local text, sum = make(500000), 0
for size = 1, 6 do
  local found, keys = count(text, size)
  for _, key in ipairs(keys) do sum = (sum * 31 + found[key] * size) % 1000003 end
  sum = sum + #keys + (found["GGT"] or 0) + (found["ACGTAC"] or 0)
end
print(sum)
