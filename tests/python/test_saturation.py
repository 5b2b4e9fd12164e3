"""Why `saturation: auto` is the default: ONNX Runtime's quantizer removes Relu and Clip in front of a QuantizeLinear
whose range implies them. Both are built here, quantized on the spot, and made float under every policy."""
import os
import subprocess
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static

RULES = Path(os.environ["QREWRITE_SOURCE_DIR"]) / "rules/ezkl_dequant.yaml"


def mobile_block(activation: str, path: Path) -> None:
    """Pointwise, depthwise, pointwise convolution; the first two with an activation that cuts a good part of the values."""
    random = np.random.default_rng(7)
    shapes = {"w0": (12, 4, 1, 1), "w1": (12, 1, 3, 3), "w2": (4, 12, 1, 1)}
    weights = {n: (random.normal(size=s) * 2 / np.sqrt(np.prod(s[1:]))).astype(np.float32) for n, s in shapes.items()}
    weights |= {"lo": np.float32(0), "hi": np.float32(6)}
    limits = ["lo", "hi"] if activation == "Clip" else []
    nodes = [helper.make_node("Conv", ["x", "w0"], ["c0"], kernel_shape=[1, 1]),
             helper.make_node(activation, ["c0", *limits], ["a0"]),
             helper.make_node("Conv", ["a0", "w1"], ["c1"], kernel_shape=[3, 3], pads=[1, 1, 1, 1], group=12),
             helper.make_node(activation, ["c1", *limits], ["a1"]),
             helper.make_node("Conv", ["a1", "w2"], ["y"], kernel_shape=[1, 1])]
    used = [n for n in weights if any(n in node.input for node in nodes)]
    graph = helper.make_graph(nodes, "block", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 4, 8, 8])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 4, 8, 8])],
                              [numpy_helper.from_array(np.asarray(weights[n]), n) for n in used])
    onnx.save(helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)]), path)


class Samples(CalibrationDataReader):
    def __init__(self) -> None:
        random = np.random.default_rng(3)
        self.feeds = [{"x": (random.normal(size=(1, 4, 8, 8)) * 3).astype(np.float32)} for _ in range(8)]
        self.left = iter(self.feeds)

    def get_next(self):
        return next(self.left, None)


def run(path: Path) -> np.ndarray:
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return np.stack([session.run(None, feed)[0] for feed in Samples().feeds])


@pytest.fixture(scope="module", params=["Relu", "Clip"])
def errors(request, tmp_path_factory):
    """Largest error of each policy in percent of the largest output: against the quantized and the original model."""
    folder = tmp_path_factory.mktemp(request.param)
    original, quantized, out = (folder / n for n in ("float.onnx", "quantized.onnx", "out.onnx"))
    mobile_block(request.param, original)
    quantize_static(str(original), str(quantized), Samples(), quant_format=QuantFormat.QDQ,
                    activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8)
    assert request.param not in {n.op_type for n in onnx.load(quantized).graph.node}, "nothing was removed"
    result = {}
    for policy in ("identity", "relu", "auto", "clip"):
        done = subprocess.run([os.environ["QREWRITE"], "--rules", str(RULES), "--set", f"saturation={policy}",
                               str(quantized), "-o", str(out)], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        wanted, first, got = run(quantized), run(original), run(out)
        result[policy] = tuple(100 * abs(got - w).max() / abs(w).max() for w in (wanted, first))
    print(request.param, {p: "%.1f%% / %.1f%%" % e for p, e in result.items()})
    return request.param, result


def test_identity_loses_the_activation(errors):
    assert min(errors[1]["identity"]) > 50


def test_relu_restores_one_bound(errors):
    activation, of = errors
    assert (max(of["relu"]) < 5) == (activation == "Relu")


def test_auto_and_clip_restore_both(errors):
    assert max(errors[1]["auto"]) < 5 and max(errors[1]["clip"]) < 5
