local function decompose(a, n)
  local sign, abs = 1.0, math.abs
  for j = 1, n do
    local pivot = j
    for i = j + 1, n do
      if abs(a[i][j]) > abs(a[pivot][j]) then pivot = i end
    end
    if pivot ~= j then
      a[pivot], a[j] = a[j], a[pivot]
      sign = -sign
    end
    for i = j + 1, n do
      local row, upper = a[i], a[j]
      local factor = row[j] / upper[j]
      row[j] = factor
      for k = j + 1, n do row[k] = row[k] - factor * upper[k] end
    end
  end
  local sum = 0.0
  for i = 1, n do sum = sum + math.sqrt(abs(a[i][i])) * sign end
  return sum
end

local n, a, seed = 360, {}, 42
for i = 1, n do
  local row = {}
  for j = 1, n do
    seed = (seed * 3877 + 29573) % 139968
    row[j] = seed / 139968.0
  end
  a[i] = row
end
print(string.format("%.6f", decompose(a, n)))
