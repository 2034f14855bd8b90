-- The script of the Neovim test: opens a program and writes the language server's results to a file.
local out = {}

local function await(what, ok)
  assert(vim.wait(20000, ok, 5), "waited too long for " .. what)
end

local function ask(method, params)
  local answers = vim.lsp.buf_request_sync(0, method, params, 20000) or {}
  for _, a in pairs(answers) do
    return a.result
  end
end

local function at(line, character)
  vim.api.nvim_win_set_cursor(0, { line, character })
  return vim.lsp.util.make_position_params()
end

local function text()
  return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), "\n")
end

local function session()
  require("concerto").setup({ command = vim.env.CONCERTO })
  vim.cmd("edit " .. vim.env.PROGRAM)
  await("diagnostics", function() return #vim.diagnostic.get(0) > 0 end)
  local found = vim.diagnostic.get(0)[1]
  out.diagnostic = { code = found.code, line = found.lnum + 1, source = found.source, message = found.message }
  out.hover = ask("textDocument/hover", at(6, 8)).contents.value
  local to = ask("textDocument/definition", at(6, 8))
  to = to[1] or to
  out.definition = (to.range or to.targetSelectionRange).start.line + 1

  -- After the error is fixed, the diagnostic disappears.
  vim.api.nvim_buf_set_lines(0, 6, 7, false, { "    println(m);" })
  await("diagnostics to go", function() return #vim.diagnostic.get(0) == 0 end)

  local rename = at(1, 3)
  rename.newName = "twofold"
  vim.lsp.util.apply_workspace_edit(ask("textDocument/rename", rename), "utf-16")
  out.renamed = text()
  local edits = ask("textDocument/formatting", { textDocument = vim.lsp.util.make_text_document_params(), options = { tabSize = 4, insertSpaces = true } })
  vim.lsp.util.apply_text_edits(edits, 0, "utf-16")
  out.formatted = text()
end

local ok, err = pcall(session)
out.failed = not ok and err or nil
vim.fn.writefile({ vim.fn.json_encode(out) }, vim.env.OUT)
vim.cmd(ok and "qall!" or "cquit 1")
