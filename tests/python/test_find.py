"""qrewrite find: matches as text and JSON, conditions, exit codes, errors."""
import json
import os
import subprocess

import onnx
import onnx.parser
import pytest

from cli import PROGRAM, SOURCE

NET = """net (float[1, 3, 8, 8] x) => (float[1, 4, 6, 6] y, float[1, 4, 6, 6] z)
<float[4, 3, 3, 3] w, float half = {0.5}> {
  c = Conv<strides = [1, 1]>(x, w)  r = Relu(c)  y = Mul(r, half)  n = Neg(c)  z = Relu(n)
}"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("find")
    text = NET.replace("w,", "w = {" + ", ".join(["1"] * 108) + "},")
    model = onnx.parser.parse_model('<ir_version: 8, opset_import: ["": 17]>\n' + text)
    for node in model.graph.node:
        node.name = "n_" + node.output[0]
    onnx.save(model, path / "net.onnx")
    (path / "tidy.yaml").write_text("""qrewrite: 1
name: tidy
params: {factor: {default: 0.5, doc: what is looked for}}
rules:
  - {name: half, match: "y = Mul(x, k)", where: k == params.factor, replace: y = x}
  - {name: relu, match: y = Relu(x), where: [rank(x) == 4, not is_output(y)], replace: y = x}
""")
    return path


def run(folder, *args):
    environment = {**os.environ, "NO_COLOR": "1", "QREWRITE_RULES_DIR": str(SOURCE / "rules")}
    done = subprocess.run([PROGRAM, "find", *args], cwd=folder, capture_output=True, text=True, timeout=60, env=environment)
    return done.returncode, done.stdout, done.stderr


TABLE = [
    (["-e", "y = Relu(x)"], """Relu `n_r`
  y = `r`
  x = `c`
Relu `n_z`
  y = `z`
  x = `n`
2 matches
"""),
    (["-e", "y = Relu(Neg(x))", "--where", "is_output(y)"], """Relu `n_z`, Neg `n_n`
  y = `z`
  x = `c`
1 match
"""),
    (["-e", "y = c:Conv<strides, **a>(x, w, b?)"], """Conv `n_c`
  y = `c`
  c = Conv `n_c`
  strides = [1, 1]
  a = <>
  x = `x`
  w = `w` = float[4, 3, 3, 3] ...
  b = absent
1 match
"""),
    (["-e", "y = Mul(x, k)", "--where", "const(k)"], """Mul `n_y`
  y = `y`
  x = `r`
  k = `half` = float 0.5
1 match
"""),
    (["-e", "y = Relu(x)", "--max", "1"], """Relu `n_r`
  y = `r`
  x = `c`
1 match, and more (--max)
"""),
    (["--rules", "tidy.yaml"], """tidy/relu: Relu `n_r`
  y = `r`
  x = `c`
tidy/half: Mul `n_y`
  y = `y`
  x = `r`
  k = `half` = float 0.5
2 matches
"""),
    (["--rules", "tidy.yaml", "--rule", "relu", "--conditions"], """tidy/relu: Relu `n_r`
  y = `r`
  x = `c`
  holds    rank(x) == 4
  holds    not is_output(y)
tidy/relu: Relu `n_z`
  y = `z`
  x = `n`
  holds    rank(x) == 4
  fails    not is_output(y)
