"""Models before opset 7: what the built-in kernels make of them is what ONNX Runtime makes of them once they are upgraded."""
import numpy as np
import onnx
import onnx.parser
import onnxruntime as ort
import pytest

import qrewrite

X = "float[2, 3, 4, 5] x"
CELL = "float[1, {g}, 3] w, float[1, {g}, 2] r, float[1, {b}] b"
NODES = [  # opset, inputs, nodes
    *((opset, f"{X}, float[3] c", f"y = {op}<broadcast = 1, axis = 1>(x, c)") for op in ("Add", "Sub", "Mul", "Div") for opset in (1, 6)),
    (6, f"{X}, float[4, 5] c", "y = Add<broadcast = 1>(x, c)"), (6, f"{X}, float[2, 3] c", "y = Mul<broadcast = 1, axis = 0>(x, c)"),
    (1, f"{X}, float c", "y = Sub<broadcast = 1>(x, c)"), (6, X, "y = Div(x, x)"), (6, f"{X}, float[4] c", "y = Sub<broadcast = 1, axis = -2>(x, c)"),
    (6, f"{X}, float[3] c", "a = Abs(x) y = Pow<broadcast = 1, axis = 1>(a, c)"),
    *((6, f"{X}, float[3] c, float[5] d", f"a = {op}<broadcast = 1, axis = 1>(x, c) e = Less<broadcast = 1>(x, d) b = {other}<broadcast = 1>(a, e) y = Cast<to = 1>(b)")
      for op, other in (("Greater", "And"), ("Less", "Or"), ("Less", "Xor"), ("Greater", "Equal"))),
    *((1, f"{X}, float[2, 3, 4, 5] c", f"y = {op}<consumed_inputs = [0, 0]>(x, c)") for op in ("Sum", "Mean", "Max", "Min")),
    (6, f"{X}, float[3] c", "y = PRelu(x, c)"), (1, f"{X}, float[1] c", "y = PRelu(x, c)"), (6, "float[3] x, float[1, 1] c", "y = PRelu(x, c)"),
    (6, "float[2, 3] x, float[4, 3] w, float[4] c", "y = Gemm<broadcast = 1, transB = 1, beta = 0.5>(x, w, c)"), (1, "float[2, 3] x, float[3, 4] w, float[2, 4] c", "y = Gemm(x, w, c)"),
    (6, f"{X}, float[3] s, float[3] b, float[3] m", "v = Abs(s) y = BatchNormalization<is_test = 1, epsilon = 0.1>(x, s, b, m, v)"),
    (1, X, "y = Dropout<is_test = 1>(x)"), (6, X, "y = Dropout<is_test = 1, ratio = 0.9>(x)"),
    (1, X, "a = Cast<to = 'INT32'>(x) y = Cast<to = 'FLOAT'>(a)".replace("'", '"')),
    (1, X, "y = Clip<max = 0.5>(x)"), (1, X, "y = Clip<min = -0.5, consumed_inputs = [0]>(x)"), (1, X, "y = Selu(x)"), (6, X, "y = Selu<alpha = 2.0>(x)"),
    (1, X, "y, z = Split<axis = 1, split = [1, 2]>(x)"), (1, X, "s = Constant<value = float[2] {4, 1}>() y, z = Split<axis = 3>(x, s)"), (1, X, "y, z = Split<axis = 2>(x)"),
    *((1, X, f'y = Pad<paddings = [0, 0, 1, 2, 0, 0, 3, 0], mode = "{mode}">(x)') for mode in ("constant", "reflect", "edge")),
    (1, X, "t = Constant<value = float {3}>() a = Constant<value = float {1}>() y = Tile(x, t, a)"),
    *((6, X, f'y = Upsample<height_scale = {h}, width_scale = {w}, mode = "{mode}">(x)') for h, w in ((2.0, 3.0), (1.5, 1.0)) for mode in ("nearest", "bilinear")),
    (1, X, "y = LpPool<kernel_shape = [2, 3], p = 3.0>(x)"), (1, X, "y = GlobalLpPool<p = 1.0>(x)"), (1, X, "y = Reshape<shape = [0, -1]>(x)"), (1, X, "y = Concat(x, x)"),
    *((opset, "float[4, 2, 3] x, " + CELL.format(g=gates * 2, b=gates * 4), f"y, z = {op}<hidden_size = 2, output_sequence = 1>(x, w, r, b)") for op, gates in (("LSTM", 4), ("GRU", 3), ("RNN", 1))
      for opset in (1, 6)),
]


def numbers(model):
    made = np.random.default_rng(1)
    return {i.name: made.normal(size=[d.dim_value for d in i.type.tensor_type.shape.dim]).astype(np.float32) for i in model.graph.input}


@pytest.mark.parametrize("to", [7, 13, 21])
@pytest.mark.parametrize("opset, inputs, nodes", NODES, ids=[f"{o}-{n}" for o, _, n in NODES])
def test_as_upgraded(opset, inputs, nodes, to):
    outputs = "float[] y, float[] z" if "y, z = " in nodes else "float[] y"
    model = onnx.parser.parse_model(f'<ir_version: 3, opset_import: ["": {opset}]> g ({inputs}) => ({outputs}) {{ {nodes} }}')
    for output in model.graph.output:
        output.type.tensor_type.ClearField("shape")
    feeds = numbers(model)
    old = qrewrite.run(model, feeds, runtime="builtin")
    upgraded, report = qrewrite.rewrite(model, "opset_upgrade", params={"to": to})
    session = ort.InferenceSession(upgraded.SerializeToString(), providers=["CPUExecutionProvider"])
    new = dict(zip([o.name for o in session.get_outputs()], session.run(None, feeds), strict=True))
    assert old.keys() == new.keys() and (np.size(np.unique(old["y"])) > 1 or "Div(x, x)" in nodes)
    for name, array in old.items():
        assert array.shape == new[name].shape and array.dtype == new[name].dtype
        np.testing.assert_allclose(array, new[name], rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("opset, inputs, nodes, reason", [
    (6, f"{X}, float[3] c", "y = Add(x, c)", "without broadcast"), (6, f"{X}, float[3] c", "y = Add<broadcast = 1>(x, c)", "from axis 3 on"),
    (6, X, "y = Dropout(x)", "in training"), (1, X, "y = Cast<to = \"INT\">(x)", "to type `INT`"), (6, f"{X}, float[5] c", "y = Sum(x, c)", "Sum of"),
    (1, X, "y = Upsample<height_scale = 0.5, width_scale = 1.0>(x)", "by 0.5 and 1"),
])
def test_what_is_no_old_model(opset, inputs, nodes, reason):
    model = onnx.parser.parse_model(f'<ir_version: 3, opset_import: ["": {opset}]> g ({inputs}) => (float[] y) {{ {nodes} }}')
    with pytest.raises(qrewrite.Error, match=reason):
        qrewrite.run(model, numbers(model), runtime="builtin")
