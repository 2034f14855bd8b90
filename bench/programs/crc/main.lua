local function make()
  local t = {}
  for i = 0, 255 do
    local c = i
    for _ = 1, 8 do
      if c & 1 == 1 then c = (c >> 1) ~ 3988292384 else c = c >> 1 end
    end
    t[i] = c
  end
  return t
end

local function crc(data, t)
  local c = 4294967295
  for i = 1, #data do
    c = t[(c ~ data[i]) & 255] ~ (c >> 8)
  end
  return c ~ 4294967295
end

local data, x = {}, 2463534242
for i = 1, 500000 do
  x = x ~ ((x << 13) & 4294967295)
  x = x ~ (x >> 17)
  x = x ~ ((x << 5) & 4294967295)
  data[i] = x & 255
end
local t, sum = make(), 0
for i = 0, 24 do sum = (sum * 31 + crc(data, t) + i) % 1000003 end
print(sum .. " " .. x)
