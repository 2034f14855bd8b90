local function fannkuch(n)
  local first, count, p = {}, {}, {}
  for i = 0, n - 1 do first[i], count[i] = i, i end
  local most, sum, even, r = 0, 0, true, n
  while true do
    while r > 1 do
      count[r - 1] = r
      r = r - 1
    end
    for i = 0, n - 1 do p[i] = first[i] end
    local flips, k = 0, p[0]
    while k > 0 do
      local i, j = 0, k
      while i < j do
        p[i], p[j] = p[j], p[i]
        i, j = i + 1, j - 1
      end
      flips = flips + 1
      k = p[0]
    end
    if flips > most then most = flips end
    sum = sum + (even and flips or -flips)
    while true do
      if r == n then return sum, most end
      local moved = first[0]
      for i = 0, r - 1 do first[i] = first[i + 1] end
      first[r] = moved
      count[r] = count[r] - 1
      if count[r] > 0 then break end
      r = r + 1
    end
    even = not even
  end
end

local sum, most = fannkuch(9)
print(sum .. " " .. most)
