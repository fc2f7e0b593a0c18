-- Neovim with the language server of preadmit, for YAML files.
--
-- Copy this into init.lua, or start Neovim with `nvim -u init.lua`. It needs no plugin, and Neovim 0.7 or
-- later. The program and its arguments:
local command = { 'preadmit', 'lsp' }
-- The directory of the workspace is the nearest one above the file that has one of these:
local markers = { '.preadmit.yaml', '.git' }
local uv = vim.uv or vim.loop -- 0.10

-- lenses shows at the beginning of each policy what it does. The key grx opens that as a diff.
local function lenses(_, buffer)
  if vim.lsp.codelens.enable then -- 0.12
    vim.lsp.codelens.enable(true, { bufnr = buffer })
    return
  end
  vim.api.nvim_create_autocmd({ 'BufEnter', 'InsertLeave', 'BufWritePost' }, {
    buffer = buffer,
    callback = function()
      vim.lsp.codelens.refresh()
    end,
  })
end
vim.api.nvim_set_hl(0, 'LspCodeLens', { default = true, link = 'Comment' })

-- installed reports that the server can be started, or tells the user that it is not there.
local function installed()
  if vim.fn.executable(command[1]) == 1 then
    return true
  end
  vim.notify_once(command[1] .. ' is not in PATH: install preadmit', vim.log.levels.WARN)
end

-- root returns the directory of the workspace of a buffer: for a file without markers, its own. Text without a
-- file belongs to no workspace.
local function root(buffer)
  local file = vim.api.nvim_buf_get_name(buffer)
  if file == '' or vim.bo[buffer].buftype ~= '' then
    return nil
  end
  for _, marker in ipairs(markers) do
    local directory = vim.fn.fnamemodify(file, ':h')
    while true do
      if uv.fs_stat(directory .. '/' .. marker) then
        return directory
      end
      local parent = vim.fn.fnamemodify(directory, ':h')
      if parent == directory then
        break
      end
      directory = parent
    end
  end
  return vim.fn.fnamemodify(file, ':h')
end

if vim.lsp.enable then -- 0.11
  vim.lsp.config('preadmit', {
    cmd = command,
    filetypes = { 'yaml' },
    root_dir = function(buffer, found)
      local directory = root(buffer)
      if directory then
        found(directory)
      end
    end,
    on_attach = lenses,
  })
  vim.lsp.enable('preadmit')
  vim.api.nvim_create_autocmd('FileType', { pattern = 'yaml', callback = installed })
else
  local clients = {} -- by workspace
  local function attach(buffer)
    local directory = root(buffer)
    if not (directory and installed()) then
      return
    end
    local id = clients[directory]
    if not (id and vim.lsp.get_client_by_id(id)) then
      id = vim.lsp.start_client({
        name = 'preadmit',
        cmd = command,
        cmd_cwd = directory,
        root_dir = directory,
        workspace_folders = { { uri = vim.uri_from_fname(directory), name = directory } },
        on_attach = lenses,
        on_exit = function()
          clients[directory] = nil
        end,
      })
      clients[directory] = id
    end
    if id then
      vim.lsp.buf_attach_client(buffer, id)
      vim.bo[buffer].omnifunc = 'v:lua.vim.lsp.omnifunc'
    end
  end

  vim.api.nvim_create_autocmd('FileType', {
    pattern = 'yaml',
    callback = function(event)
      attach(event.buf)
    end,
  })
end

-- Completion is on <C-x><C-o>. Neovim has keys for most of the rest from 0.11 on; these work in all versions.
vim.opt.completeopt = { 'menuone', 'noselect' }
vim.keymap.set('n', 'K', vim.lsp.buf.hover)
vim.keymap.set('n', 'gd', vim.lsp.buf.definition)
vim.keymap.set('n', 'grr', vim.lsp.buf.references)
vim.keymap.set('n', 'grn', vim.lsp.buf.rename)
vim.keymap.set('n', 'gra', vim.lsp.buf.code_action)
vim.keymap.set('n', 'grx', vim.lsp.codelens.run)
