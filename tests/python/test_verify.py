"""qrewrite verify, and --verify on a rewrite: verdicts, exit codes, errors, files."""
import json
import os
import subprocess

import numpy as np
import onnx
import onnx.parser
import pytest
from onnx import numpy_helper

from cli import PROGRAM, SOURCE

HEADER = '<ir_version: 8, opset_import: ["": 17, "acme": 1]>\n'
MODELS = {
    "gain": "g (float[N, 4] x) => (float[N, 4] y) <float k = {3}> { y = Mul(x, k) }",
    "same": "g (float[N, 4] x) => (float[N, 4] y) <float k = {3}> { a = Identity(x)  y = Mul(k, a) }",
    "other": "g (float[N, 4] x) => (float[N, 4] y) <float k = {3.5}> { y = Mul(x, k) }",
    "none": "g (float[N, 4] x) => (float[N, 4] y) <float k = {0}> { y = Mul(x, k) }",
    "nan": "g (float[N, 4] x) => (float[N, 4] y) <float k = {0}> { z = Mul(x, k)  y = Div(z, z) }",
    "acme": "g (float[N, 4] x) => (float[N, 4] y) { y = acme.Gain(x) }",
    "two": "g (float[N, 4] x, float[N, 4] w) => (float[N, 4] y) { y = Mul(x, w) }",
    "text": "g (string[4] x) => (string[4] y) { y = Identity(x) }",
    "fixed": "g (float[N, 4] x) => (float[5, 4] y) <int64[2] s = {5, 4}> { y = Reshape(x, s) }",
    "abs": "g (float[N, 4] x) => (float[N, 4] y) { a = Neg(x)  b = Neg(a)  c = Abs(b)  y = Sin(c) }",
}
RULES = """qrewrite: 1
name: wrong
rules:
  - {name: neg-neg, equivalence: exact, match: y = Neg(Neg(x)), replace: y = x}
  - {name: abs, equivalence: exact, match: y = Abs(x), replace: y = Relu(x)}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("verify")
    for name, text in MODELS.items():
        onnx.save(onnx.parser.parse_model(HEADER + text), path / f"{name}.onnx")
    (path / "wrong.yaml").write_text(RULES)
    np.savez(path / "x.npz", x=np.arange(24, dtype=np.float32).reshape(3, 2, 4))
    np.savez(path / "z.npz", z=np.zeros((3, 2, 4), np.float32))
    np.savez(path / "flat.npz", x=np.float32(1))
    return path


def run(folder, *args):
    environment = {**os.environ, "NO_COLOR": "1", "QREWRITE_RULES_DIR": str(SOURCE / "rules")}
    done = subprocess.run([PROGRAM, *args], cwd=folder, capture_output=True, text=True, timeout=120, env=environment)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("args, code, verdict", [
    (["gain", "same"], 0, "EXACT"),
    (["gain", "other"], 1, "DIVERGED"),
    (["gain", "other", "--tol", "0.2,0"], 0, "WITHIN"),
    (["none", "none"], 3, "INCONCLUSIVE"),
    (["nan", "nan"], 3, "INCONCLUSIVE"),
    (["nan", "gain"], 1, "DIVERGED"),
    (["gain", "other", "--scale", "y=1.1666666666666667"], 0, "WITHIN"),
    (["gain", "same", "--inputs", "x.npz"], 0, "EXACT"),
    (["gain", "same", "--runtime", "builtin", "--samples", "2", "--seed", "7", "--shape", "x=7x4"], 0, "EXACT"),
    (["two", "two", "--range", "w=-1,1"], 0, "EXACT"),
    (["fixed", "fixed", "--shape", "x=5x4"], 0, "EXACT"),
])
def test_verdict(folder, args, code, verdict):
    returned, out, err = run(folder, "verify", *[f"{a}.onnx" if a in MODELS else a for a in args])
    assert (returned, err) == (code, "")
    assert out.splitlines()[-1].startswith(verdict + " with tolerance ")


@pytest.mark.parametrize("args, code, message", [
    ([], 2, "two models are needed"),
    (["gain.onnx"], 2, "two models are needed"),
    (["gain.onnx", "absent.onnx"], 6, "absent.onnx"),
    (["gain.onnx", "other.onnx", "--tol", "near"], 2, "`near` is no tolerance"),
    (["gain.onnx", "other.onnx", "--shape", "x=2xa"], 2, "--shape x=2xa: NAME=2x3x4 is expected"),
    (["gain.onnx", "other.onnx", "--range", "x"], 2, "NAME=LO,HI is expected"),
    (["gain.onnx", "other.onnx", "--range", "q=0,1"], 2, "the model has no input `q`"),
    (["gain.onnx", "other.onnx", "--map", "q=r"], 2, "no input or output `q`"),
    (["gain.onnx", "other.onnx", "--samples", "0"], 2, "at least one sample is needed"),
    (["gain.onnx", "other.onnx", "--runtime", "tvm"], 2, "tvm"),
    (["gain.onnx", "other.onnx", "--ort", "/nowhere"], 6, "/nowhere"),
    (["gain.onnx", "other.onnx", "--inputs", "z.npz"], 2, "has no array `x`, which the model takes"),
    (["gain.onnx", "other.onnx", "--inputs", "flat.npz"], 2, "has no axis that counts samples"),
    (["gain.onnx", "two.onnx"], 2, "the first model has no input `w` of the second one"),
    (["gain.onnx", "acme.onnx"], 5, "the second model: ONNX Runtime: "),
    (["acme.onnx", "gain.onnx", "--runtime", "builtin"], 5, "the first model: acme.Gain `y`: there is no built-in kernel"),
    (["text.onnx", "text.onnx"], 5, "no numbers are made for input `x`, which is STRING"),
    (["fixed.onnx", "fixed.onnx"], 5, "say fitting ones (--shape x=1x128)"),
    (["--bisect", "abs.onnx"], 2, "--bisect takes two models, or one and one --rules"),
    (["--bisect", "abs.onnx", "abs.onnx", "--set", "a=1"], 2, "--set goes with --rules"),
    (["--bisect", "abs.onnx", "--rules", "wrong.yaml", "--json"], 2, "no --json"),
    (["--rules", "wrong.yaml", "gain.onnx", "gain.onnx"], 2, "--rules and --set go with --bisect"),
])
def test_error(folder, args, code, message):
    returned, out, err = run(folder, "verify", *args)
    assert (returned, out) == (code, "")
    assert message in err


def test_json(folder):
    code, out, _ = run(folder, "verify", "gain.onnx", "other.onnx", "--json")
    report = json.loads(out)
    assert code == 1 and report["verdict"] == "DIVERGED" and report["samples"] == 5
    output = report["outputs"][0]
    assert output["output"] == "y" and output["worst"]["second"] == pytest.approx(output["worst"]["first"] * 3.5 / 3)
    assert output["sqnr_db"] == pytest.approx(20 * np.log10(6), abs=1e-4)
    code, out, _ = run(folder, "verify", "nan.onnx", "nan.onnx", "--json")
    assert json.loads(out)["outputs"][0]["sqnr_db"] is None  # JSON has no infinity


def test_save_repro(folder):
    code, _, _ = run(folder, "verify", "gain.onnx", "other.onnx", "--save-repro", "repro")
    assert code == 1
    data = folder / "repro" / "test_data_set_0"
    x, y = (numpy_helper.to_array(onnx.load_tensor(str(data / name))) for name in ("input_0.pb", "output_0.pb"))
    assert np.array_equal(y, 3 * x)
    assert (folder / "repro" / "model.onnx").read_bytes() == (folder / "other.onnx").read_bytes()


def test_rewrite_that_checks_itself(folder):
    code, out, err = run(folder, "--rules", "wrong.yaml", "--skip-rule", "abs", "--verify", "abs.onnx", "-o", "fine.onnx")
    assert code == 0 and (folder / "fine.onnx").exists() and "EXACT with tolerance exact" in err
    code, out, err = run(folder, "--rules", "wrong.yaml", "--verify=numbers", "abs.onnx", "-o", "wrong.onnx")
    assert code == 1 and "DIVERGED with tolerance exact" in err
    code, out, err = run(folder, "--rules", "wrong.yaml", "--verify=graph", "abs.onnx", "-o", "wrong.onnx")
    assert code == 2 and "--verify compares numbers, not `graph`" in err
    assert not (folder / "wrong.onnx").exists()


def test_bisect(folder):
    code, out, _ = run(folder, "verify", "--bisect", "--rules", "wrong.yaml", "abs.onnx")
    assert code == 1 and "rule `abs` of wrong" in out and "Abs(" in out and "Relu(" in out
    code, out, _ = run(folder, "verify", "--bisect", "--rules", "wrong.yaml", "gain.onnx")
    assert code == 0 and out.startswith("none of 0 rewrites is bad")


def test_weakest_promise_is_the_tolerance(folder):
    model = str(SOURCE / "fixtures" / "models" / "qdq_cnn.onnx")
    code, _, err = run(folder, "--rules", "ezkl_dequant", "--verify", model, "-o", "float.onnx")
    assert code == 0 and "WITHIN with tolerance sqnr:" in err
