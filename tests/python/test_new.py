"""qrewrite new: rule files of pieces of models; qrewrite test --accept and --junit."""
import os
import subprocess
import xml.etree.ElementTree as ElementTree

import numpy as np
import onnx
import onnx.parser
import pytest
from onnx import helper, numpy_helper

from cli import PROGRAM, SOURCE

NET = """<ir_version: 8, opset_import: ["": 17, "com.microsoft": 1]>
net (float[N, 4] x) => (float[N, 4] y, float[N, 4] z)
<float half = {0.5}, float[1] root = {1.4142135}, float[4] b = {1.0, 2.0, 3.0, 4.0}> {
  c = MatMul(x, w)
  d = Add(c, b)
  e = Div(d, root)
  f = Erf(e)
  g = Softmax<axis = 1>(f)
  y = Mul(g, half)
  h = com.microsoft.Gelu(d)
  z = Identity(h)
}"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("new")
    model = onnx.parser.parse_model(NET)
    model.graph.initializer.append(numpy_helper.from_array(np.ones((4, 16), np.float32)[:, :4] * 0.1, "w"))
    for node in model.graph.node:
        node.name = "n_" + node.output[0]
    onnx.save(model, path / "net.onnx")
    return path


def run(folder, *args):
    environment = {**os.environ, "NO_COLOR": "1", "QREWRITE_RULES_DIR": str(SOURCE / "rules")}
    done = subprocess.run([PROGRAM, *args], cwd=folder, capture_output=True, text=True, timeout=60, env=environment)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("nodes, pattern", [
    ("n_e..n_f", ["t1 = Div(x1, 1.4142135)", "y = Erf(t1)"]),
    ("n_c,n_d", ["t1 = MatMul(x1, k1)", "y = Add(t1, k2)", "- const(k1)", "- const(k2)"]),
    ("n_c", ["y = MatMul(x1, k1)", "- const(k1)"]),
    ("n_f,n_g", ["t1 = Erf(x1)", "y = Softmax<axis=1>(t1)"]),
    ("n_h", ["y = com.microsoft.Gelu(x1)"]),
    ("n_d,n_e,n_h", ["t1 = Add(x1, k1)", "= Div(t1, 1.4142135)", "= com.microsoft.Gelu(t1)"]),
    ("n_c..n_y", ["y1 = Add(t1, k2)", "y2 = Mul(t4, 0.5)", "y1, y2 = mine.New(x1, k1, k2)"]),
])
def test_a_piece_becomes_a_rule_that_fires(nodes, pattern, folder):
    code, out, err = run(folder, "new", "--from", "net.onnx", "--nodes", nodes)
    assert (code, err) == (0, ""), err
    assert [line for line in pattern if line not in out] == []
    (folder / "made.yaml").write_text(out)
    assert run(folder, "test", "made.yaml")[1] == "2 passed, 0 failed\n"
    assert run(folder, "lint", "made.yaml") == (0, "0 errors, 0 warnings\n", "")
    code, out, err = run(folder, "--rules", "made.yaml", "net.onnx", "-o", "out.onnx")
    assert code == 0 and out.startswith("  1  new-rule\n"), out + err
    assert "New" in [node.op_type for node in onnx.load(folder / "out.onnx").graph.node]


def test_weights_behind_a_dequantizer_are_no_constants(tmp_path):
    model = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["": 17]>
    net (float[2, 4] x) => (float[2, 3] y) <float s = {0.5}, int8 z = {0}> {
      w = DequantizeLinear(q, s, z)
      y = MatMul(x, w)
    }""")
    model.graph.initializer.append(numpy_helper.from_array(np.arange(12, dtype=np.int8).reshape(4, 3), "q"))
    onnx.save(model, tmp_path / "net.onnx")
    code, out, err = run(tmp_path, "new", "--from", "net.onnx", "--nodes", "y", "-o", "made.yaml")
    made = (tmp_path / "made.yaml").read_text()
    assert code == 0 and "y = MatMul(x1, x2)" in made and "const(" not in made, out + err + made
    assert run(tmp_path, "test", "made.yaml")[1] == "2 passed, 0 failed\n"
    assert run(tmp_path, "--rules", "made.yaml", "net.onnx", "-o", "out.onnx")[1].startswith("  1  new-rule\n")


