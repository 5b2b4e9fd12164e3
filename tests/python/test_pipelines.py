"""The orders that rules/README.md names: ONNX Runtime runs the result, which computes what the model computed, and a second run changes nothing."""
import os
import subprocess
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest

SOURCE = Path(os.environ["QREWRITE_SOURCE_DIR"])
PIPELINES = [["optimize", "qdq_to_qop"], ["qdq_to_qop", "qop_to_qdq", "opset_upgrade"], ["opset_upgrade", "optimize"],
             ["optimize", "qdq_to_qop", "qop_to_qdq"], ["ezkl_dequant", "optimize"], ["ezkl_finish"]]


def run(file: Path, feeds: dict[str, np.ndarray]) -> np.ndarray:
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    return ort.InferenceSession(str(file), options, providers=["CPUExecutionProvider"]).run(None, feeds)[0]


def rewrite(names: list[str], source: Path, out: Path) -> str:
    rules = [part for name in names for part in ("--rules", str(SOURCE / "rules" / f"{name}.yaml"))]
    done = subprocess.run([os.environ["QREWRITE"], *rules, str(source), "-o", str(out)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("names", PIPELINES, ids="+".join)
def test_order(names, tmp_path):
    source, out, again = SOURCE / "fixtures/models/qdq_cnn.onnx", tmp_path / "out.onnx", tmp_path / "again.onnx"
    rewrite(names, source, out)
    model = onnx.load(out)
    onnx.checker.check_model(model, full_check=True)
    value = model.graph.input[0]
    shape = [d.dim_value or 2 for d in value.type.tensor_type.shape.dim]
    x = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    before, after = run(source, {value.name: x}), run(out, {value.name: x})
    assert before.shape == after.shape
    assert np.abs(after - before).max() <= 0.1 * np.abs(before).max()      # steps of eight bits
    rewrite(names[-1:], out, again)
    assert again.read_bytes() == out.read_bytes()


def test_qonnx_with_integers(tmp_path):
    """QONNX's Quant, which no runtime has: what stores integers computes what is spelled out in float operators, bit for bit."""
    r = np.random.default_rng(0)
    values = {"w": r.normal(size=(8, 4)).astype(np.float32), "b": r.normal(size=4).astype(np.float32), "zero": np.float32(0),
              "xs": np.float32(0.03), "ws": np.float32([[0.1, 0.2, 0.3, 0.4]]), "bs": np.float32([0.003, 0.006, 0.009, 0.012]),
              "bits4": np.float32(4), "bits8": np.float32(8), "bits32": np.float32(32)}
    quant = {"domain": "qonnx.custom_op.general", "rounding_mode": "ROUND"}
    nodes = [onnx.helper.make_node("Quant", ["x", "xs", "zero", "bits8"], ["xq"], **quant),
             onnx.helper.make_node("Quant", ["w", "ws", "zero", "bits4"], ["wq"], narrow=1, **quant),
             onnx.helper.make_node("Quant", ["b", "bs", "zero", "bits32"], ["bq"], **quant),
             onnx.helper.make_node("Gemm", ["xq", "wq", "bq"], ["y"])]
    graph = onnx.helper.make_graph(nodes, "g", [onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [5, 8])],
                                   [onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [5, 4])],
                                   [onnx.numpy_helper.from_array(np.asarray(v), n) for n, v in values.items()])
    source, spelled, out = (tmp_path / f"{name}.onnx" for name in ("model", "spelled", "out"))
    onnx.save(onnx.helper.make_model(graph, ir_version=8, opset_imports=[onnx.helper.make_opsetid("", 17), onnx.helper.make_opsetid(quant["domain"], 1)]), source)
    rewrite(["qonnx"], source, spelled)
    rewrite(["qonnx_to_qdq"], source, out)
    stored = {onnx.TensorProto.DataType.Name(t.data_type) for t in onnx.load(out).graph.initializer}
    assert {"INT8", "INT32"} <= stored and [n.op_type for n in onnx.load(out).graph.node].count("DequantizeLinear") == 3
    x = r.normal(size=(5, 8)).astype(np.float32)
    assert np.array_equal(run(out, {"x": x}), run(spelled, {"x": x}))


def test_the_page_names_them():
    page = (SOURCE / "rules" / "README.md").read_text()
    names = {file.stem for file in (SOURCE / "rules").glob("*.yaml")}
    assert [name for name in names if f"`{name}" not in page] == []
