local function make()
  local lines, seed = {}, 42
  for i = 1, 130000 do
    local line = {}
    for k = 1, 11 do
      seed = (seed * 3877 + 29573) % 139968
      line[k] = "word" .. seed % 5000
    end
    lines[i] = table.concat(line, " ")
  end
  return table.concat(lines, "\n")
end

local counts, n = {}, 0
for line in make():gmatch("[^\n]+") do
  for word in line:gmatch("[^ ]+") do counts[word] = (counts[word] or 0) + 1 end
end
local order = {}
for word, count in pairs(counts) do
  n = n + 1
  order[n] = {word, count}
end
table.sort(order, function(a, b)
  if a[2] == b[2] then return a[1] < b[1] end
  return a[2] > b[2]
end)
local shown = {}
for i = 1, 5 do shown[i] = order[i][1] .. " " .. order[i][2] end
print(n .. " " .. table.concat(shown, " "))
