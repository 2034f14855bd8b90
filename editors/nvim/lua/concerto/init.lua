-- Starts the Concerto language server for Concerto files with Neovim's built-in client (0.7 or later), and registers the debugger
-- with nvim-dap if nvim-dap is installed.
local M = {}

M.options = {
  command = "concerto",
  settings = {}, -- settings below `concerto`, such as { inlayHints = { parameters = true } }
  on_attach = nil, -- called with the client and the buffer
}

local clients = {} -- client ids by root directory

-- Returns the directory of the nearest manifest, or else the directory of the file.
local function root(file)
  local dir = vim.fn.fnamemodify(file, ":p:h")
  local found = vim.fn.findfile("Concerto.toml", vim.fn.escape(dir, " ,;") .. ";")
  return found ~= "" and vim.fn.fnamemodify(found, ":p:h") or dir
end

function M.start(buffer)
  local file = vim.api.nvim_buf_get_name(buffer)
  if vim.fn.executable(M.options.command) == 0 then
    vim.notify_once("`" .. M.options.command .. "` is not installed: go install github.com/concerto-lang/concerto/cmd/concerto@latest", vim.log.levels.WARN)
    return
  end
  local dir = root(file)
  local id = clients[dir]
  if not id or vim.lsp.client_is_stopped(id) then
    id = vim.lsp.start_client({
      name = "concerto",
      cmd = { M.options.command, "lsp" },
      root_dir = dir,
      workspace_folders = { { uri = vim.uri_from_fname(dir), name = vim.fn.fnamemodify(dir, ":t") } },
      init_options = M.options.settings,
      settings = { concerto = M.options.settings },
      on_attach = M.options.on_attach,
    })
    clients[dir] = id
  end
  if id then
    vim.lsp.buf_attach_client(buffer, id)
  end
end

function M.debugger()
  local ok, dap = pcall(require, "dap")
  if not ok then
    return
  end
  dap.adapters.concerto = { type = "executable", command = M.options.command, args = { "dap" } }
  dap.configurations.concerto = {
    { type = "concerto", request = "launch", name = "Debug this file", program = "${file}" },
    { type = "concerto", request = "launch", name = "Debug this file with scripted replies", program = "${file}", mock = true },
  }
end

-- Registers the commands of code lenses. References go to the quickfix list, and nvim-dap starts debug configurations.
function M.commands()
  vim.lsp.commands["concerto.references"] = function(command, ctx)
    local client = vim.lsp.get_client_by_id(ctx.client_id)
    local items = vim.lsp.util.locations_to_items(command.arguments[3], client.offset_encoding)
    vim.fn.setqflist({}, " ", { title = command.title, items = items })
    vim.cmd("copen")
  end
  for _, name in ipairs({ "concerto.run", "concerto.test", "concerto.eval" }) do
    vim.lsp.commands[name] = function(command, ctx)
      local client = vim.lsp.get_client_by_id(ctx.client_id)
      local asked = { command = command.command, arguments = command.arguments }
      client.request("workspace/executeCommand", asked, function(err, result)
        local ok, dap = pcall(require, "dap")
        if err then
          vim.notify(err.message, vim.log.levels.ERROR)
        elseif command.arguments[1].debug and not ok then
          vim.notify("nvim-dap is not installed", vim.log.levels.WARN)
        elseif command.arguments[1].debug then
          for _, launch in ipairs(result) do
            dap.run(launch)
          end
        end
      end, ctx.bufnr)
    end
  end
end

function M.setup(options)
  M.options = vim.tbl_deep_extend("force", M.options, options or {})
  local group = vim.api.nvim_create_augroup("concerto", { clear = true })
  vim.api.nvim_create_autocmd("FileType", {
    group = group,
    pattern = "concerto",
    callback = function(e)
      M.start(e.buf)
    end,
  })
  M.commands()
  M.debugger()
end

return M