@pytest.mark.parametrize("node", [("Identity", ["x"], {}), ("RandomNormal", [], {"shape": [4]}), ("Shape", ["x"], {})])
def test_a_piece_of_one_operator(node, tmp_path):
    """The near miss has another operator; some have no input that it could read."""
    op, inputs, attributes = node
    ports = [helper.make_tensor_value_info(name, 1, [4]) for name in ("x", "y")]
    graph = helper.make_graph([helper.make_node(op, inputs, ["y"], **attributes)], "g", ports[:1], ports[1:])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), tmp_path / "m.onnx")
    code, out, err = run(tmp_path, "new", "--from", "m.onnx", "--nodes", "y")
    assert (code, err) == (0, ""), err
    (tmp_path / "made.yaml").write_text(out)
    assert run(tmp_path, "test", "made.yaml")[1] == "2 passed, 0 failed\n"


def test_a_dash_is_standard_output(folder):
    asked = ("new", "--from", "net.onnx", "--nodes", "n_f")
    assert run(folder, *asked, "-o", "-") == run(folder, *asked)
    assert not (folder / "-").exists()


def test_a_file_is_written_once(folder):
    args = ("new", "--from", "net.onnx", "--nodes", "n_f", "--name", "erf", "-o", "erf.yaml")
    assert run(folder, *args) == (0, "wrote erf.yaml; its tests: 2 passed, 0 failed\n", "")
    text = (folder / "erf.yaml").read_text()
    assert text.startswith("# yaml-language-server: $schema=") and "name: erf\n" in text and 'opset: ">=13"' in text
    code, _, err = run(folder, *args)
    assert code == 2 and "erf.yaml is there already" in err and (folder / "erf.yaml").read_text() == text


@pytest.mark.parametrize("nodes, message", [
    ("n_q", "no node and no value of a node is named `n_q`"),
    ("n_c,n_g", "MatMul `n_c` and Softmax `n_g` are not one piece: no value leads from one to the other"),
    ("n_y..n_c", "no way leads from Mul `n_y` to MatMul `n_c`"),
])
def test_errors(nodes, message, folder):
    code, out, err = run(folder, "new", "--from", "net.onnx", "--nodes", nodes)
    assert (code, out) == (2, "") and message in err


def test_a_node_without_name_is_told_by_what_it_makes(folder):
    model = onnx.load(folder / "net.onnx")
    for node in model.graph.node:
        node.name = ""
    onnx.save(model, folder / "unnamed.onnx")
    code, _, err = run(folder, "new", "--from", "unnamed.onnx", "--nodes", "y..c")
    assert code == 2 and "no way leads from Mul `y` to MatMul `c`" in err


RULES = """# a rule file with comments
qrewrite: 1
name: set
rules:
  - name: relu          # the rule
    match: y = Relu(Relu(x))
    replace: y = Relu(x)
    tests:
      # what fires
      - name: wrong
        given: |
          x: float[4]
          y = Relu(Relu(x))
        expect: |       # to be written anew
          x: float[4]
          y = Abs(x)

      - name: fires, but expects nothing
        given: |
          x: float[4]
          y = Relu(Relu(x))
        expect: unchanged
      - name: expects too much
        expect: |
          x: float[4]
          y = Neg(x)
        given: |
          x: float[4]
          y = Relu(x)
      - {name: in braces, given: "x: float[4]\\ny = Relu(x)", expect: "x: float[4]\\ny = Neg(x)"}
      - name: an error
        given: |
          x: float[4]
          y = Relu(x)
        expect: {error: nothing}
# the end
"""


