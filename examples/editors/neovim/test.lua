-- What the configuration does in Neovim, which runs this without a screen:
-- nvim --headless -i NONE -u init.lua -S test.lua, in a workspace. It writes "passed", or what is wrong.

local function wait(what, condition)
  if not vim.wait(20000, condition, 20) then
    error(what() .. '\n' .. table.concat(vim.fn.readfile(vim.lsp.get_log_path()), '\n'))
  end
end

-- findings waits until the buffer has these diagnostics, each a code with the text that it marks.
local function findings(...)
  local wanted, found = table.concat({ ... }, '\n'), ''
  wait(function()
    return 'findings are [' .. found .. '], not [' .. wanted .. ']'
  end, function()
    local texts = {}
    for _, d in ipairs(vim.diagnostic.get(0)) do
      local code = d.code or d.user_data.lsp.code
      local line = vim.api.nvim_buf_get_lines(0, d.lnum, d.lnum + 1, true)[1]
      table.insert(texts, code .. ': ' .. line:sub(d.col + 1, d.end_col))
    end
    found = table.concat(texts, '\n')
    return found == wanted
  end)
end

local function put(text)
  local line = vim.fn.search('expression: .*spec.replica')
  vim.fn.setline(line, '    expression: ' .. text)
  vim.fn.cursor(line, 1)
end

local function session()
  vim.cmd('edit policies/team.yaml')
  findings('field-undefined: replica')
  put("\"'😀😀' != '' && object.spec.replica > 0\"")
  findings('field-undefined: replica')
  put('object.spec.replicas > 0') -- a text that is not saved counts
  findings()

  local line = vim.fn.line('.')
  vim.fn.setline(line, '    expression: object.spec.')
  vim.fn.cursor(line, 1000)
  local labels = {}
  local answers = vim.lsp.buf_request_sync(0, 'textDocument/completion', {
    textDocument = vim.lsp.util.make_text_document_params(),
    position = { line = line - 1, character = #vim.fn.getline(line) },
  }, 20000)
  for _, answer in pairs(answers) do
    for _, item in ipairs(answer.result.items or answer.result) do
      labels[item.label] = true
    end
  end
  assert(labels.replicas, 'no replicas in the completion')
  vim.fn.setline(line, '    expression: object.spec.replica > 0')
  findings('field-undefined: replica')

  -- The lens of the policy opens what the policy changes.
  put('object.spec.replicas > 0')
  findings()
  vim.cmd('silent write')
  vim.fn.cursor(vim.fn.search('^kind: MutatingAdmissionPolicy$', 'bw') - 1, 1)
  local policy, shown = vim.api.nvim_get_current_buf(), ''
  wait(function()
    return 'the lens does not show a diff but ' .. shown
  end, function()
    vim.api.nvim_set_current_buf(policy)
    vim.cmd('doautocmd BufEnter') -- refreshes the lens
    vim.lsp.codelens.run()
    vim.wait(100)
    shown = vim.fn.execute('messages') .. table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, true), '\n')
    return shown:find('\n+  "team": "shop"', 1, true) ~= nil
  end)

  -- Other files of the workspace have the same server, and text without a file has none.
  local servers = vim.lsp.get_clients or vim.lsp.get_active_clients -- 0.10
  local count = #servers()
  vim.cmd('edit! shop.yaml')
  assert(#servers() == count, 'another server for the same workspace')
  vim.cmd('enew | set filetype=yaml')
  local attached = false
  for _, server in ipairs(servers()) do
    attached = attached or vim.lsp.buf_is_attached(0, server.id)
  end
  assert(not attached, 'text without a file has a server')
end

local ok, wrong = pcall(session)
io.stdout:write(ok and 'passed' or tostring(wrong))
vim.cmd('qall!')
