local function next(cells, n)
  local after = {}
  for y = 0, n - 1 do
    local above, here, below = cells[(y + n - 1) % n], cells[y], cells[(y + 1) % n]
    local row = {}
    for x = 0, n - 1 do
      local left, right = (x + n - 1) % n, (x + 1) % n
      local near = above[left] + above[x] + above[right] + here[left] + here[right]
        + below[left] + below[x] + below[right]
      row[x] = (near == 3 or near == 2 and here[x] == 1) and 1 or 0
    end
    after[y] = row
  end
  return after
end

local n, cells, seed = 128, {}, 42
for y = 0, n - 1 do
  local row = {}
  for x = 0, n - 1 do
    seed = (seed * 3877 + 29573) % 139968
    row[x] = seed % 10 < 3 and 1 or 0
  end
  cells[y] = row
end
for _ = 1, 200 do cells = next(cells, n) end
local sum = 0
for y = 0, n - 1 do
  for x = 0, n - 1 do sum = (sum * 3 + cells[y][x]) % 1000003 end
end
print(sum)
