"""A real editor: headless Neovim with its own client. `tools/dev test` installs it; missing, it is a failure."""
import json
import os
import shutil
import subprocess

import pytest

from cli import SOURCE

SCRIPT = SOURCE / "tests" / "python" / "lsp_neovim.lua"

RULES = """qrewrite: 1
name: editor
opset: ">=13"
params: {limit: {default: 6.0, doc: the largest}}
sets: {moves: [Transpose, Reshape]}
define:
  y = nop(x):
    - y = Identity(x)
rules:
  - name: pair   # ä€😀
    match: |
      t = Softmax<axis>($nop(x))
      y = Rleu(t)
    where: rnak(x) == 2 and axis == 1
    replace: y = Abs(x)
"""


def edit(tmp_path, steps, text=RULES):
    """What `steps`, the body of a Lua function of `e`, put into `e.out`."""
    (tmp_path / "rules.yaml").write_text(text)
    (tmp_path / "steps.lua").write_text(f"return function(e)\n{steps}\nend\n")
    environment = dict(os.environ, LSP_STEPS=str(tmp_path / "steps.lua"), LSP_OUT=str(tmp_path / "out.json"),
                       HOME=str(tmp_path), XDG_STATE_HOME=str(tmp_path), XDG_CACHE_HOME=str(tmp_path))
    done = subprocess.run(["nvim", "--headless", "-u", "NONE", "-i", "NONE", "-n", "-S", str(SCRIPT)], cwd=tmp_path,
                          env=environment, capture_output=True, text=True, timeout=180)
    out = json.loads((tmp_path / "out.json").read_text()) if (tmp_path / "out.json").exists() else {}
    assert "failed" not in out and done.returncode == 0 and out, (out, done.stdout, done.stderr)
    return out


def test_neovim_is_there():
    assert shutil.which("nvim"), "`tools/dev test` installs neovim"


def test_diagnostics_and_hover(tmp_path):
    out = edit(tmp_path, """
        e.open("rules.yaml")
        e.out.diagnostics = e.diagnostics(2)
        e.go("Softmax", 1, 2)
        e.out.operator = e.hover()
        e.go("axis == 1")
        e.out.name = e.hover()
        e.go("where:")
        e.out.key = e.hover()
        e.go("Rleu", 1, 1)
        vim.cmd("normal! ciwRelu")
        e.go("rnak")
        vim.cmd("normal! ciwrank")
        e.wait("no errors", function()
          local list = vim.diagnostic.get(0)
          return #list > 0 and #vim.diagnostic.get(0, {severity = vim.diagnostic.severity.ERROR}) == 0
        end)
        e.out.after = e.diagnostics(1)""")
    first, second = out["diagnostics"]
    lines = RULES.splitlines()
    for found, code, word, hint in ((first, "QR0409", "Rleu", "Relu"), (second, "QR0414", "rnak", "rank")):
        assert (found["code"], found["severity"]) == (code, 1)
        assert lines[found["line"]][found["from"]:found["to"]] == word
        assert found["message"].endswith(f"did you mean `{hint}`?")
    assert "output: T = Softmax(input: T)" in out["operator"]
    assert "attribute `axis` of Softmax: int, default `-1`" in out["name"]
    assert "conditions" in out["key"]
    assert {d["code"] for d in out["after"]} <= {"QR0501", "QR0502"}


