-- Coroutines have no scheduler: each waits until it is handed the token, and
-- who has them all hands it on.
local create, resume, yield = coroutine.create, coroutine.resume, coroutine.yield

local function pass_on()
  local token = yield()
  return token + 1
end

local function round(token)
  local tasks = {}
  for i = 1, 10000 do
    local task = create(pass_on)
    resume(task)
    tasks[i] = task
  end
  for i = 1, 10000 do
    local _
    _, token = resume(tasks[i], token)
  end
  return token
end

local token = 0
for _ = 1, 20 do token = round(token) end
print(token)