def test_accept(tmp_path):
    (tmp_path / "set.yaml").write_text(RULES)
    code, out, _ = run(tmp_path, "test", "--accept", "set.yaml")
    assert code == 1 and "set.yaml: 3 written anew\n" in out
    assert "left: in braces (line 30): it stands in {}\n" in out and "left: an error (line 31): it expects no graph\n" in out
    text = (tmp_path / "set.yaml").read_text()
    wanted = RULES.replace("        expect: |       # to be written anew\n          x: float[4]\n          y = Abs(x)\n",
                           "        expect: |       # to be written anew\n          x: float[4]\n          y = Relu(x)\n")
    wanted = wanted.replace("          y = Relu(Relu(x))\n        expect: unchanged\n",
                            "          y = Relu(Relu(x))\n        expect: |\n          x: float[4]\n          y = Relu(x)\n")
    wanted = wanted.replace("        expect: |\n          x: float[4]\n          y = Neg(x)\n", "        expect: unchanged\n")
    assert text == wanted
    assert run(tmp_path, "test", "set.yaml")[1].endswith("3 passed, 2 failed\n")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["set.yaml"]


def test_accept_keeps_comments_and_line_ends(tmp_path):
    lines = ["qrewrite: 1", "name: s", "rules:", "  - name: r", "    match: y = Relu(Relu(x))", "    replace: y = Relu(x)", "    tests:",
             "      - name: two", "        given: |", "          x: float[2]", "          y = Relu(Relu(x))", "        expect: unchanged   # not so",
             "      - name: one # of them", "        given: |", "          x: float[2]", "          y = Relu(x)", "        expect: unchanged"]
    (tmp_path / "set.yaml").write_bytes("\r\n".join(lines + [""]).encode())
    run(tmp_path, "test", "--accept", "set.yaml")
    after = (tmp_path / "set.yaml").read_bytes().decode()
    assert after.count("\n") == after.count("\r\n")
    assert after.split("\r\n")[11:15] == ["        expect: |   # not so", "          x: float[2]", "          y = Relu(x)", lines[12]]
    run(tmp_path, "test", "set.yaml")


def test_accept_large_constants(tmp_path):
    """What is written can be read again, whatever it holds; what cannot be is left."""
    rules = """qrewrite: 1
name: large
rules:
  - name: double
    match: y = Add(Mul(x, w), Mul(x, w))
    where: const(w)
    let: {w2: w + w}
    replace: y = Mul(x, w2)
    tests:
      - name: a row
        given: |
          x: float[LENGTH]
          y = Add(Mul(x, random float[LENGTH]), Mul(x, random float[LENGTH]))
        expect: unchanged
"""
    (tmp_path / "set.yaml").write_text(rules.replace("LENGTH", "17"))
    code, out, _ = run(tmp_path, "test", "--accept", "set.yaml")
    assert code == 1 and "set.yaml: 1 written anew\n" in out
    assert run(tmp_path, "test", "set.yaml")[:2] == (0, "1 passed, 0 failed\n")
    (tmp_path / "set.yaml").write_text(rules.replace("LENGTH", "5000"))
    code, out, _ = run(tmp_path, "test", "--accept", "set.yaml")
    assert code == 1 and "left: a row (line 10): a constant of the result is too large for it\n" in out
    assert (tmp_path / "set.yaml").read_text() == rules.replace("LENGTH", "5000")


def test_junit(tmp_path):
    (tmp_path / "set.yaml").write_text(RULES)
    code, out, _ = run(tmp_path, "test", "--junit", "out.xml", "set.yaml")
    assert code == 1 and out.endswith("0 passed, 5 failed\n")
    [suite] = ElementTree.parse(tmp_path / "out.xml").getroot()
    assert (suite.attrib["name"], suite.attrib["tests"], suite.attrib["failures"]) == ("set", "5", "5")
    case = suite[0]
    assert (case.attrib["classname"], case.attrib["name"], case.attrib["line"]) == ("set.relu", "wrong", "10")
    assert "y = Abs(x)" in case[0].text
    (tmp_path / "set.yaml").write_text(RULES.split("      - name: fires")[0].replace("Abs(x)", "Relu(x)"))
    assert run(tmp_path, "test", "--junit", "out.xml", "set.yaml")[0] == 0
    [suite] = ElementTree.parse(tmp_path / "out.xml").getroot()
    assert suite.attrib["failures"] == "0" and len(suite[0]) == 0
