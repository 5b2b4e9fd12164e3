"""qrewrite debug on quantizers of producers' own domains, which no runtime has: QONNX's, OpenVINO's, AMD Quark's."""
import numpy as np
import onnx
import pytest
from debug_models import images, node, save, sqnr
from test_debug import debug, folder, near, rows, run  # noqa: F401 (a fixture)

DOMAINS = {"qonnx": "qonnx.custom_op.general", "openvino": "org.openvinotoolkit", "quark": "com.amd.quark"}
RULES = {"qonnx": "qonnx_to_qdq", "openvino": "custom_quantizers", "quark": "custom_quantizers"}
STEPS = {"x": np.float32(1 / 32), "t": np.float32(1 / 2), "v": np.float32(1 / 16)}


def quantizer(kind, name, bits, signed):
    """Nodes that quantize a value and make it real again, and their constants."""
    step = np.asarray(STEPS[name], np.float32)
    lo, hi = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2 ** bits - 1)
    operands, attributes = {"qonnx": ([step, np.float32(0), np.float32(bits)], {"signed": signed, "rounding_mode": "ROUND"}),
                            "openvino": ([lo * step, hi * step] * 2, {"levels": 2 ** bits}),
                            "quark": ([step, np.int8(0) if signed else np.uint8(0)], {})}[kind]
    names = [f"{name}_{i}" for i in range(len(operands))]
    constants = {n: np.asarray(v, v.dtype) for n, v in zip(names, operands)}
    if kind == "quark":
        return [node("ExtendedQuantizeLinear", [name, *names], name + "_q"), node("ExtendedDequantizeLinear", [name + "_q", *names], name + "_quant")], constants
    return [node({"qonnx": "Quant", "openvino": "FakeQuantize"}[kind], [name, *names], name + "_quant", **attributes)], constants


@pytest.mark.parametrize("kind", DOMAINS)
def test_quantizers_of_other_domains(folder, kind):
    """They are measured as ONNX's quantizers, and the proposed command makes these first."""
    r = np.random.default_rng(6)
    w, v = (r.normal(size=s).astype(np.float32) for s in ((12, 12), (12, 5)))
    save("float.onnx", [node("MatMul", ["x", "w"], "m"), node("Relu", ["m"], "t"), node("MatMul", ["t", "v"], "y")], {"w": w, "v": v}, {"x": [1, 12]}, ["y"])
    of_x, constants = quantizer(kind, "x", 8, 1)
    of_t, more = quantizer(kind, "t", 8, 0)
    of_v, weights = quantizer(kind, "v", 8, 1)
    if kind == "openvino":  # weights are spelled out in float operators there: no integers are stored
        of_v, weights = [node("Identity", ["v"], "v_quant")], {}
    save("quant.onnx", [*of_x, node("MatMul", ["x_quant", "w"], "m"), node("Relu", ["m"], "t"), *of_t, *of_v, node("MatMul", ["t_quant", "v_quant"], "y")],
         {"w": w, "v": v, **constants, **more, **weights}, {"x": [1, 12]}, ["y"])
    model = onnx.load("quant.onnx")
    for n in model.graph.node:
        if n.op_type in ("Quant", "FakeQuantize", "ExtendedQuantizeLinear", "ExtendedDequantizeLinear"):
            n.domain = DOMAINS[kind]
    model.opset_import.append(onnx.helper.make_opsetid(DOMAINS[kind], 1))
    onnx.save(model, "quant.onnx")
    inputs = {"x": images((4, 12))}
    np.savez("inputs.npz", **inputs)
    report = debug("--suggest", "1", "--validate")
    assert report["run"]["form_rules"] == [RULES[kind]] and any(f"`{RULES[kind]}`" in note for note in report["run"]["notes"])
    assert report["run"]["matched"] == report["run"]["quantized_values"] == (2 if kind == "openvino" else 3)
    x = inputs["x"]
    assert near(rows(report)["x"]["local_sqnr_db"], sqnr(x, np.clip(np.rint(x * 32), -128, 127) / 32))
    if kind != "openvino":
        assert near(rows(report, "weights")["v"]["weight_sqnr_db"], sqnr(v, np.clip(np.rint(v * 16), -128, 127) / 16))
    assert report["suggestions"][0]["gained_db"] is not None
    text, _ = run("--float", "float.onnx", "--quant", "quant.onnx", "--inputs", "inputs.npz", "--suggest", "1")
    assert f"qrewrite --rules {RULES[kind]} --rules strip_qdq --set 'nodes=" in text
