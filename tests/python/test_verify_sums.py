"""Sums of 8 bit products, which ONNX Runtime saturates on processors without VNNI: no difference of the models."""
import numpy as np
import onnx
import onnx.parser
import pytest
from onnx import numpy_helper

from test_verify import folder, run  # noqa: F401


@pytest.mark.parametrize("wrong", [False, True])
def test_products_of_8_bits_that_no_other_runtime_has(folder, wrong):
    """Without VNNI ONNX Runtime saturates the sums of DynamicQuantizeLSTM, for which the library has no kernel: that is no fault of a rewrite."""
    r = np.random.default_rng(0)
    weights = [r.uniform(-0.4, 0.4, s).astype(np.float32) for s in ((1, 32, 16), (1, 32, 8))]
    steps = [np.abs(w).max(keepdims=True)[:, 0, 0] / 127 for w in weights]
    stored = [np.rint(w / s).astype(np.int8).transpose(0, 2, 1) for w, s in zip(weights, steps, strict=True)]
    inputs = dict(zip(["w", "r", "ws", "rs", "z"], [*stored, *steps, np.zeros(1, np.int8)], strict=True))
    lstm = onnx.helper.make_node("DynamicQuantizeLSTM", ["x", "w", "r", "", "", "", "", "", "ws", "z", "rs", "z"], ["y"], domain="com.microsoft", hidden_size=8)
    shape = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph([lstm], "g", [shape("x", 1, [6, 1, 16])], [shape("y", 1, [6, 1, 1, 8])], [numpy_helper.from_array(v, n) for n, v in inputs.items()])
    model = onnx.helper.make_model(graph, ir_version=8, opset_imports=[onnx.helper.make_opsetid("", 17), onnx.helper.make_opsetid("com.microsoft", 1)])
    onnx.save(model, folder / "lstm.onnx")
    code, out, err = run(folder, "--rules", "ezkl_dequant", "--verify", "lstm.onnx", "-o", "lstm_float.onnx")
    assert code == 0 and ("saturates sums of 8 bit products" in err or "WITHIN" in err), err
    if wrong:
        float_model = onnx.load(folder / "lstm_float.onnx")
        for t in float_model.graph.initializer:
            t.CopyFrom(numpy_helper.from_array(-numpy_helper.to_array(t), t.name))
        onnx.save(float_model, folder / "wrong.onnx")
        code, out, err = run(folder, "verify", "--tol", "sqnr:30", "lstm.onnx", "wrong.onnx")
        assert code == 1 and "DIVERGED" in out


def test_sums_that_a_processor_cuts_off_are_no_difference(folder):
    """The kernels run both models; the weights are the largest there are, so that ONNX Runtime without VNNI saturates most sums of the first."""
    weight = np.where(np.random.default_rng(0).random((64, 8)) < 0.5, -127, 127).astype(np.int8)
    model = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["": 13]> g (float[4,64] x) => (float[4,8] y) <int8 wz = {0}, float ws = {0.01}> {
        q, s, z = DynamicQuantizeLinear(x)  i = MatMulInteger(q, w, z, wz)  f = Cast<to = 1>(i)  k = Mul(s, ws)  y = Mul(f, k) }""")
    model.graph.initializer.append(numpy_helper.from_array(weight, "w"))
    onnx.save(model, folder / "sums.onnx")
    code, _, err = run(folder, "--rules", "unsigned_weights", "--verify", "sums.onnx", "-o", "sums_unsigned.onnx")
    assert code == 0 and ("saturates sums of 8 bit products" in err or "EXACT" in err), err
    other = onnx.load(folder / "sums_unsigned.onnx")
    for t in other.graph.initializer:
        if list(t.dims) == [64, 8]:
            numbers = numpy_helper.to_array(t).copy()
            numbers[0, 0] ^= 64
            t.CopyFrom(numpy_helper.from_array(numbers, t.name))
    onnx.save(other, folder / "sums_wrong.onnx")
    code, out, _ = run(folder, "verify", "sums.onnx", "sums_wrong.onnx")
    assert code == 1 and "DIVERGED" in out
