local Shape = {}
function Shape:weight() return self:area() * 2 + 1 end

local Square = setmetatable({}, {__index = Shape})
Square.__index = Square
function Square:area() return self.side * self.side end
function Square:scaled(by) return setmetatable({side = self.side * by % 101}, Square) end

local Rect = setmetatable({}, {__index = Shape})
Rect.__index = Rect
function Rect:area() return self.width * self.height end
function Rect:scaled(by) return setmetatable({width = self.height * by % 103, height = self.width}, Rect) end

local Row = setmetatable({}, {__index = Shape})
Row.__index = Row
function Row:area() return self.cells end
function Row:scaled(by) return setmetatable({cells = self.cells * by % 107}, Row) end
function Row:weight() return self.cells - 1 end

local function total(shape, rounds)
  local current = shape
  local sum = 0
  for i = 0, rounds - 1 do
    sum = sum + current:weight() + current:area()
    current = current:scaled(i % 7 + 1)
  end
  return sum
end

local function main()
  local sum = 0
  for side = 1, 10 do
    sum = sum + total(setmetatable({side = side}, Square), 50000)
    sum = sum + total(setmetatable({width = side, height = side + 1}, Rect), 50000)
    sum = sum + total(setmetatable({cells = side}, Row), 50000)
  end
  return sum
end

print(main())
