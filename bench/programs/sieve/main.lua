local function sieve(n)
  local prime = {}
  for i = 1, n + 1 do prime[i] = true end
  local i = 2
  while i * i <= n do
    if prime[i] then
      local j = i * i
      while j <= n do
        prime[j] = false
        j = j + i
      end
    end
    i = i + 1
  end
  local count = 0
  for k = 2, n do
    if prime[k] then count = count + 1 end
  end
  return count
end

print(sieve(2000000))
