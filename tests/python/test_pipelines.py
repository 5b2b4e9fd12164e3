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


def test_the_page_names_them():
    page = (SOURCE / "rules" / "README.md").read_text()
    names = {file.stem for file in (SOURCE / "rules").glob("*.yaml")}
    assert [name for name in names if f"`{name}" not in page] == []
