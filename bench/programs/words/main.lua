local function main()
  local counts = {}
  local total = 0
  for i = 0, 999999 do
    local key = "w" .. (i * 7919 % 1000)
    counts[key] = (counts[key] or 0) + 1
    total = total + #key
  end
  return total + counts["w7"]
end

print(main())