2 matches
"""),
]


@pytest.mark.parametrize("args, expected", TABLE)
def test_text(folder, args, expected):
    assert run(folder, "net.onnx", *args) == (0, expected, "")


@pytest.mark.parametrize("args", [["-e", "y = Sigmoid(x)"], ["--rules", "tidy.yaml", "--rule", "half", "--set", "factor=0.25"]])
def test_nothing(folder, args):
    assert run(folder, "net.onnx", *args) == (1, "0 matches\n", "")


def test_json(folder):
    code, out, _ = run(folder, "net.onnx", "-e", "y = c:Conv<strides, **a>(x, w, b?)", "--json")
    report = json.loads(out)
    match = report["matches"][0]
    assert code == 0 and not report["more"] and match["nodes"][0]["inputs"] == ["x", "w"]
    bindings = match["bindings"]
    assert bindings["x"] == {"kind": "value", "name": "x"} and bindings["b"] == {"kind": "absent"}
    assert bindings["w"]["constant"] == {"dtype": "float", "shape": [4, 3, 3, 3]}
    assert bindings["strides"]["constant"] == {"dtype": "int64", "shape": [2], "values": [1, 1]}


@pytest.mark.parametrize("args, code, message", [
    ([], 2, "a model is needed"),
    (["net.onnx"], 2, "a pattern (-e) or --rules is needed, not both"),
    (["net.onnx", "-e", "y = Relu(x)", "--rules", "tidy.yaml"], 2, "not both"),
    (["net.onnx", "-e", "y = Relu(x)", "--rule", "r"], 2, "--rule and --set go with --rules"),
    (["net.onnx", "--rules", "tidy.yaml", "--where", "true"], 2, "--where goes with -e"),
    (["net.onnx", "--rules", "tidy.yaml", "--rule", "reul"], 2, "reul"),
    (["net.onnx", "-e", "y = Rleu(x)"], 4, "did you mean `Relu`?"),
    (["net.onnx", "-e", "y = Relu(x"], 4, "unclosed `(`"),
    (["net.onnx", "-e", "y = Relu(x)", "--where", "rank(q) == 1"], 4, "`q`"),
    (["absent.onnx", "-e", "y = Relu(x)"], 6, "absent.onnx"),
])
def test_error(folder, args, code, message):
    returned, out, err = run(folder, *args)
    assert (returned, out) == (code, "") and message in err


def test_faults_are_shown_in_the_texts_of_the_command_line(folder):
    code, out, err = run(folder, "net.onnx", "-e", "y = Relu(c)\nc = Cnov(x, w)", "--where", "rank(x) == 4", "--where", "rank(x) = 4")
    assert (code, out) == (4, "")
    assert err == """-e:2:5: error[QR0409]: there is no operator `Cnov`
 2 | c = Cnov(x, w)
   |     ^^^^ did you mean `Conv`?
--where:1:9: error[QR0213]: unexpected `=`
 1 | rank(x) = 4
   |         ^ a comparison is written `==`
"""
    assert run(folder, "net.onnx", "-e", "  y = Relu(c)  # margins and comments\n")[0] == 0


CALLED = """<ir_version: 8, opset_import: ["": 17, "acme": 1]>
g (float[1, 2, 8, 8] x, float[2, 1, 3, 3] w) => (float[1, 2, 6, 6] y) { y = acme.f<group = 2, kernel_shape = [3, 3]>(x, w) }
<domain: "acme", opset_import: ["": 17]>
f<group, kernel_shape>(v, u) => (o) { c = Conv<group: int = @group, kernel_shape: ints = @kernel_shape>(v, u)  o = Relu(c) }"""


@pytest.mark.parametrize("attributes, where, reason", [
    ("pads = p, **rest", "p == [0, 0, 0, 0]", ""),  # its default, as that of strides, depends on others
    ("strides = s, **rest", "s == [1, 1]", ""),
    ("group = g, **rest", "g == 2", ""),
    ("group = 2, **rest", "true", ""),
    ("", "true", ""),
    ("**rest", "true", "rest = <group=unknown: attribute `group` of a function is given by its caller, kernel_shape=unknown: attribute `kernel_shape`"),
])
def test_attributes_that_the_caller_of_a_function_gives(tmp_path, attributes, where, reason):
    """They are unknown, and so are the defaults that depend on them."""
    onnx.save(onnx.parser.parse_model(CALLED), tmp_path / "called.onnx")
    code, out, err = run(tmp_path, "called.onnx", "-e", f"y = Conv<{attributes}>(x, w)", "--where", where)
    assert (code, err) == (0 if reason else 1, "") and reason in out and out.endswith("1 match\n" if reason else "0 matches\n")


def test_shipped_rules_on_attributes_that_the_caller_of_a_function_gives(tmp_path):
    onnx.save(onnx.parser.parse_model(CALLED), tmp_path / "called.onnx")
    done = subprocess.run([PROGRAM, "--rules", SOURCE / "rules" / "optimize.yaml", "called.onnx", "-o", "out.onnx"],
                          cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    conv, = [n for n in onnx.load(tmp_path / "out.onnx").functions[0].node if n.op_type == "Conv"]
    assert {a.name: a.ref_attr_name for a in conv.attribute} == {"group": "group", "kernel_shape": "kernel_shape"}
