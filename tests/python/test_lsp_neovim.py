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
                          env=environment, capture_output=True, text=True, timeout=120)
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
