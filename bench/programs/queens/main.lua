local function free(n)
  local lines = {}
  for i = 0, n - 1 do lines[i] = false end
  return lines
end

local Board = {}
Board.__index = Board

function Board:place(row)
  local n = self.size
  if row == n then return 1 end
  local columns, up, down, found = self.columns, self.up, self.down, 0
  for c = 0, n - 1 do
    if not (columns[c] or up[row + c] or down[row - c + n]) then
      columns[c] = true
      up[row + c] = true
      down[row - c + n] = true
      found = found + self:place(row + 1)
      columns[c] = false
      up[row + c] = false
      down[row - c + n] = false
    end
  end
  return found
end

local board = setmetatable({size = 12, columns = free(12), up = free(24), down = free(25)}, Board)
print(board:place(0))
