local function distance(a, b)
  local row = {}
  for j = 0, #b do row[j] = j end
  for i = 1, #a do
    local letter, diagonal = a[i], row[0]
    row[0] = i
    for j = 1, #b do
      local above = row[j]
      local best = letter == b[j] and diagonal or diagonal + 1
      if above + 1 < best then best = above + 1 end
      if row[j - 1] + 1 < best then best = row[j - 1] + 1 end
      row[j] = best
      diagonal = above
    end
  end
  return row[#b]
end

local letters, words, seed = "abcdefghij", {}, 42
for i = 0, 119 do
  local word = {}
  for k = 1, 12 + i % 17 do
    seed = (seed * 3877 + 29573) % 139968
    local at = seed * 10 // 139968 + 1
    word[k] = letters:sub(at, at)
  end
  words[i + 1] = word
end
local sum = 0
for _, a in ipairs(words) do
  for _, b in ipairs(words) do sum = sum + distance(a, b) end
end
print(sum)
