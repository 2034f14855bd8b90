local function main()
  local s = 0
  for i = 0, 2999 do
    for j = 0, 9999 do
      s = (s + i * j) % 1000003
    end
  end
  return s
end
print(main())
