local function down(n, acc)
  if n == 0 then return acc end
  local below = down(n - 1, (acc * 3 + n) % 1000003)
  return below + n % 3
end

local sum = 0
for i = 0, 499 do sum = sum + down(10000, i) end
print(sum)
