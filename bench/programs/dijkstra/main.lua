-- A binary heap with a function that compares, as the library's queues of other languages have.
local function push(heap, x, order)
  local at = #heap + 1
  heap[at] = x
  while at > 1 do
    local above = at // 2
    if order(x, heap[above]) >= 0 then return end
    heap[at], heap[above] = heap[above], x
    at = above
  end
end

local function pop(heap, order)
  local n = #heap
  if n == 0 then return nil end
  local least = heap[1]
  local x = heap[n]
  heap[n] = nil
  n = n - 1
  if n == 0 then return least end
  local at = 1
  heap[1] = x
  while true do
    local below = 2 * at
    if below > n then break end
    if below < n and order(heap[below + 1], heap[below]) < 0 then below = below + 1 end
    if order(heap[below], x) >= 0 then break end
    heap[at], heap[below] = heap[below], x
    at = below
  end
  return least
end

local function byCost(a, b) return a.cost - b.cost end

local function shortest(size, weight)
  local cost, open = {}, {}
  for i = 0, size * size - 1 do cost[i] = 1000000000 end
  cost[0] = 0
  push(open, {cost = 0, at = 0}, byCost)
  while true do
    local step = pop(open, byCost)
    if step == nil then break end
    local at = step.at
    if step.cost <= cost[at] then
      local column = at % size
      for side = 0, 3 do
        local to = at
        if side == 0 and column > 0 then to = at - 1 end
        if side == 1 and column < size - 1 then to = at + 1 end
        if side == 2 then to = at - size end
        if side == 3 then to = at + size end
        if to ~= at and to >= 0 and to < size * size then
          local through = step.cost + weight[to]
          if through < cost[to] then
            cost[to] = through
            push(open, {cost = through, at = to}, byCost)
          end
        end
      end
    end
  end
  return cost
end

local size, weight, seed = 450, {}, 42
for i = 0, size * size - 1 do
  seed = (seed * 3877 + 29573) % 139968
  weight[i] = 1 + seed % 20
end
local cost, sum = shortest(size, weight), 0
for i = 0, size * size - 1 do sum = sum + cost[i] end
print(sum)
