local function matrix(n, seed)
  local out = {}
  for i = 0, n - 1 do
    local row = {}
    for j = 0, n - 1 do row[j + 1] = (i * seed + j * 7) % 13 / 4.0 end
    out[i + 1] = row
  end
  return out
end

local function product(a, b, n)
  local out = matrix(n, 0)
  for i = 1, n do
    local row, to = a[i], out[i]
    for j = 1, n do
      local sum = 0.0
      for k = 1, n do sum = sum + row[k] * b[k][j] end
      to[j] = sum
    end
  end
  return out
end

local function main()
  local n = 300
  local c = product(matrix(n, 3), matrix(n, 5), n)
  local trace = 0.0
  for i = 1, n do trace = trace + c[i][i] + c[i][n + 1 - i] end
  return math.floor(trace)
end

print(main())