def test_definition_of_names_and_of_an_include(tmp_path):
    (tmp_path / "part.yaml").write_text("qrewrite: 1\nname: part\ndefine:\n  y = idle(x):\n    - y = Identity(x)\n")
    text = RULES.replace("params:", "include: [part.yaml]\nparams:").replace("$nop(x)", "$idle(x)")
    out = edit(tmp_path, """
        e.open("rules.yaml")
        local function jump(text, nth, behind)
          vim.cmd("buffer rules.yaml")
          e.go(text, nth, behind)
          local from = vim.api.nvim_win_get_cursor(0)
          vim.lsp.buf.definition()
          e.wait("a jump", function()
            local at = vim.api.nvim_win_get_cursor(0)
            return at[1] ~= from[1] or at[2] ~= from[2] or vim.fn.expand("%:t") ~= "rules.yaml"
          end)
          local at = vim.api.nvim_win_get_cursor(0)
          return {vim.fn.expand("%:t"), at[1] - 1, at[2]}
        end
        e.out.name = jump("axis == 1")
        e.out.definition = jump("$idle", 1, 2)
        e.out.include = jump("part.yaml")""", text)
    axis = text.splitlines().index("      t = Softmax<axis>($idle(x))")
    assert out["name"] == ["rules.yaml", axis, text.splitlines()[axis].index("axis")]
    assert out["definition"] == ["part.yaml", 3, 6]
    assert out["include"] == ["part.yaml", 0, 0]


def test_rename(tmp_path):
    out = edit(tmp_path, """
        e.open("rules.yaml")
        e.go("axis == 1")
        e.after("a new name", function() vim.lsp.buf.rename("dimension") end)
        e.out.lines = e.lines()""")
    expected = RULES.replace("<axis>", "<axis=dimension>").replace("axis == 1", "dimension == 1")
    assert out["lines"] == expected.splitlines()


def test_completion(tmp_path):
    out = edit(tmp_path, """
        e.open("rules.yaml")
        e.diagnostics(2)
        e.go("Rleu(t)")
        vim.cmd("normal! hD")
        e.out.operators = e.complete(" LogSoft")
        e.go("replace:")
        vim.cmd("normal! O")
        e.out.keys = e.complete("    eq")
        vim.cmd("normal! dd")
        e.go("rnak(x) == 2 and axis == 1")
        vim.cmd("normal! hD")
        e.out.params = e.complete(" x > params.li")
        e.go("x > params.li")
        vim.cmd("normal! hD")
        e.out.attributes = e.complete(" Softmax<ax")""")
    assert out["operators"] == ["LogSoftmax"]
    assert out["keys"] == ["equivalence: "]
    assert out["params"] == ["limit"]
    assert out["attributes"] == ["axis"]


def test_code_action_and_lens(tmp_path):
    text = RULES.replace("rnak", "rank") + """    tests:
      - {name: one, given: "x: float[2, 3]\\ny = Relu(Softmax<axis=1>(Identity(x)))", expect: unchanged}
"""
    out = edit(tmp_path, """
        e.open("rules.yaml")
        e.diagnostics(1)
        local messages = {}
        vim.lsp.handlers["window/showMessage"] = function(_, result) table.insert(messages, result.message) end
        e.go("Rleu", 1, 1)
        local row = vim.api.nvim_win_get_cursor(0)[1]
        e.after("a fix", function() vim.lsp.buf.code_action() end)
        e.out.line = vim.api.nvim_buf_get_lines(0, row - 1, row, false)[1]
        vim.lsp.codelens.refresh()
        e.wait("lenses", function() return #vim.lsp.codelens.get(0) == 2 end)
        e.out.titles = vim.tbl_map(function(l) return l.command.title end, vim.lsp.codelens.get(0))
        e.go("name: one", 1, 2)
        vim.lsp.codelens.run()
        e.wait("a message", function() return #messages > 0 end)
        e.out.messages = messages
        e.wait("the failure", function()
          for _, d in ipairs(vim.diagnostic.get(0)) do
            if d.message:find("this test fails") then e.out.failure = {d.lnum, d.message} end
          end
          return e.out.failure ~= nil
        end)""", text)
    assert out["line"] == "      y = Relu(t)"
    assert sorted(out["titles"]) == ["run 1 test", "run this test"]
    assert out["messages"] == ["0 passed, 1 failed; pair: one: the graph was to stay as it is"]
    assert out["failure"][0] == len(text.splitlines()) - 1
    assert "+ y = Abs(x)" in out["failure"][1]
