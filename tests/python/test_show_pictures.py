"""qrewrite show --dot and --svg: what Graphviz makes of it, parts, strange names, no Graphviz."""
import os
import subprocess
import xml.etree.ElementTree as ET

import onnx
import onnx.parser
import pytest
from onnx import TensorProto, helper

from cli import PROGRAM, SOURCE, golden

NET = """net (float[1, 4, 8, 8] x, bool flag) => (float[1, 4, 8, 8] y) <float[4, 4, 1, 1] w, float half = {0.5}> {
  c = Conv(x, w)  r = Relu(c)  m = Mul(r, half)
  y = If(flag) <then_branch = t () => (float[1, 4, 8, 8] p) { p = Neg(m) }, else_branch = e () => (float[1, 4, 8, 8] q) { q = Add(m, r) }>
}"""


@pytest.fixture
def folder(tmp_path):
    model = onnx.parser.parse_model('<ir_version: 8, opset_import: ["": 17]>\n' + NET.replace("w,", "w = {" + ", ".join(["1"] * 16) + "},"))
    for node in model.graph.node:
        node.name = "n_" + node.output[0]
    onnx.save(model, tmp_path / "net.onnx")
    return tmp_path


def show(folder, *args, code=0, **environment):
    done = subprocess.run([PROGRAM, "show", *args], cwd=folder, capture_output=True, text=True, timeout=60, env={**os.environ, "NO_COLOR": "1", **environment})
    assert done.returncode == code, done.stderr
    return done.stdout if code == 0 else done.stderr


def texts(svg):
    root = ET.fromstring(svg)
    return [t.text for t in root.iter("{http://www.w3.org/2000/svg}text")]


def test_dot(folder):
    golden("show.dot", show(folder, "net.onnx", "--dot", "--types"))


def test_svg(folder):
    found = texts(show(folder, "net.onnx", "--svg"))
    for word in ("Conv", "n_c", "4×4×1×1", "0.5", "Mul", "If", "Neg", "Add", "then_branch of If `n_y`", "x", "flag", "y"):
        assert word in found, (word, found)
    assert "1×4×8×8" not in found and "1×4×8×8" in texts(show(folder, "net.onnx", "--svg", "--types"))


def test_part(folder):
    found = texts(show(folder, "net.onnx", "--svg", "--around", "r", "--distance", "0"))
    assert sorted(found) == ["Relu", "c", "n_r", "r"]
    assert "no node" in show(folder, "net.onnx", "--dot", "--around", "nobody", code=2)


def test_strange_names(folder):
    names = ["</b>&amp;<script>", "\"quoted\" \\ `n`", "tab\tnewline\n", "\u202e節点", "x" * 900, "]]>", "digraph { n0 }"]
    nodes, last = [], "x"
    for i, name in enumerate(names):
        nodes.append(helper.make_node("Relu", [last], [f"{name}#{i}"], name=name))
        last = f"{name}#{i}"
    value = [helper.make_tensor_value_info(n, TensorProto.FLOAT, ["<b>", 4]) for n in ("x", last)]
    onnx.save(helper.make_model(helper.make_graph(nodes, "g", value[:1], value[1:]), opset_imports=[helper.make_opsetid("", 17)], ir_version=8), folder / "odd.onnx")
    found = texts(show(folder, "odd.onnx", "--svg", "--types"))
    assert "</b>&amp;<script>" in found and found.count("Relu") == len(names) and max(map(len, found)) < 80
    empty = helper.make_graph([], "g", [], [])
    onnx.save(helper.make_model(empty, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), folder / "empty.onnx")
    assert texts(show(folder, "empty.onnx", "--svg")) == []


def test_recorded_model():
    found = texts(show(SOURCE / "fixtures" / "models", "qdq_cnn.onnx", "--svg"))
    assert found.count("DequantizeLinear") == 13 and "logits" in found


def test_without_graphviz(folder):
    assert "Debian's package `graphviz`" in show(folder, "net.onnx", "--svg", code=6, PATH="/nonexistent")
    assert show(folder, "net.onnx", "--dot", PATH="/nonexistent").startswith("digraph")
    (folder / "dot").write_text("#!/bin/sh\nexit 3\n")
    (folder / "dot").chmod(0o755)
    assert "`dot` failed" in show(folder, "net.onnx", "--svg", code=6, PATH=f"{folder}:/usr/bin")
    assert "exclude each other" in show(folder, "net.onnx", "--svg", "--dot", code=2)
