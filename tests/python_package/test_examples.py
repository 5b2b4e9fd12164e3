"""examples/ and what is generated of the package: they run, and are up to date."""
import importlib.util
import json
import os
import shutil
import subprocess
import sys

import onnx
import onnx_ir as ir
import pytest
from conftest import SOURCE

import qrewrite


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_cells_of_the_notebook(recorded, tmp_path):
    from qrewrite import _hooks
    shutil.copy(recorded, tmp_path / "model.onnx")
    cells = json.loads((SOURCE / "examples" / "quantized.ipynb").read_text())["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    assert len(code) > 5 and not any(cell.get("outputs") for cell in cells)
    names: dict = {}
    try:
        for cell in code:
            exec(compile(cell, "quantized.ipynb", "exec"), names)
    finally:
        _hooks.default.clear()
    assert names["report"].rewrites == 2


class Program:
    """What torch.onnx.export returns, as far as it matters: its model."""

    def __init__(self, model):
        self.model = model


def test_after_export(recorded):
    finish = load(SOURCE / "examples" / "after_export.py").finish
    program = Program(ir.load(recorded))
    before = program.model
    report = finish(program, ["ezkl_dequant", "optimize"], saturation="clip")
    assert report.sets == ["ezkl_dequant", "optimize"] and program.model is not before
    onnx.checker.check_model(ir.to_proto(program.model), full_check=True)
    after = program.model
    assert not finish(program, "ezkl_dequant").changed and program.model is after
    with pytest.raises(qrewrite.Refused):
        finish(program, {"rules": [{"name": "no", "match": "y = Conv<**a>(x, w, b?)", "refuse": "none here"}]})
    assert program.model is after


def test_reference_is_up_to_date():
    generator = SOURCE / "tools" / "gen_python_docs.py"
    arguments = [] if os.environ.get("QREWRITE_UPDATE_GOLDEN") else ["--check"]
    done = subprocess.run([sys.executable, generator, *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_versions():
    versions = qrewrite.versions()
    assert versions["qrewrite"] == qrewrite.__version__ and versions["onnx"] == "1.23.2"
    assert {"protobuf", "fmt", "libyaml"} <= versions.keys() and all(v[0].isdigit() for v in versions.values())


def test_explain(chain):
    rules = {"name": "tidy", "rules": [{"name": "twice", "match": "y = Relu(Relu(x))", "replace": "y = Relu(x)"},
                                       {"name": "never", "match": "y = Mul(x, w)", "where": "size(w) == 5", "replace": "y = Abs(x)"}]}
    told = qrewrite.explain(chain, rules)
    assert "never" in told.nearest and "size(w) == 5" in str(told) and told.to_dict()
    at = qrewrite.explain(chain, rules, at="c", rule="never")
    assert "size(w) == 5" in str(at) and at.outcome
    assert qrewrite.explain(chain, rules, at="a").outcome
    with pytest.raises(qrewrite.UsageError, match="nowhere"):
        qrewrite.explain(chain, rules, at="nowhere")


def test_hooks_of_pre_commit(tmp_path):
    """The entries are commands that take files, and say by their exit code what they found."""
    import re

    import yaml
    hooks = {hook["id"]: hook for hook in yaml.safe_load((SOURCE / ".pre-commit-hooks.yaml").read_text())}
    good = "qrewrite: 1\nname: tidy\nrules:\n  - name: twice\n    doc: d\n    equivalence: exact\n    match: y = Relu(Relu(x))\n" \
           "    replace: y = Relu(x)\n    tests:\n      - {name: a, given: \"x: float[4]\\ny = Relu(Relu(x))\", expect: \"x: float[4]\\ny = Relu(x)\"}\n" \
           "      - {name: b, given: \"x: float[4]\\ny = Relu(x)\", expect: unchanged}\n"
    (tmp_path / "good.yaml").write_text(good)
    (tmp_path / "unused.yaml").write_text(good.replace("name: tidy", "name: tidy\nparams: {unused: {default: 1}}"))
    (tmp_path / "failing.yaml").write_text(good.replace("expect: unchanged", 'expect: "x: float[4]\\ny = Abs(x)"'))

    def code(hook, file):
        return subprocess.run([sys.executable, "-m", *hooks[hook]["entry"].split(), file], capture_output=True).returncode
    assert code("qrewrite-lint", "good.yaml") == 0 and code("qrewrite-lint", "unused.yaml") != 0
    assert code("qrewrite-test", "good.yaml") == 0 and code("qrewrite-test", "failing.yaml") != 0
    for hook in hooks.values():
        assert hook["language"] == "python" and re.search(hook["files"], "a/rules/b.yaml") and not re.search(hook["files"], "a/b.yaml")
