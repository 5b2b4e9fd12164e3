"""Initializers that are graph inputs too: callers may override them (IR version 4 and later), so a rule set
must say that it takes them for constants, and a float model that has them comes back byte for byte."""
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from cli import SOURCE, folder, ops, run  # noqa: F401

RULES = SOURCE / "rules"
FLOAT = [helper.make_node("MatMul", ["x", "w"], ["m"]), helper.make_node("Round", ["m"], ["y"])]
QUANTIZED = [helper.make_node("QuantizeLinear", ["x", "s", "z"], ["xq"]),
             helper.make_node("DequantizeLinear", ["xq", "s", "z"], ["xf"]),
             helper.make_node("DequantizeLinear", ["wq", "s", "z"], ["w"]),
             helper.make_node("MatMul", ["xf", "w"], ["y"])]
AIDGE = [helper.make_node("Mul", ["x", "s"], ["m"]), helper.make_node("Round", ["m"], ["r"]), helper.make_node("Clip", ["r", "lo", "hi"], ["y"])]
OPERATORS = [helper.make_node("QuantizeLinear", ["x", "s", "z"], ["xq"]),
             helper.make_node("Reshape", ["xq", "image"], ["xi"]),
             helper.make_node("QLinearConv", ["xi", "s", "z", "kernel", "s", "z", "s", "z", "bias"], ["yi"]),
             helper.make_node("Reshape", ["yi", "rows"], ["yq"]),
             helper.make_node("DequantizeLinear", ["yq", "s", "z"], ["y"])]
VALUES = {"w": np.eye(4, dtype=np.float32), "wq": np.eye(4, dtype=np.int8), "s": np.float32(0.5), "z": np.int8(0), "lo": np.float32(-128), "hi": np.float32(127),
          "image": np.array([1, 1, 2, 4]), "rows": np.array([2, 4]), "kernel": np.ones((1, 1, 1, 1), np.int8), "bias": np.ones(1, np.int32)}


def model(path: Path, nodes: list[onnx.NodeProto]) -> Path:
    produced = {o for n in nodes for o in n.output}
    names = [n for n in VALUES if any(n in node.input for node in nodes) and n not in produced]
    initializers = [numpy_helper.from_array(np.asarray(VALUES[n]), n) for n in names]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 4])]
    inputs += [helper.make_tensor_value_info(t.name, t.data_type, list(t.dims)) for t in initializers]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 4])]
    graph = helper.make_graph(nodes, "g", inputs, outputs, initializers)
    onnx.save(helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)]), path)
    return path


def rewrite(rules: Path, source: Path, out: Path) -> str:
    return run("--rules", rules, source, "-o", out)[0]


def test_float_model_is_untouched(tmp_path):
    source, out = model(tmp_path / "float.onnx", FLOAT), tmp_path / "out.onnx"
    assert "nothing changed" in rewrite(RULES / "ezkl_dequant.yaml", source, out)
    assert out.read_bytes() == source.read_bytes()


def test_float_model_with_a_node_that_nobody_reads(tmp_path):
    """What nobody reads is no reason to write the model, nor to take its weights from the caller; a rule set that cleans up drops it."""
    product = helper.make_node("Mul", ["x", "w"], ["y"])  # some rule of `ezkl_dequant` may begin at it
    source, out = model(tmp_path / "float.onnx", [product, helper.make_node("Neg", ["x"], ["unread"])]), tmp_path / "out.onnx"
    assert "nothing changed" in rewrite(RULES / "ezkl_dequant.yaml", source, out)
    assert out.read_bytes() == source.read_bytes()
    run("--rules", RULES / "ezkl_dequant.yaml", source, "--check")
    assert "1 unused removed" in rewrite(RULES / "optimize.yaml", source, out)
    assert ops(out) == ["Mul"]


def test_quantized_model_is_dequantized_and_frozen(tmp_path):
    source, out = model(tmp_path / "quantized.onnx", QUANTIZED), tmp_path / "out.onnx"
    rewrite(RULES / "ezkl_dequant.yaml", source, out)
    graph = onnx.load(out).graph
    assert [i.name for i in graph.input] == ["x"]
    assert not [op for op in ops(out) if op.endswith("Linear")]


@pytest.mark.parametrize("rules, nodes, gone", [("aidge_export_qdq", AIDGE, "Round"), ("aidge_export_qop", AIDGE, "Round"), ("qop_to_qdq", OPERATORS, "QLinearConv")])
def test_other_rule_sets_freeze_too(rules, nodes, gone, tmp_path):
    source, out = model(tmp_path / "quantized.onnx", nodes), tmp_path / "out.onnx"
    rewrite(RULES / f"{rules}.yaml", source, out)
    assert [i.name for i in onnx.load(out).graph.input] == ["x"]
    assert gone not in ops(out)
    source = model(tmp_path / "float.onnx", FLOAT)
    assert "nothing changed" in rewrite(RULES / f"{rules}.yaml", source, out)
    assert out.read_bytes() == source.read_bytes()


@pytest.mark.parametrize("trusted", [False, True])
def test_constants_config(trusted, tmp_path):
    rules = tmp_path / "rules.yaml"
    rules.write_text("qrewrite: 1\nname: test\n" + ("constants: {overridable: true}\n" if trusted else "") +
                     "rules: [{name: r, match: 'y = MatMul(x, w)', where: const(w), replace: 'y = Neg(x)'}]\n")
    source, out = model(tmp_path / "float.onnx", FLOAT), tmp_path / "out.onnx"
    rewrite(rules, source, out)
    assert ops(out) == (["Neg", "Round"] if trusted else ["MatMul", "Round"])


def test_output_that_is_an_overridable_input(tmp_path):
    """The output needs its Identity; a rule that takes it away would take away the next one as well."""
    source, out = model(tmp_path / "named.onnx", [helper.make_node("Identity", ["w"], ["y"])]), tmp_path / "out.onnx"
    assert "nothing changed" in rewrite(RULES / "optimize.yaml", source, out)


def test_input_with_an_initial_value_keeps_its_type(tmp_path):
    """Its initial value would be of the old type, in the old units."""
    rules = tmp_path / "rules.yaml"
    rules.write_text("qrewrite: 1\nname: test\nrules: [{name: r, match: 'y = MatMul(x, w)', replace: 'y = MatMul(x, Cast<to=FLOAT>(w))', "
                     "where: 'dtype(w) == FLOAT', retype: {w: INT8}}]\n")
    source, out = model(tmp_path / "float.onnx", FLOAT), tmp_path / "out.onnx"
    assert "nothing changed" in rewrite(rules, source, out)
