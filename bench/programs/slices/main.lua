local function sum(xs)
  if #xs == 0 then return 0 end
  local rest = {}
  for i = 2, #xs do rest[i - 1] = xs[i] end
  return xs[1] + sum(rest)
end

local all = 0
for i = 0, 19 do
  local xs = {}
  for n = i, i + 1999 do xs[#xs + 1] = n end
  all = all + sum(xs)
end
print(all)
