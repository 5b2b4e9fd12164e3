"""qrewrite debug on models with one fault: the operator that is to blame is named first, and nobody else is."""
import json
import shlex

import numpy as np
import onnx
import pytest
from debug_models import QuantType, images, node, quantize, quantize_at_run_time, rng, save
from onnx import numpy_helper
from test_debug import debug, folder, rows, run  # noqa: F401 (a fixture)

PADS = {"pads": [1, 1, 1, 1]}


def weight(seed, *shape, size=0.3):
    return (rng(seed).normal(size=shape) * size).astype(np.float32)


def change(path, **factors):
    """Multiplies stored constants."""
    model = onnx.load(path)
    for tensor in model.graph.initializer:
        if tensor.name in factors:
            tensor.CopyFrom(numpy_helper.from_array((numpy_helper.to_array(tensor) * factors[tensor.name]).astype(np.float32), tensor.name))
    onnx.save(model, path)


def first_suggestion(*options):
    report = debug("--isolate", "--suggest", "1", "--validate", *options)
    return report, report["suggestions"][0]


@pytest.mark.parametrize("static", [True, False], ids=["static", "run_time"])
def test_a_weight_of_the_last_layer(folder, static):
    """No quantizer is behind it."""
    save("float.onnx", [node("MatMul", ["x", "w1"], "h"), node("Tanh", ["h"], "t"), node("MatMul", ["t", "w2"], "y")],
         {"w1": weight(1, 16, 16), "w2": weight(2, 16, 8)}, {"x": [1, 16]}, ["y"])
    inputs = {"x": images((4, 16))}
    np.savez("inputs.npz", **inputs)
    if static:
        quantize("float.onnx", "quant.onnx", inputs, op_types_to_quantize=["MatMul"], extra_options={"OpTypesToExcludeOutputQuantization": ["MatMul"]})
    else:
        quantize_at_run_time("float.onnx", "quant.onnx")
    assert all(row["op_sqnr_db"] > 35 for row in debug("--isolate")["activations"])
    change("quant.onnx", w2_scale=3)
    report, suggestion = first_suggestion()
    assert rows(report)["y"]["class"] == "originator" and rows(report)["y"]["op_sqnr_db"] < 0 and rows(report)["t"]["op_sqnr_db"] > 35
    assert suggestion["nodes"] == ["MatMul_y"] and suggestion["gained_db"] > 40


@pytest.mark.parametrize("bad", ["a", "b"])
def test_products_that_meet_before_the_next_quantizer(folder, bad):
    save("float.onnx", [node("MatMul", ["x", "wa"], "a"), node("MatMul", ["x", "wb"], "b"), node("Mul", ["a", "b"], "m"), node("MatMul", ["m", "wo"], "y")],
         {"wa": weight(1, 16, 16), "wb": weight(2, 16, 16), "wo": weight(3, 16, 8)}, {"x": [1, 16]}, ["y"])
    np.savez("inputs.npz", x=images((4, 16)))
    quantize_at_run_time("float.onnx", "quant.onnx")
    change("quant.onnx", **{f"w{bad}_scale": 3})
    report, suggestion = first_suggestion()
    assert [name for name, row in rows(report).items() if row["op_sqnr_db"] < 35] == [bad] and rows(report)[bad]["class"] == "originator"
    assert suggestion["nodes"] == [f"MatMul_{bad}"] and suggestion["gained_db"] > 40


def test_a_chain_without_quantizers_inside(folder):
    """Both ends of the chain are left in float: the quantizer that is to blame is behind the last of it."""
    save("float.onnx", [node("MatMul", ["x", "w"], "a"), node("Tanh", ["a"], "t"), node("Add", ["t", "k"], "b"), node("MatMul", ["b", "v"], "y")],
         {"w": weight(1, 12, 12), "k": weight(2, 12), "v": weight(3, 12, 6)}, {"x": [1, 12]}, ["y"])
    inputs = {"x": images((4, 12))}
    np.savez("inputs.npz", **inputs)
    quantize("float.onnx", "quant.onnx", inputs, op_types_to_quantize=["MatMul"], extra_options={"OpTypesToExcludeOutputQuantization": ["MatMul"]})
    change("quant.onnx", b_scale=1 / 6)
    _, suggestion = first_suggestion()
    assert suggestion["quantized_nodes"] == ["MatMul_a", "Add_b"] and suggestion["gained_db"] > 30


def test_inputs_without_error(folder):
    """Pixels in a quantizer of scale 1: what the first layer loses is all its own, and comes before what a healthy one loses."""
    save("float.onnx", [node("Conv", ["x", "w1"], "c", **PADS), node("LeakyRelu", ["c"], "r", alpha=0.1), node("Conv", ["r", "w2"], "y", **PADS)],
         {"w1": weight(1, 8, 3, 3, 3, size=0.02), "w2": weight(2, 4, 8, 3, 3, size=0.2) * np.array([1, 0.02, 1, 1], np.float32).reshape(4, 1, 1, 1)}, {"x": [1, 3, 8, 8]}, ["y"])
    pixels = np.round(rng(3).uniform(0, 255, size=(4, 3, 8, 8))).astype(np.float32)
    pixels[:, 0, 0, :2] = [0, 255]
    np.savez("inputs.npz", x=pixels)
    quantize("float.onnx", "quant.onnx", {"x": pixels})
    change("quant.onnx", w1_scale=3)
    report, suggestion = first_suggestion()
    assert rows(report)["c"]["drop_db"] is None and suggestion["tensor_name"] == "c" and suggestion["gained_db"] > 30


