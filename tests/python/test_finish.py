"""`ezkl_finish` computes what the model computed: ONNX Runtime before and after, at several opsets."""
import os
import subprocess
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from finish_models import MODELS, build

RULES = Path(os.environ["QREWRITE_SOURCE_DIR"]) / "rules/ezkl_finish.yaml"


def run(file: Path, feeds: dict[str, np.ndarray]) -> list[np.ndarray]:
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    return ort.InferenceSession(str(file), options, providers=["CPUExecutionProvider"]).run(None, feeds)


def noise(value: onnx.ValueInfoProto, batch: int) -> np.ndarray:
    tensor = value.type.tensor_type
    shape = [d.dim_value or batch for d in tensor.shape.dim]
    dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)
    random = np.random.default_rng(batch)
    if dtype == np.bool_:
        return random.integers(0, 2, shape).astype(dtype)
    if np.issubdtype(dtype, np.integer):
        return random.integers(0, 2, shape).astype(dtype)
    return random.normal(size=shape).astype(dtype)


def finish(source: Path, out: Path, *flags: str) -> str:
    done = subprocess.run([os.environ["QREWRITE"], "--rules", str(RULES), str(source), "-o", str(out), *flags],
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("batch", ["N", 2])
@pytest.mark.parametrize("model,opset", [(m, o) for m in MODELS for o in m.opsets], ids=lambda p: getattr(p, "name", p))
def test_same_numbers(model, opset, batch, tmp_path):
    source, out = tmp_path / "model.onnx", tmp_path / "out.onnx"
    made = build(model, opset, batch)
    onnx.save(made, source)
    report = finish(source, out, *model.flags)
    assert "nothing changed" not in report
    for size in (1, 3) if batch == "N" else (2,):
        feeds = {v.name: noise(v, size) for v in made.graph.input}
        for want, got in zip(run(source, feeds), run(out, feeds), strict=True):
            assert got.shape == want.shape and got.dtype == want.dtype
            error = np.abs(got.astype(np.float64) - want).max()
            assert error <= model.tolerance * max(1.0, np.abs(want).max()), report
    again = tmp_path / "again.onnx"
    assert "nothing changed" in finish(out, again, *model.flags), "a second run changes the model"
