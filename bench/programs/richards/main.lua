local Scheduler = {}
Scheduler.__index = Scheduler

function Scheduler:send(from, packet)
  local to = packet.to
  packet.to = from
  self.queued = self.queued + 1
  local job = self.jobs[to]
  job.queue[#job.queue + 1] = packet
  job.waiting = false
end

function Scheduler:hold(id)
  self.holds = self.holds + 1
  self.jobs[id].held = true
end

local runs = {}

function runs.idle(self, id, idle)
  idle.count = idle.count - 1
  if idle.count == 0 then
    self:hold(id)
  elseif idle.control & 1 == 0 then
    idle.control = idle.control >> 1
    self.jobs[4].held = false
  else
    idle.control = (idle.control >> 1) ~ 53256
    self.jobs[5].held = false
  end
end

function runs.worker(self, id, worker)
  local job = self.jobs[id]
  if #job.queue == 0 then
    job.waiting = true
    return
  end
  local packet = table.remove(job.queue, 1)
  worker.destination = worker.destination == 2 and 3 or 2
  packet.to = worker.destination
  packet.datum = 0
  for i = 0, 3 do
    worker.letter = worker.letter % 26 + 1
    packet.data[i] = 64 + worker.letter
  end
  self:send(id, packet)
end

function runs.handler(self, id, handler)
  local job, work, devices = self.jobs[id], handler.work, handler.devices
  if #job.queue > 0 then
    local packet = table.remove(job.queue, 1)
    if packet.kind == "work" then work[#work + 1] = packet else devices[#devices + 1] = packet end
  end
  if #work > 0 and work[1].datum > 3 then
    local done = table.remove(work, 1)
    done.to = 1
    self:send(id, done)
  elseif #work > 0 and #devices > 0 then
    local packet = table.remove(devices, 1)
    local at = work[1].datum
    packet.datum = work[1].data[at]
    work[1].datum = at + 1
    packet.to = id + 2
    self:send(id, packet)
  else
    job.waiting = true
  end
end

function runs.device(self, id, device)
  local job = self.jobs[id]
  if device.pending then
    local back = device.pending
    back.to = id - 2
    device.pending = nil
    self:send(id, back)
  elseif #job.queue == 0 then
    job.waiting = true
  else
    device.pending = table.remove(job.queue, 1)
    self:hold(id)
  end
end

function Scheduler:run()
  local id = 5
  while id >= 0 do
    local job = self.jobs[id]
    if not job.held and (not job.waiting or #job.queue > 0) then
      self.turns = self.turns + 1
      job.run(self, id, job.state)
      id = 5
    else
      id = id - 1
    end
  end
end

local function packets(to, kind, n)
  local all = {}
  for i = 1, n do all[i] = {to = to, kind = kind, datum = 0, data = {[0] = 0, 0, 0, 0}} end
  return all
end

local function job(run, state, queue, ready)
  return {run = run, state = state, queue = queue, held = false, waiting = not ready}
end

local queued, holds, turns = 0, 0, 0
for _ = 1, 10 do
  local s = setmetatable({jobs = {
    [0] = job(runs.idle, {control = 1, count = 10000}, {}, true),
    job(runs.worker, {destination = 2, letter = 0}, packets(0, "work", 2), true),
    job(runs.handler, {work = {}, devices = {}}, packets(4, "device", 3), true),
    job(runs.handler, {work = {}, devices = {}}, packets(5, "device", 3), true),
    job(runs.device, {}, {}, false),
    job(runs.device, {}, {}, false),
  }, queued = 0, holds = 0, turns = 0}, Scheduler)
  s:run()
  queued, holds, turns = queued + s.queued, holds + s.holds, turns + s.turns
end
print(queued .. " " .. holds .. " " .. turns)
