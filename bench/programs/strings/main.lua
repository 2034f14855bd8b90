-- Splits by patterns, which is quicker here than finding each separator.
local find, gmatch, concat = string.find, string.gmatch, table.concat

local function split(s, words)
  local out, n = {}, 0
  for word in gmatch(s, words) do
    n = n + 1
    out[n] = word
  end
  return out
end

local function count(s, part)
  local n, from = 0, 1
  while true do
    local at, to = find(s, part, from, true)
    if not at then return n end
    n = n + 1
    from = to + 1
  end
end

local function main()
  local lines = {}
  for i = 0, 224999 do
    lines[i + 1] = "line " .. i .. ": the quick brown fox, number " .. (i * 31 % 1009)
  end
  local text = concat(lines, "\n")
  local words = 0
  local out = {}
  for i, line in ipairs(split(text, "[^\n]+")) do
    local parts = split(string.gsub(line, "quick", "slow"), "[^ ]+")
    words = words + #parts
    out[i] = parts[2] .. parts[8] .. " " .. string.upper(parts[6])
  end
  local joined = concat(out, ";")
  return #text .. " " .. words .. " " .. #joined .. " " .. count(joined, "FOX") .. " " .. find(joined, "224999:", 1, true) - 1
end

print(main())
