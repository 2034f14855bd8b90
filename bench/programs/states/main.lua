local Idle, Done = {kind = "idle"}, {kind = "done"}

local Worker = {}
Worker.__index = Worker

function Worker:step(tick)
  local state = self.state
  local kind = state.kind
  if kind == "idle" then
    if self.energy > 20 then
      self.state = {kind = "working", left = 1 + (self.id + tick) % 7}
    else
      self.state = {kind = "resting", left = 3, gain = 2 + tick % 5}
    end
  elseif kind == "working" then
    local left = state.left
    self.output = self.output + left
    self.energy = self.energy - 3
    if left > 1 then self.state = {kind = "working", left = left - 1} else self.state = Idle end
  elseif kind == "resting" then
    local left, gain = state.left, state.gain
    self.energy = self.energy + gain * 3
    if left > 1 then self.state = {kind = "resting", left = left - 1, gain = gain} else self.state = Idle end
  end
  if self.output > 2000 then self.state = Done end
end

local function main()
  local workers = {}
  for id = 0, 999 do
    workers[id + 1] = setmetatable({id = id, state = Idle, energy = id % 50, output = 0}, Worker)
  end
  for tick = 0, 999 do
    for i = 1, #workers do workers[i]:step(tick) end
  end
  local energy, output, done = 0, 0, 0
  for _, w in ipairs(workers) do
    energy = energy + w.energy
    output = output + w.output
    if w.state.kind == "done" then done = done + 1 end
  end
  return energy .. " " .. output .. " " .. done
end

print(main())
