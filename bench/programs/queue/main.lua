local insert, remove = table.insert, table.remove

local function main()
  local queue = {}
  for i = 0, 999 do insert(queue, i) end
  local sum = 0
  for i = 0, 199999 do
    local first = remove(queue, 1)
    sum = (sum * 3 + first) % 1000003
    insert(queue, (first * 7 + i) % 10007)
  end
  return sum + #queue
end

print(main())
