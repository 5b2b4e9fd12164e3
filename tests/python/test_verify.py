"""qrewrite verify, and --verify on a rewrite: verdicts, exit codes, errors, files."""
import json
import os
import subprocess
from xml.etree import ElementTree

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
    "bias": "g (float[N, 4] x) => (float[N, 4] y) <float[4] c = {0, 1, 2, 3}, float k = {0}> { z = Mul(x, k)  y = Add(z, c) }",
    "sizes": "g (float[2, 4] x) => (float[2, 4] y, int64[2] s) { y = Neg(x)  s = Shape(x) }",
    "alone": "g () => (float[2] y) <float[2] c = {3, 3}> { y = Neg(c) }",
    "words": "g (float[N, 4] x) => (string[N, 4] y) { y = Cast<to = 8>(x) }",
    "whole": "g (int64[N, 4] x) => (int64[N, 4] y) <int64 k = {100000}> { y = Mul(x, k) }",
    "thirds": "g (uint64[N, 4] x) => (uint64[N, 4] y) <uint64 k = {3}> { y = Div(x, k) }",
    "next": "g (int64[N, 4] x) => (int64[N, 4] y) <int64 k = {100001}> { y = Mul(x, k) }",
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
    (path / "round").mkdir()
    (path / "round" / "round").symlink_to("round")  # to itself
    (path / "round" / "libonnxruntime.so").symlink_to("libonnxruntime.so")
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
    (["whole", "whole", "--range", "x=-9223372036854775808,9223372036854775807"], 0, "EXACT"),
    (["thirds", "thirds", "--range", "x=0,18446744073709551615"], 0, "EXACT"),
    (["fixed", "fixed", "--shape", "x=5x4"], 0, "EXACT"),
    (["bias", "bias"], 3, "INCONCLUSIVE"),  # the same on all samples, though not the same everywhere
    (["sizes", "sizes"], 0, "EXACT"),  # sizes are no numbers of the samples
    (["alone", "alone"], 0, "EXACT"),  # nothing else can be asked of it
    (["words", "words"], 3, "INCONCLUSIVE"),
    (["whole", "next"], 1, "DIVERGED"),  # 1e-4 of a float is near, another integer is another integer
    (["whole", "next", "--tol", "0,1"], 0, "WITHIN"),
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
    (["gain.onnx", "other.onnx", "--inputs", "round"], 2, "has neither .npz files nor folders"),
    (["gain.onnx", "other.onnx", "--ort", "round"], 6, "round/libonnxruntime.so"),
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
    (["gain.onnx", "other.onnx", "--scale", "y=nan"], 2, "--scale y=nan: NAME=FACTOR is expected"),
    (["--bisect", "abs.onnx"], 2, "--bisect takes two models, or one and one --rules"),
    (["--bisect", "abs.onnx", "abs.onnx", "--set", "a=1"], 2, "--set goes with --rules"),
    (["--bisect", "abs.onnx", "--rules", "wrong.yaml", "--json"], 2, "no --json"),
    (["--set", "a=1", "gain.onnx", "gain.onnx"], 2, "--set goes with --bisect"),
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


@pytest.mark.parametrize("name, why", [("bias", "it is the same on all samples"), ("none", "it is 0 on all samples"),
                                       ("words", "it is no tensor of numbers, and was not compared")])
def test_what_proves_nothing_says_why(folder, name, why):
    code, out, _ = run(folder, "verify", f"{name}.onnx", f"{name}.onnx")
    assert code == 3 and f"  {why}\n" in out


