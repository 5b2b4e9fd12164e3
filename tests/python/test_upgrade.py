"""`opset_upgrade` computes what the model computed: ONNX Runtime before and after, where the old operator meant something else."""
import os
import subprocess
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest

RULES = Path(os.environ["QREWRITE_SOURCE_DIR"]) / "rules/opset_upgrade.yaml"
SCALES = [[1, 1, 2, 3], [1, 1, 0.5, 0.3], [1, 1, 1.5, 0.7], [1, 1, 1, 2.3]]
PICKS = ["floor", "ceil", "round_prefer_floor", "round_prefer_ceil"]


def run(model: bytes, feeds: dict[str, np.ndarray]) -> list[np.ndarray]:
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    return ort.InferenceSession(model, options, providers=["CPUExecutionProvider"]).run(None, feeds)


def upgraded(text: str, to: int, tmp_path: Path) -> tuple[bytes, bytes]:
    model = onnx.parser.parse_model(text)
    source, out = tmp_path / "model.onnx", tmp_path / "out.onnx"
    onnx.save(model, source)
    done = subprocess.run([os.environ["QREWRITE"], "--rules", str(RULES), "--set", f"to={to}", str(source), "-o", str(out)],
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    result = onnx.load(out)
    onnx.checker.check_model(result, full_check=True)
    assert [o.version for o in result.opset_import] == [to] and result.ir_version >= {13: 7, 26: 13}[to]
    return source.read_bytes(), out.read_bytes()


def same(models: tuple[bytes, bytes], **feeds: np.ndarray) -> None:
    before, after = (run(model, feeds) for model in models)
    assert all(np.array_equal(a, b) and a.dtype == b.dtype for a, b in zip(before, after, strict=True))


def image(*shape: int) -> np.ndarray:
    return np.random.default_rng(1).normal(size=shape).astype(np.float32)


@pytest.mark.parametrize("to", [13, 26])
@pytest.mark.parametrize("mode", ["nearest", "linear"])
@pytest.mark.parametrize("scales", SCALES, ids=str)
@pytest.mark.parametrize("constant", [True, False])
def test_resize_10(constant, scales, mode, to, tmp_path):
    values = "{" + ", ".join(map(str, map(float, scales))) + "}"
    head = f"(float[1,1,5,7] x) => (float[a,b,c,d] y) <float[4] s = {values}>" if constant else \
        "(float[1,1,5,7] x, float[4] s) => (float[a,b,c,d] y)"
    text = f'<ir_version: 5, opset_import: ["": 10]> g {head} {{ y = Resize<mode = "{mode}">(x, s) }}'
    feeds = {} if constant else {"s": np.array(scales, np.float32)}
    same(upgraded(text, to, tmp_path), x=image(1, 1, 5, 7), **feeds)


@pytest.mark.parametrize("to", [13, 26])
@pytest.mark.parametrize("pick", PICKS)
@pytest.mark.parametrize("sizes", [[1, 1, 7, 28], [1, 1, 13, 8], [1, 1, 9, 9]], ids=str)
@pytest.mark.parametrize("constant", [True, False])
def test_tf_half_pixel_for_nn(constant, sizes, pick, to, tmp_path):
    values = "{" + ", ".join(map(str, sizes)) + "}"
    head = f"(float[1,1,13,8] x) => (float[a,b,c,d] y) <float[0] e = {{}}, int64[4] s = {values}>" if constant else \
        "(float[1,1,H,W] x, int64[4] s) => (float[a,b,c,d] y) <float[0] e = {}>"
    text = f'<ir_version: 6, opset_import: ["": 11]> g {head} {{ y = Resize<coordinate_transformation_mode = ' \
           f'"tf_half_pixel_for_nn", nearest_mode = "{pick}">(x, e, e, s) }}'
    feeds = {} if constant else {"s": np.array(sizes)}
    same(upgraded(text, to, tmp_path), x=image(1, 1, 13, 8), **feeds)


@pytest.mark.parametrize("to", [13, 26])
@pytest.mark.parametrize("mode", ["linear", "cubic"])
@pytest.mark.parametrize("sizes", [[1, 1, 7, 28], [1, 1, 13, 5], [1, 1, 1, 3]], ids=str)
@pytest.mark.parametrize("scaled", [True, False])
def test_tf_half_pixel_for_nn_between_elements(scaled, sizes, mode, to, tmp_path):
    scales = [a / b for a, b in zip(sizes, [1, 1, 13, 8])]
    values = "float[4] s = {" + ", ".join(f"{k:.7f}" for k in scales) + "}" if scaled else "int64[4] s = {" + ", ".join(map(str, sizes)) + "}"
    text = f'<ir_version: 6, opset_import: ["": 11]> g (float[N,1,13,8] x) => (float[a,b,c,d] y) <float[0] e = {{}}, {values}>' \
           f'{{ y = Resize<coordinate_transformation_mode = "tf_half_pixel_for_nn", mode = "{mode}">({"x, e, s" if scaled else "x, e, e, s"}) }}'
    if not scaled:
        text = text.replace("float[N,", "float[1,")
    before, after = (run(model, {"x": image(1, 1, 13, 8)})[0] for model in upgraded(text, to, tmp_path))
    assert before.shape == after.shape and np.abs(before - after).max() < 1e-5


@pytest.mark.parametrize("to", [13, 26])
@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("directions", ["", "directions = [1], "])
def test_scan_8(directions, batch, to, tmp_path):
    body = "body = b (float[2] s, float[2] n) => (float[2] t, float[2] u) { t = Add(s, n) u = Mul(t, n) }"
    text = f'<ir_version: 3, opset_import: ["": 8]> g (float[{batch},2] i, float[{batch},3,2] x) => (float[{batch},2] y, ' \
           f'float[{batch},3,2] z) {{ y, z = Scan<num_scan_inputs = 1, {directions}{body}>("", i, x) }}'
    same(upgraded(text, to, tmp_path), i=image(batch, 2), x=image(batch, 3, 2))


def test_group_normalization_of_double(tmp_path):
    text = """<ir_version: 8, opset_import: ["": 18]> g (double[1,4,8] x) => (double[1,4,8] y)
        <double[2] s = {1, 2}, double[2] b = {3, 4}> { y = GroupNormalization<num_groups = 2>(x, s, b) }"""
    same(upgraded(text, 26, tmp_path), x=image(1, 4, 8).astype(np.float64))


EXPERIMENTAL = ["Affine<alpha = 2.5, beta = 0.3>", "Affine", "Scale<scale = 2.5>", "Scale", "ImageScaler<scale = 2.5, bias = [0.3, 0.7]>", "ImageScaler<bias = [0.3, 0.7]>",
                "ScaledTanh<alpha = 2.5, beta = 0.3>", "ParametricSoftplus<alpha = 2.5, beta = 0.3>", "ThresholdedRelu<alpha = 0.3>", "ThresholdedRelu"]


@pytest.mark.parametrize("to", [13, 26])
@pytest.mark.parametrize("start", [1, 7, 9])
@pytest.mark.parametrize("node", EXPERIMENTAL)
def test_experimental(node, start, to, tmp_path):
    text = f'<ir_version: 3, opset_import: ["": {start}]> g (float[1,2,3,4] x) => (float[1,2,3,4] y) {{ y = {node}(x) }}'
    (before,), (after,) = (run(model, {"x": image(1, 2, 3, 4)}) for model in upgraded(text, to, tmp_path))
    assert np.abs(before - after).max() <= (1e-6 if node[0] in "SP" and "beta" in node else 0)


@pytest.mark.parametrize("to", [13, 26])
@pytest.mark.parametrize("start", [1, 8])
@pytest.mark.parametrize("shape", [(7,), (4, 3), (2, 3, 5), (2, 3, 4, 5), (2, 3, 4, 2, 3)])
@pytest.mark.parametrize("wide", [0, 1, 2])
@pytest.mark.parametrize("scaled", [0, 1])
def test_mean_variance_normalization_before_9(scaled, wide, shape, start, to, tmp_path):
    """The operator of ONNX Runtime, which has no axes."""
    sizes = ",".join(map(str, shape))
    text = f'<ir_version: 3, opset_import: ["": {start}]> g (float[{sizes}] x) => (float[{sizes}] y) ' \
           f'{{ y = MeanVarianceNormalization<across_channels = {wide}, normalize_variance = {scaled}>(x) }}'
    (before,), (after,) = (run(model, {"x": image(*shape)}) for model in upgraded(text, to, tmp_path))
    assert np.abs(before - after).max() <= (2e-6 if scaled else 2e-7)


@pytest.mark.parametrize("to", [13, 17, 26])
@pytest.mark.parametrize("node", ["LayerNormalization(x, s, b)", "LayerNormalization<axis = 2, epsilon = 0.01>(x, s)", "LayerNormalization<stash_type = 1>(x, s, b)"])
def test_layer_normalization_before_17(node, to, tmp_path):
    """ONNX Runtime's optimizer writes it into older models; the Squeeze shows that the shape behind it is known."""
    text = f"""<ir_version: 4, opset_import: ["": 11]> g (float[1,3,4] x) => (float[3,4] y) <float[4] s = {{1, 2, 3, 4}}, float[4] b = {{4, 3, 2, 1}}>
        {{ n = {node} y = Squeeze<axes = [0]>(n) }}"""
    model = onnx.parser.parse_model(text)
    source, out = tmp_path / "model.onnx", tmp_path / "out.onnx"
    onnx.save(model, source)
    done = subprocess.run([os.environ["QREWRITE"], "--rules", str(RULES), "--set", f"to={to}", str(source), "-o", str(out)],
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    same((source.read_bytes(), out.read_bytes()), x=image(1, 3, 4))


@pytest.mark.parametrize("hint", ["", ", consumed_inputs = [0]"], ids=["none", "hint"])
@pytest.mark.parametrize("opset", [1, 5])
def test_a_dropout_of_the_first_form(opset, hint, tmp_path):
    """The hint may be there or not. ONNX Runtime has no kernel for these: it drops nothing."""
    text = f'<ir_version: 3, opset_import: ["": {opset}]> g (float[2, 3] x) => (float[2, 3] y) {{ y = Dropout<is_test = 1{hint}>(x) }}'
    _, after = upgraded(text, 13, tmp_path)
    x = image(2, 3)
    assert np.array_equal(run(after, {"x": x})[0], x)