@pytest.mark.parametrize("first", ["Relu", "Clip"])
def test_a_relu6_in_two_nodes(folder, first):
    clip, relu = ("Clip", ["{}", "", "hi"]), ("Relu", ["{}"])
    (op, inputs), (other, others) = (clip, relu) if first == "Clip" else (relu, clip)
    save("float.onnx", [node("Conv", ["x", "w1"], "c", **PADS), node(op, [i.format("c") for i in inputs], "r"), node(other, [i.format("r") for i in others], "r6"),
                        node("Conv", ["r6", "w2"], "y", **PADS)],
         {"w1": weight(1, 8, 3, 3, 3, size=0.9), "w2": weight(2, 4, 8, 3, 3, size=0.9), "hi": np.array(6, np.float32)}, {"x": [1, 3, 8, 8]}, ["y"])
    inputs = {"x": images() * 2}
    np.savez("inputs.npz", **inputs)
    quantize("float.onnx", "quant.onnx", inputs)
    assert [n.op_type for n in onnx.load("quant.onnx").graph.node].count(first) == 0
    row = rows(debug())["r6"]
    assert row["local_sqnr_db"] > 50 and row["class"] == "healthy"


def test_a_clip_behind_a_quantizer(folder):
    """Symmetric int8 keeps the Clip, and gives what is in front the range of it: what the quantizer cuts off the Clip would."""
    save("float.onnx", [node("Conv", ["x", "w1"], "c", **PADS), node("Clip", ["c", "lo", "hi"], "r6"), node("Conv", ["r6", "w2"], "y", **PADS)],
         {"w1": weight(1, 8, 3, 3, 3, size=0.9), "w2": weight(2, 4, 8, 3, 3, size=0.9), "lo": np.array(0, np.float32), "hi": np.array(6, np.float32)}, {"x": [1, 3, 8, 8]}, ["y"])
    inputs = {"x": images() * 2}
    np.savez("inputs.npz", **inputs)
    quantize("float.onnx", "quant.onnx", inputs, activation_type=QuantType.QInt8, extra_options={"ActivationSymmetric": True})
    for options in ([], ["--isolate"]):
        row = rows(debug(*options))["c"]
        assert row["local_sqnr_db"] < 15 and row["read_behind"] == "Clip" and row["class"] == "healthy"
    change("quant.onnx", c_scale=1 / 4)
    assert rows(debug("--isolate"))["c"]["class"] == "originator"


def test_the_bounds_of_a_clip_that_a_bad_quantizer_stands_for(folder):
    save("float.onnx", [node("Conv", ["x", "w1"], "c", **PADS), node("Clip", ["c", "lo", "hi"], "r6"), node("Conv", ["r6", "w2"], "y", **PADS)],
         {"w1": weight(1, 8, 3, 3, 3, size=0.9), "w2": weight(2, 4, 8, 3, 3, size=0.9), "lo": np.array(0, np.float32), "hi": np.array(6, np.float32)}, {"x": [1, 3, 8, 8]}, ["y"])
    inputs = {"x": images() * 2}
    np.savez("inputs.npz", **inputs)
    quantize("float.onnx", "quant.onnx", inputs)
    change("quant.onnx", r6_scale=1 / 6)
    _, suggestion = first_suggestion()
    assert suggestion["tensor_name"] == "r6" and suggestion["gained_db"] > 30


def test_names_that_are_printed(folder):
    """As one word of a shell; a node without a name is none that `nodes_to_exclude` knows."""
    save("float.onnx", [onnx.helper.make_node("MatMul", ["x", "w"], ["h"], name="it's/a $b"), onnx.helper.make_node("MatMul", ["h", "v"], ["y"])],
         {"w": weight(1, 8, 8), "v": weight(2, 8, 4)}, {"x": [1, 8]}, ["y"])
    inputs = {"x": images((4, 8))}
    np.savez("inputs.npz", **inputs)
    quantize("float.onnx", "quant.onnx", inputs)
    change("quant.onnx", w_scale=3, v_scale=3)
    text, _ = run("--float", "float.onnx", "--quant", "quant.onnx", "--inputs", "inputs.npz", "--isolate", "--suggest", "2")
    [command] = [line for line in text.splitlines() if "--set" in line]
    assert r"it\'s\/a\ \$b" in shlex.split(command)[-2]
    report = debug("--isolate", "--suggest", "2")
    assert any("the node that makes `y` has no name" in note for note in report["run"]["notes"])


def test_values_that_are_no_tensors_of_numbers(folder):
    """A sequence inside: the weight in front of it is found nevertheless."""
    split = [onnx.helper.make_node("SplitToSequence", ["m"], ["s"], name="split", axis=1, keepdims=1), onnx.helper.make_node("ConcatFromSequence", ["s"], ["j"], name="join", axis=1)]
    behind = [*split, node("MatMul", ["j", "v"], "y")]
    weights = {"w": weight(1, 8, 8), "v": weight(2, 8, 4)}
    save("float.onnx", [node("MatMul", ["x", "w"], "m"), *behind], weights, {"x": [1, 8]}, ["y"])
    step = np.float32(np.abs(weights["w"]).max() / 127)
    stored = {"w_q": np.rint(weights["w"] / step).astype(np.int8), "s_w": np.array(3 * step, np.float32), "z": np.array(0, np.int8), "v": weights["v"]}
    save("quant.onnx", [node("DequantizeLinear", ["w_q", "s_w", "z"], "w_d"), node("MatMul", ["x", "w_d"], "m"), *behind], stored, {"x": [1, 8]}, ["y"])
    np.savez("inputs.npz", x=images((4, 8)))
    report = debug("--suggest", "1")
    assert report["suggestions"][0]["nodes"] == ["MatMul_m"]
    assert json.loads(run("--float", "float.onnx", "--quant", "quant.onnx", "--inputs", "inputs.npz", "--json")[0])["model_outputs"][0]["output_name"] == "y"