def test_reports(folder):
    """One comparison in all forms; what is in names and reasons is no markup of theirs."""
    for factor, name in ((3, "pipe_a"), (4, "pipe_b")):
        model = onnx.parser.parse_model(HEADER + MODELS["gain"].replace("{3}", f"{{{factor}}}"))
        model.graph.output[0].name = model.graph.node[-1].output[0] = "<a|b>"
        onnx.save(model, folder / f"{name}.onnx")
    code, out, _ = run(folder, "verify", "pipe_a.onnx", "pipe_b.onnx", "--report", "json")
    assert code == 1 and json.loads(out)["verdict"] == "DIVERGED"
    code, out, _ = run(folder, "verify", "pipe_a.onnx", "pipe_b.onnx", "--report", "md")
    table = [line for line in out.splitlines() if line.startswith("|")]
    assert code == 1 and out.startswith("**DIVERGED with tolerance ") and "\\<a\\|b\\>" in table[2]
    assert len({line.replace("\\|", "").count("|") for line in table}) == 1
    code, out, _ = run(folder, "verify", "pipe_a.onnx", "pipe_b.onnx", "--report", "html")
    assert code == 1 and "&lt;a|b&gt;" in out and "<a|b>" not in out and "DIVERGED" in out
    code, out, _ = run(folder, "verify", "pipe_a.onnx", "pipe_b.onnx", "--report", "junit")
    suite = ElementTree.fromstring(out)
    assert code == 1 and (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("1", "1", "0")
    assert suite.find("testcase").get("name") == "<a|b>" and suite.find("testcase/failure").get("type") == "DIVERGED"
    code, out, _ = run(folder, "verify", "bias.onnx", "bias.onnx", "--report", "junit")
    assert code == 3 and ElementTree.fromstring(out).get("errors") == "1"
    assert run(folder, "verify", "gain.onnx", "same.onnx", "--report", "junit", "--json")[0] == 2


def test_arrays_for_initial_values(folder):
    """Numbers of an archive count for inputs that have an initial value as well, in both models."""
    for name, factor in (("init_a", 2), ("init_b", 5)):
        model = onnx.parser.parse_model(HEADER + "g (float[2, 4] x, float[4] w) => (float[2, 4] y) { y = Mul(x, w) }")
        model.graph.initializer.append(numpy_helper.from_array(np.full(4, factor, np.float32), "w"))
        onnx.save(model, folder / f"{name}.onnx")
    needs = onnx.parser.parse_model(HEADER + "g (float[2, 4] x, float[4] w) => (float[2, 4] y) { y = Mul(x, w) }")
    onnx.save(needs, folder / "needs.onnx")
    lacks = onnx.parser.parse_model(HEADER + "g (float[2, 4] x) => (float[2, 4] y) <float k = {2}> { y = Mul(x, k) }")
    onnx.save(lacks, folder / "lacks.onnx")
    x = np.arange(1, 9, dtype=np.float32).reshape(1, 2, 4)
    np.savez(folder / "x_alone.npz", x=x)
    np.savez(folder / "both.npz", x=x, w=np.full((1, 4), 7, np.float32))
    np.savez(folder / "bad_w.npz", x=x, w=np.full((1, 9), 7, np.float32))
    for runtime in ("ort", "builtin"):
        check = lambda a, b, inputs: run(folder, "verify", f"{a}.onnx", f"{b}.onnx", "--inputs", inputs, "--runtime", runtime)  # noqa: B023, E731
        assert check("init_a", "init_b", "x_alone.npz")[0] == 1
        assert check("init_a", "init_b", "both.npz")[0] == 0
        assert check("init_a", "needs", "x_alone.npz")[0] == 0  # what the second one needs is the initial value of the first one
        assert check("needs", "init_b", "both.npz")[0] == 0
        code, out, _ = check("init_a", "lacks", "both.npz")
        assert code == 1 and "the numbers for `w` count for the first model alone" in out
        code, _, err = check("init_a", "init_b", "bad_w.npz")
        assert code == 2 and "input `w` has shape [4], not [9]" in err


@pytest.mark.parametrize("source, message", [
    ("int other;", "it has no function OrtGetApiBase"),
    ("void* OrtGetApiBase(void) { return 0; }", "gives no table of functions"),
    ("static void* get(unsigned v) { return 0; } static const char* version(void) { return 0; }"
     "struct { void* (*a)(unsigned); const char* (*b)(void); } base = {get, version}; void* OrtGetApiBase(void) { return &base; }",
     "it does not say its version"),
    ("static void* get(unsigned v) { return 0; } static const char* version(void) { return \"1.5.2\"; }"
     "struct { void* (*a)(unsigned); const char* (*b)(void); } base = {get, version}; void* OrtGetApiBase(void) { return &base; }",
     "version 1.5.2 is too old, 1.11 is needed"),
    ("static void* table[200]; static void* get(unsigned v) { return table; } static const char* version(void) { return \"1.12\"; }"
     "struct { void* (*a)(unsigned); const char* (*b)(void); } base = {get, version}; void* OrtGetApiBase(void) { return &base; }",
     "its table of functions lacks GetErrorMessage"),
])
def test_libraries_that_are_no_runtime(folder, source, message):
    library = folder / "lib.so"
    library.unlink(missing_ok=True)
    subprocess.run(["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", library], input=source, text=True, check=True)
    for named in (str(library), "lib.so"):    # the loader does not look here by itself
        code, out, err = run(folder, "verify", "gain.onnx", "same.onnx", "--ort", named)
        assert (code, out) == (6, "") and message in err


# A library that takes everything, and crashes when a model is loaded.
CRASHES = """
#include <signal.h>
#include <stdlib.h>
static void* nothing(void) { return 0; }
static int deep(int n) { volatile char room[4096]; room[0] = n; return deep(n + 1) + room[0]; }
static void* crash(void) { %s; return 0; }
static void* table[200];
static void* get(unsigned v) {
  for (int i = 0; i < 200; ++i) table[i] = (void*)nothing;
  table[8] = (void*)crash;  // CreateSessionFromArray
  return table;
}
static const char* version(void) { return "1.31.1"; }
struct { void* (*a)(unsigned); const char* (*b)(void); } base = {get, version};
void* OrtGetApiBase(void) { return &base; }
"""


@pytest.mark.parametrize("how", ["raise(SIGFPE)", "raise(SIGSEGV)", "abort()", "deep(0)"])
def test_a_runtime_that_crashes_is_named(folder, how):
    library = folder / "lib.so"
    library.unlink(missing_ok=True)
    subprocess.run(["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", library], input=CRASHES % how, text=True, check=True)
    for command in (["verify", "gain.onnx", "same.onnx"], ["--rules", "optimize", "gain.onnx", "-o", "out.onnx", "--verify"]):
        code, out, err = run(folder, *command, "--ort", str(library))
        assert (code, out) == (5, "") and err.startswith("error: ONNX Runtime crashed while it ran a model")
    assert not [name for name in os.listdir(folder) if name.startswith(("out.onnx", ".")) or name.endswith(".tmp")]


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


OWN = """qrewrite: 1
name: own
signatures:
  qr.Half:
    inputs: [x]
    outputs: [y]
    computes: y = Mul(x, f32(0.5))
rules:
  - {name: neg-neg, equivalence: exact, match: y = Neg(Neg(x)), replace: "y = qr.Half(Mul(x, f32(2)))"}
  - {name: abs, equivalence: exact, match: y = Abs(x), replace: y = Relu(x)}
  - {name: finish, equivalence: exact, match: y = qr.Half(x), replace: "y = Mul(x, f32(0.5))"}
phases:
  - {name: one, rules: [neg-neg]}
  - {name: two, rules: [abs]}
  - {name: three, rules: [finish]}
"""


def test_bisect_runs_what_the_rules_have_for_themselves(folder):
    """States between hold qr.Half until the end: what it computes says which of them is the first bad one."""
    (folder / "own.yaml").write_text(OWN)
    code, out, err = run(folder, "verify", "--bisect", "--rules", "own.yaml", "abs.onnx")
    assert code == 1 and out.startswith("rewrite 2 of 3 is the first bad one:\n  rule `abs` of own"), out + err


@pytest.mark.parametrize("behind, options, error", [
    ("{name: no-relu, match: y = Relu(x), refuse: 'a Relu is left'}", [], "a Relu is left"),
    ("{name: no-sin, match: y = Sin(x), refuse: 'a Sin is left'}", [], "a Sin is left"),
    ("{name: cos, match: y = Sin(Relu(x)), replace: y = Cos(Relu(x))}\n"
     "  - {name: sin, match: y = Cos(Relu(x)), replace: y = Sin(Relu(x))}", [], "does not come to an end"),
])
def test_bisect_of_a_run_that_fails(folder, behind, options, error):
    """A wrong rule makes what another one refuses, or what rewrites have no end on: the wrong one is named."""
    (folder / "refusing.yaml").write_text(RULES + f"  - {behind}\n")
    code, out, err = run(folder, "verify", "--bisect", "--rules", "refusing.yaml", *options, "abs.onnx")
    assert code == 1 and "rule `abs` of wrong" in out and error in out and "DIVERGED" in out, out + err
    # where no rewrite is bad the error is all there is to say
    (folder / "right.yaml").write_text(RULES.replace("y = Relu(x)", "'y = Max(x, Neg(x))'")
                                       + "  - {name: no-sin, match: y = Sin(x), refuse: 'a Sin is left'}\n")
    code, out, err = run(folder, "verify", "--bisect", "--rules", "right.yaml", "abs.onnx")
    assert code == 3 and "a Sin is left" in err and "bad" not in out, out + err


def test_bisect_goes_by_what_the_rules_promise(folder):
    """A rule that promises 20 dB is not to blame for a millionth; one that promises all is."""
    rule = "qrewrite: 1\nname: near\nrules:\n  - {{name: gain, equivalence: {}, match: y = Sin(x), replace: 'y = Cos(Sub(x, f32(1.58)))'}}\n"
    for promise, code, text in (("approx(20dB)", 0, "none of 1 rewrites is bad"), ("exact", 1, "rewrite 1 of 1 is the first bad one")):
        (folder / "near.yaml").write_text(rule.format(promise))
        returned, out, err = run(folder, "verify", "--bisect", "--rules", "near.yaml", "abs.onnx")
        assert returned == code and text in out, out + err


def test_weakest_promise_is_the_tolerance(folder):
    model = str(SOURCE / "fixtures" / "models" / "qdq_cnn.onnx")
    code, _, err = run(folder, "--rules", "ezkl_dequant", "--verify", model, "-o", "float.onnx")
    assert code == 0 and "WITHIN with tolerance sqnr:8:" in err and "what rule `plain-pair` promises: the weakest" in err


def test_rules_of_a_set_that_a_phase_uses_promise_too(folder):
    (folder / "inner.yaml").write_text("qrewrite: 1\nname: inner\nrules:\n  - {name: gain, equivalence: approx(20dB), match: y = Sin(x), replace: 'y = Cos(Sub(x, f32(1.58)))'}\n")
    (folder / "outer.yaml").write_text("qrewrite: 1\nname: outer\ninclude: [inner.yaml]\nphases:\n  - {name: all, use: inner}\n")
    onnx.save(onnx.parser.parse_model('<ir_version: 8, opset_import: ["": 17]> g (float[64] x) => (float[64] y) { y = Sin(x) }'), folder / "sin.onnx")
    code, _, err = run(folder, "--rules", "outer.yaml", "--verify", "sin.onnx", "-o", "cos.onnx")
    assert code == 0 and "WITHIN with tolerance sqnr:20:" in err, err


QUANTIZED = """
  q = QuantizeLinear(x, s, z)
  a = DequantizeLinear(q, s, z)
  d = DequantizeLinear(w, t, z)
  c = MatMul(a, d)
  r = Relu(c)
  p = QuantizeLinear(r, u, z)
  y = DequantizeLinear(p, u, z)
"""
CONSTANTS = "float s = {0.03}, float t = {0.01}, float u = {0.02}, int8 z = {0}, int8[4, 3] w = {50, -7, 100, 3, 9, -80, 120, 60, -33, 20, -110, 71}"


@pytest.fixture(scope="module")
def integers(folder):
    """A network that Deeploy takes, and the same with one rule less right."""
    model = f"g (float[2, 4] x) => (float[2, 3] y) <{CONSTANTS}> {{ {QUANTIZED} }}"
    onnx.save(onnx.parser.parse_model(HEADER + model), folder / "quantized.onnx")
    text = (SOURCE / "rules" / "deeploy.yaml").read_text()
    (folder / "qonnx.yaml").write_text((SOURCE / "rules" / "qonnx.yaml").read_text())  # which it includes
    right = "record: {outputs: {of: y, scale: s,"
    assert text.count(right) == 2
    (folder / "twice.yaml").write_text(text.replace("name: deeploy\n", "name: twice\n", 1).replace(right, "record: {outputs: {of: y, scale: 2 * s,"))
    return folder


@pytest.mark.parametrize("runtime", ["ort", "builtin"])
def test_networks_of_integers(integers, runtime):
    """Inputs become the integers that stand for them, results are compared as numbers, and operators run as what they compute."""
    code, out, err = run(integers, "--rules", "deeploy", "--verify", "--runtime", runtime, "quantized.onnx", "-o", "network.onnx")
    assert code == 0 and ("WITHIN" in err or "EXACT" in err), err
    assert "input `x` is FLOAT, and INT8 in the second model: steps of 0.03" in err
    operators = {n.op_type for n in onnx.load(integers / "network.onnx").graph.node}
    assert "RequantShift" in operators
    # a network that is lowered already runs as well
    code, out, err = run(integers, "--rules", "deeploy", "--verify", "--runtime", runtime, "network.onnx", "-o", "again.onnx")
    assert code == 0 and "EXACT" in err, err
    code, out, err = run(integers, "verify", "--bisect", "--rules", "deeploy", "--runtime", runtime, "network.onnx")
    assert code == 0 and out.startswith("none of 0 rewrites"), out + err
    # a wrong unit is a wrong result, and nothing is written
    code, out, err = run(integers, "--rules", "twice.yaml", "--verify", "--runtime", runtime, "quantized.onnx", "-o", "twice.onnx")
    assert code == 1 and "DIVERGED" in err and not (integers / "twice.onnx").exists(), err
    code, out, err = run(integers, "verify", "--bisect", "--rules", "twice.yaml", "--runtime", runtime, "quantized.onnx")
    assert code == 1 and "rule `output` of twice" in out, out + err
    code, out, err = run(integers, "verify", "--bisect", "--rules", "deeploy", "--runtime", runtime, "quantized.onnx")
    assert code == 0 and out.startswith("none of"), out + err


def test_the_report_of_a_run_has_the_comparison(folder):
    """For machines, also when nothing is written because the results differ."""
    code, out, _ = run(folder, "--rules", "wrong.yaml", "--skip-rule", "abs", "--verify", "abs.onnx", "-o", "reported.onnx", "--json")
    report = json.loads(out)
    assert code == 0 and report["verify"]["verdict"] == "EXACT" and report["output"] == "reported.onnx"
    code, out, _ = run(folder, "--rules", "wrong.yaml", "--verify", "abs.onnx", "-o", "diverged.onnx", "--json")
    report = json.loads(out)
    assert code == 1 and report["verify"]["verdict"] == "DIVERGED" and report["rewrites"] == 2
    assert "output" not in report and not (folder / "diverged.onnx").exists()
    assert run(folder, "--rules", "wrong.yaml", "--verify", "abs.onnx", "-o", "diverged.onnx", "--json=report.json")[0] == 1
    assert not (folder / "report.json").exists()
    assert "verify" not in json.loads(run(folder, "--rules", "wrong.yaml", "abs.onnx", "-o", "unasked.onnx", "--json")[1])


def test_a_model_that_onnx_runtime_refuses_and_the_kernels_run(folder):
    """ONNX Runtime's quantizer writes `axis` at opset 10, which its own DequantizeLinear does not have."""
    model = onnx.parser.parse_model(HEADER.replace('"": 17', '"": 10') + """g (float[2] x) => (float[2] y) <int8[2] q = {1, 2}, float[2] s = {0.5, 0.25}, int8[2] z = {0, 0}> {
        w = DequantizeLinear <axis = 0> (q, s, z)  y = Add(x, w) }""")
    onnx.save(model, folder / "axis.onnx")
    code, _, err = run(folder, "verify", "axis.onnx", "axis.onnx")
    assert code == 5 and err.rstrip().endswith("; the built-in kernels may run it: --runtime builtin"), err
    assert run(folder, "verify", "--runtime", "builtin", "axis.onnx", "axis.onnx")[0] == 0


def test_inputs_of_integers_that_become_signed(folder):
    """An input of uint8 is one of int8 for Siracusa: the same numbers, moved."""
    onnx.save(onnx.parser.parse_model(HEADER + """g (uint8[1, 1, 4, 4] x) => (float[1, 1, 2, 2] y)
      <float s = {0.5}, uint8 z = {120}, float t = {0.01}, int8 o = {0}, int8[1, 1, 3, 3] w = {50, -7, 100, 3, 9, -80, 120, 60, -33}, float u = {0.8}> {
        a = DequantizeLinear(x, s, z)  d = DequantizeLinear(w, t, o)  c = Conv(a, d)  p = QuantizeLinear(c, u, o)  y = DequantizeLinear(p, u, o) }"""),
              folder / "unsigned.onnx")
    for target, note in (("generic", None), ("siracusa", "input `x` is UINT8, and INT8 in the second model: steps of 1 from -128")):
        code, _, err = run(folder, "--rules", "deeploy", "--set", f"target={target}", "--verify", "--runtime", "builtin", "unsigned.onnx", "-o", "signed.onnx")
        assert code == 0 and "EXACT" in err and (note is None or note in err), err


@pytest.mark.parametrize("output", ["integer", "dequant"])
def test_floats_that_become_whole_numbers(folder, output):
    """A rule that rescales says by `record:` in which steps an output is since."""
    onnx.save(onnx.parser.parse_model(HEADER + """g (float[1, 4] x) => (float[1, 4] y) <float s = {0.3}, int8 z = {0}> {
        q = QuantizeLinear(x, s, z)  y = DequantizeLinear(q, s, z) }"""), folder / "steps.onnx")
    code, _, err = run(folder, "--rules", "aidge_export_qdq", "--set", f"output={output}", "--verify", "steps.onnx", "-o", "whole_steps.onnx")
    assert code == 0 and "EXACT with tolerance exact" in err, err
    assert ("note: output `y` is in the second model steps of 0.3 from 0" in err) == (output == "integer"), err


def test_units_inside_a_function_are_not_those_of_an_output(folder):
    """A rule rescales what a function gives, which is called as the output of the graph is."""
    (folder / "rescales.yaml").write_text("""qrewrite: 1
name: rescales
rules:
  - name: whole
    equivalence: rescaled
    match: y = DequantizeLinear(q, s, z)
    where: is_output(y) and not 1.0 == s
    replace: y = DequantizeLinear(q, 1.0, z)
    record: {outputs: {of: y, scale: s, zero_point: 0}}
""")
    onnx.save(onnx.parser.parse_model("""<ir_version: 8, opset_import: ["": 17, "own": 1]> g (float[4] x) => (float[4] y) { a = own.F(x)  y = Exp(a) }
      <domain: "own", opset_import: ["": 17]> F (x) => (y) {
        s = Constant<value = float {0.3}>()  z = Constant<value = int8 {0}>()  q = QuantizeLinear(x, s, z)  y = DequantizeLinear(q, s, z) }"""),
              folder / "function.onnx")
    code, _, err = run(folder, "--rules", "rescales.yaml", "--verify", "function.onnx", "-o", "rescaled_function.onnx")
    assert code == 1 and "DIVERGED" in err and "steps of" not in err, err


def test_units_of_two_models(integers):
    run(integers, "--rules", "deeploy", "quantized.onnx", "-o", "alone.onnx")
    call = ["verify", "--rules", "deeploy", "--tol", "sqnr:30", "--runtime", "builtin", "quantized.onnx", "alone.onnx"]
    right = ["--units", "x=0.03,0", "--units", "y=0.02,0"]
    code, out, err = run(integers, *call, *right)
    assert code == 0 and "steps of 0.02 from 0" in out, out + err
    code, out, err = run(integers, *call, *right[:3], "y=0.03,0")
    assert code == 1 and "DIVERGED" in out, out + err
    code, out, err = run(integers, *call)
    assert code == 2 and "--units x=SCALE,ZERO" in err, out + err
    for units in ("x=0.03", "x=0,0", "x=nan,0", "x=1,2,3", "=1,2"):
        assert run(integers, *call, "--units", units)[0] == 2
    assert "has no input or output `v`" in run(integers, *call, "--units", "v=1,0")[2]


def test_runtime_goes_with_verify(folder):
    for option in (["--runtime", "builtin"], ["--ort", "x.so"]):
        code, _, err = run(folder, "--rules", "wrong.yaml", *option, "abs.onnx", "-o", "x.onnx")
        assert code == 2 and "--runtime and --ort go with --verify" in err


@pytest.mark.parametrize("rules", ["ezkl_dequant", "qdq_form"])
def test_products_that_the_runtime_rounds(folder, rules):
    """At accuracy level 4 ONNX Runtime multiplies integers of 8 bits; no kernel of the library has the table, so there is no second opinion."""
    r = np.random.default_rng(1)
    weights = {"table": r.integers(0, 256, (16, 16)).astype(np.uint8), "steps": r.uniform(0.1, 0.2, (16, 2)).astype(np.float32),
               "w": r.integers(0, 256, (8, 2, 8)).astype(np.uint8), "scales": r.uniform(0.1, 0.2, 16).astype(np.float32)}
    nodes = [onnx.helper.make_node("GatherBlockQuantized", ["table", "ids", "steps"], ["x"], domain="com.microsoft", bits=4, block_size=16, gather_axis=0, quantize_axis=1),
             onnx.helper.make_node("MatMulNBits", ["x", "w", "scales"], ["y"], domain="com.microsoft", K=32, N=8, bits=4, block_size=16, accuracy_level=4)]
    graph = onnx.helper.make_graph(nodes, "g", [onnx.helper.make_tensor_value_info("ids", onnx.TensorProto.INT64, [1, 5])],
                                   [onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [1, 5, 8])], [numpy_helper.from_array(v, n) for n, v in weights.items()])
    opsets = [onnx.helper.make_opsetid("", 21), onnx.helper.make_opsetid("com.microsoft", 1)]
    onnx.save(onnx.helper.make_model(graph, opset_imports=opsets, ir_version=10), folder / "nbits.onnx")
    code, _, err = run(folder, "--rules", rules, "--verify", "--runtime", "ort", "nbits.onnx", "-o", f"nbits_{rules}.onnx")
    assert code == 0 and "matmul-nbits-8" in err, err
