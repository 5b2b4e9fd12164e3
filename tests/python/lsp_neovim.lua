-- Drives Neovim's own client of language servers, as a person would, and writes what the editor shows
-- as JSON. Started by test_lsp_neovim.py: $QREWRITE, and the steps in $LSP_STEPS, a Lua file that returns
-- a function of a table of helpers.
local out = {}
local steps = dofile(os.getenv("LSP_STEPS"))

local function wait(what, condition)
  if not vim.wait(60000, condition, 20) then error("nothing came: " .. what) end
end

local editor = {out = out, wait = wait}

function editor.open(path)
  vim.cmd("edit " .. vim.fn.fnameescape(path))
  vim.bo.filetype = "yaml"
  local buffer = vim.api.nvim_get_current_buf()
  if not editor.client then
    editor.client = vim.lsp.start_client({
      name = "qrewrite", cmd = {os.getenv("QREWRITE"), "lsp"}, root_dir = vim.fn.getcwd()})
  end
  vim.lsp.buf_attach_client(buffer, editor.client)
  vim.bo.omnifunc = "v:lua.vim.lsp.omnifunc"
  wait("the client", function()
    local client = vim.lsp.get_client_by_id(editor.client)
    return client ~= nil and client.initialized
  end)
  return buffer
end

-- The cursor to the nth place of a text, `behind` bytes into it.
function editor.go(text, nth, behind)
  vim.api.nvim_win_set_cursor(0, {1, 0})
  local flags = "cW"
  for _ = 1, nth or 1 do
    if vim.fn.search("\\V" .. text, flags) == 0 then error("no such text: " .. text) end
    flags = "W"
  end
  local at = vim.api.nvim_win_get_cursor(0)
  vim.api.nvim_win_set_cursor(0, {at[1], at[2] + (behind or 0)})
end

function editor.lines() return vim.api.nvim_buf_get_lines(0, 0, -1, false) end

function editor.diagnostics(count)
  wait("diagnostics", function() return #vim.diagnostic.get(0) >= count end)
  local list = {}
  for _, d in ipairs(vim.diagnostic.get(0)) do
    table.insert(list, {line = d.lnum, from = d.col, to = d.end_col, message = d.message, severity = d.severity,
                        code = d.user_data and d.user_data.lsp and d.user_data.lsp.code})
  end
  return list
end

-- Takes the first of what the editor lets choose from.
vim.ui.select = function(items, _, choose) choose(items[1], 1) end

-- What the window says that opens over the text.
function editor.hover()
  vim.lsp.buf.hover()
  local window
  wait("a window", function()
    for _, w in ipairs(vim.api.nvim_list_wins()) do
      if vim.api.nvim_win_get_config(w).relative ~= "" then window = w end
    end
    return window ~= nil
  end)
  local lines = vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(window), 0, -1, false)
  vim.api.nvim_win_close(window, true)
  return table.concat(lines, "\n")
end

-- The words of the menu that CTRL-X CTRL-O opens behind the cursor's letter.
function editor.complete(typed)
  local words
  vim.o.completeopt = "menuone,noinsert"
  vim.api.nvim_create_autocmd("CompleteChanged", {callback = function()
    words = vim.tbl_map(function(i) return i.word end, vim.fn.complete_info({"items"}).items)
  end})
  local keys = vim.api.nvim_replace_termcodes("a" .. typed .. "<C-x><C-o>", true, false, true)
  -- The client answers while keys are waited for; the last ones end the test of the menu.
  local timer = vim.loop.new_timer()
  timer:start(50, 50, vim.schedule_wrap(function()
    if words then
      timer:stop()
      vim.api.nvim_input("<C-e><Esc>")
    end
  end))
  vim.defer_fn(function()
    if not words then vim.api.nvim_input("<Esc>") end
  end, 60000)
  vim.api.nvim_feedkeys(keys, "tx!", false)
  return words or error("no menu behind " .. typed)
end

function editor.after(what, act)
  local before = vim.api.nvim_buf_get_changedtick(0)
  act()
  wait(what, function() return vim.api.nvim_buf_get_changedtick(0) ~= before end)
end

local ok, message = xpcall(function() steps(editor) end, debug.traceback)
if not ok then out.failed = message end
local file = io.open(os.getenv("LSP_OUT"), "w")
file:write(vim.json.encode(out))
file:close()
vim.lsp.stop_client(vim.lsp.get_active_clients())
vim.wait(5000, function() return #vim.lsp.get_active_clients() == 0 end, 20)
vim.cmd("qall!")
