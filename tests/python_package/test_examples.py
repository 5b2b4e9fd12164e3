"""examples/ and what is generated of the package: they run, and are up to date."""
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

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


def test_hooks_of_pre_commit(users_python, tmp_path):
    """pre-commit itself runs the hooks on a repository; the package that they would install (test_wheel.py does) is the one that is here."""
    import yaml
    hooks = yaml.safe_load((SOURCE / ".pre-commit-hooks.yaml").read_text())
    assert [hook["language"] for hook in hooks] == ["python", "python"] and all(hook["entry"].startswith("qrewrite ") for hook in hooks)
    local = [{**hook, "language": "system", "entry": f"{sys.executable} -m {hook['entry']}"} for hook in hooks]
    Path(".pre-commit-config.yaml").write_text(yaml.safe_dump({"repos": [{"repo": "local", "hooks": local}]}))
    good = "qrewrite: 1\nname: tidy\nrules:\n  - name: twice\n    doc: d\n    equivalence: exact\n    match: y = Relu(Relu(x))\n" \
           "    replace: y = Relu(x)\n    tests:\n      - {name: a, given: \"x: float[4]\\ny = Relu(Relu(x))\", expect: \"x: float[4]\\ny = Relu(x)\"}\n" \
           "      - {name: b, given: \"x: float[4]\\ny = Relu(x)\", expect: unchanged}\n"
    Path("a/rules").mkdir(parents=True)
    Path("a/rules/good.yaml").write_text(good)
    Path("a/other.yaml").write_text("no rules: here")
    subprocess.run(["git", "init", "-q"], check=True)

    def commit(file, text):
        Path(file).write_text(text)
        subprocess.run(["git", "add", "-A"], check=True)
        done = subprocess.run([users_python, "-m", "pre_commit", "run", "--all-files"], capture_output=True, text=True,
                              env={**os.environ, "PRE_COMMIT_HOME": str(tmp_path / "home")})
        Path(file).unlink()
        return done.returncode, re.findall(r"^(qrewrite \w+)\.+(Passed|Failed)$", done.stdout, re.M), done.stdout
    both = ["qrewrite lint", "qrewrite test"]
    assert commit("a/notes.txt", "")[:2] == (0, [(hook, "Passed") for hook in both])
    code, found, said = commit("a/rules/unused.yaml", good.replace("name: tidy", "name: tidy\nparams: {unused: {default: 1}}"))
    assert code == 1 and found == [(both[0], "Failed"), (both[1], "Passed")] and "unused" in said
    code, found, said = commit("a/rules/failing.yaml", good.replace("expect: unchanged", 'expect: "x: float[4]\\ny = Abs(x)"'))
    assert code == 1 and found[1] == (both[1], "Failed") and "Abs(x)" in said  # a file without a near miss: lint says so, too


def test_an_onnxruntime_that_is_too_old_says_so(recorded, tmp_path):
    """Before 1.19 its library was part of the extension module."""
    (tmp_path / "old" / "onnxruntime" / "capi").mkdir(parents=True)
    (tmp_path / "old" / "onnxruntime" / "__init__.py").touch()
    (tmp_path / "old" / "onnxruntime" / "capi" / "onnxruntime_pybind11_state.so").touch()
    path = os.pathsep.join([str(tmp_path / "old"), os.environ["PYTHONPATH"]])
    code = f"import qrewrite\ntry: qrewrite.verify({str(recorded)!r}, {str(recorded)!r})\nexcept qrewrite.FileError as error: print(error)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path})
    assert "has no library beside its module, as version 1.19 and later ones have" in done.stdout, done.stdout + done.stderr
