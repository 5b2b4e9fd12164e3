"""qrewrite debug where a number or a value cannot be had: overflow in half precision, zeros, bodies of If and Loop."""
from pathlib import Path

import numpy as np
import onnx
import pytest
from debug_models import images, node, save
from onnx import TensorProto, helper, numpy_helper
from test_debug import ENVIRONMENT, debug, folder, rows, run  # noqa: F401 (a fixture)

BUILTIN = {**ENVIRONMENT, "QREWRITE_ORT": ""}
SCALES = {"s": np.array(0.05, np.float32), "z": np.array(0, np.int8)}


def write(path, nodes, constants, kind=TensorProto.FLOAT):
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", kind, [1, 8])], [helper.make_tensor_value_info("y", kind, None)],
                              [numpy_helper.from_array(v, n) for n, v in constants.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9), path)


def quantizers(name):
    """`name` through a pair of quantizers: its nodes; what comes out is `name`_d."""
    return [node("QuantizeLinear", [name, "s", "z"], name + "_q"), node("DequantizeLinear", [name + "_q", "s", "z"], name + "_d")]


# --- no finite number, and no reference to divide by (../spec/debug_verify.md, A3, row 10)

@pytest.mark.parametrize("runtime", ["ort", "builtin"])
@pytest.mark.parametrize("compat", [[], ["--compat", "ort"]], ids=["ours", "like_ort"])
def test_overflow_of_half_precision(folder, runtime, compat):
    """The float model is finite, the quantized one in half precision is not: null in the JSON, no class that calls it good."""
    save("float.onnx", [node("Mul", ["x", "big"], "m"), node("Neg", ["m"], "y")], {"big": np.array(60000, np.float32)}, {"x": [1, 8]}, ["y"])
    half = [node("Cast", ["x"], "h", to=TensorProto.FLOAT16), node("Mul", ["h", "big"], "m"), *quantizers("m"), node("Neg", ["m_d"], "n"),
            node("Cast", ["n"], "y", to=TensorProto.FLOAT)]
    write("quant.onnx", half, {"big": np.array(60000, np.float16), "s": np.array(1000, np.float16), "z": np.array(0, np.int8)})
    np.savez("inputs.npz", x=images((4, 8)) * 4)
    report = debug("--runtime", runtime, *compat, env=BUILTIN if runtime == "builtin" else ENVIRONMENT)
    row = rows(report)["m"]
    assert row["status"] == "nonfinite" and row["local_sqnr_db"] is None
    assert row["class"] != "healthy"


def test_an_infinite_value_has_no_class(folder):
    save("float.onnx", [node("Log", ["x"], "l"), node("Neg", ["l"], "y")], {}, {"x": [1, 8]}, ["y"])
    write("quant.onnx", [node("Log", ["x"], "l"), *quantizers("l"), node("Neg", ["l_d"], "y")], SCALES)
    np.savez("inputs.npz", x=np.zeros((2, 8), np.float32))
    row = rows(debug())["l"]
    assert row["status"] == "nonfinite" and row["cumulative_sqnr_db"] is None and row["class"] is None


def test_zeros_in_the_float_model_alone(folder):
    """No number of dB says how far anything is from nothing; ORT's -324 comes only if asked for, and a limit is not met."""
    save("float.onnx", [node("Mul", ["x", "k"], "m"), node("Neg", ["m"], "y")], {"k": np.zeros(1, np.float32)}, {"x": [1, 8]}, ["y"])
    write("quant.onnx", [node("Mul", ["x", "k"], "m"), *quantizers("m"), node("Neg", ["m_d"], "y")], {**SCALES, "k": np.ones(1, np.float32)})
    np.savez("inputs.npz", x=images((4, 8)))
    report = debug()
    row = rows(report)["m"]
    assert row["status"] == "zero_signal" and row["cumulative_sqnr_db"] is None and row["local_sqnr_db"] > 20
    assert row["class"] is None
    assert report["model_outputs"] == [{"output_name": "y", "cumulative_sqnr_db": None, "status": "zero_signal"}]
    assert report["summary"]["cumulative"]["count"] == 0
    assert rows(debug("--compat", "ort"))["m"]["cumulative_sqnr_db"] < -300
    run("--float", "float.onnx", "--quant", "quant.onnx", "--inputs", "inputs.npz", "--fail-under", -400, code=1)


# --- bodies

def branches(path, quantized, outside=True):
    """An If whose first branch has a Relu, and an Abs of what comes out; quantizers in the branch and outside."""
    inside = [node("Relu", ["x"], "r"), *(quantizers("r") if quantized else []), node("Neg", ["r_d" if quantized else "r"], "t")]
    then = helper.make_graph(inside, "then", [], [helper.make_tensor_value_info("t", TensorProto.FLOAT, None)])
    other = helper.make_graph([node("Neg", ["x"], "e")], "else", [], [helper.make_tensor_value_info("e", TensorProto.FLOAT, None)])
    outside = quantized and outside
    write(path, [node("If", ["c"], "i", then_branch=then, else_branch=other), *(quantizers("i") if outside else []),
                 node("Abs", ["i_d" if outside else "i"], "y")], {**SCALES, "c": np.array(True)})


@pytest.mark.parametrize("outside", [True, False], ids=["also_outside", "only_inside"])
def test_values_of_bodies_are_left_out_and_it_is_said(folder, outside):
    branches("float.onnx", False)
    branches("quant.onnx", True, outside)
    np.savez("inputs.npz", x=images((4, 8)))
    report = debug("--isolate")
    assert [n for n in report["run"]["notes"] if "inside If, Loop and Scan are left out" in n and n.endswith(": 1")]
    assert len(report["run"]["notes"]) == 1 and set(rows(report)) <= {"i", "y"}
    assert 20 < rows(report)["i"]["cumulative_sqnr_db"] < 50
    assert 20 < report["model_outputs"][0]["cumulative_sqnr_db"] < 50
    text, _ = run("--float", "float.onnx", "--quant", "quant.onnx", "--inputs", "inputs.npz", "--html", "page.html")
    assert "\nnote: quantized values inside If, Loop and Scan are left out" in text
    assert "inside If, Loop and Scan are left out" in Path("page.html").read_text()
