"""qrewrite debug where a number or a value cannot be had: overflow in half precision, zeros, bodies of If and Loop."""
import json
import re
from pathlib import Path

import numpy as np
import onnx
import pytest
from debug_models import QuantFormat, images, node, pair, quantize, save, sqnr
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
    np.savez("inputs.npz", x=np.eye(2, 8, dtype=np.float32))
    row = rows(debug())["l"]
    assert row["status"] == "nonfinite" and row["cumulative_sqnr_db"] is None and row["class"] is None
    np.savez("inputs.npz", x=np.zeros((2, 8), np.float32))
    _, error = run("--float", "float.onnx", "--quant", "quant.onnx", "--inputs", "inputs.npz", code=3)
    assert "on these samples the float model gives NaN or infinity alone: nothing can be measured" in error


@pytest.mark.parametrize("isolate", [[], ["--isolate"]], ids=["cumulative", "isolate"])
def test_a_scale_of_nan(folder, isolate):
    """The quantizer that makes NaN of numbers is to blame, comes first in every table and is suggested first."""
    save("float.onnx", [node("Exp", ["x"], "e"), node("Neg", ["e"], "n"), node("Abs", ["n"], "y")], {}, {"x": [1, 8]}, ["y"])
    pair = [node("QuantizeLinear", ["n", "nan", "z"], "n_q"), node("DequantizeLinear", ["n_q", "nan", "z"], "n_d")]
    nodes = [node("Exp", ["x"], "e"), *quantizers("e"), node("Neg", ["e_d"], "n"), *pair, node("Abs", ["n_d"], "y")]
    write("quant.onnx", nodes, {**SCALES, "nan": np.array(np.nan, np.float32)})
    np.savez("inputs.npz", x=images((4, 8)))
    options = ["--float", "float.onnx", "--quant", "quant.onnx", "--inputs", "inputs.npz", *isolate, "--suggest", 1]
    report, _ = run(*options, "--json")
    row = rows(json.loads(report))["n"]
    assert (row["class"], row["status"], row["local_sqnr_db"]) == ("originator", "nonfinite", None)
    assert json.loads(report)["suggestions"][0]["tensor_name"] == "n"
    table, _ = run(*options)
    assert re.search(r"Worst local SQNR\n.*\n +1 +nonfinite +n\n", table), table
    _, error = run(*options, "--runtime", "builtin", code=5, env=BUILTIN)    # the kernels quantize no NaN
    assert "QuantizeLinear `QuantizeLinear_n_q`: NaN cannot be quantized" in error


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

def value(name, kind=TensorProto.FLOAT, shape=None):
    return helper.make_tensor_value_info(name, kind, shape)


def loop(v, result, quantized):
    """A Loop of one step around an Abs between quantizers."""
    inside = [node("Abs", ["v"], "b"), *(quantizers("b") if quantized else []), node("Neg", ["b_d" if quantized else "b"], "v2"), node("Identity", ["go"], "go2")]
    body = helper.make_graph(inside, "body", [value("n", TensorProto.INT64, []), value("go", TensorProto.BOOL, []), value("v")],
                             [value("go2", TensorProto.BOOL, []), value("v2")])
    return node("Loop", ["one", "", v], result, body=body)


def branches(path, quantized, condition="c", deep=False, overridable=False, loops=False):
    """An If whose first branch has a Relu between quantizers (deep: in an If of its own), and an Abs of what comes out, or a Loop."""
    inside = [node("Relu", ["x"], "r"), *(quantizers("r") if quantized else []), node("Neg", ["r_d" if quantized else "r"], "t")]
    other = helper.make_graph([node("Neg", ["x"], "e")], "else", [], [value("e")])
    if deep:
        second = helper.make_graph([node("Abs", ["x"], "e2")], "else", [], [value("e2")])
        inside = [node("If", ["d"], "u", then_branch=helper.make_graph(inside, "deep", [], [value("t")]), else_branch=second)]
    then = helper.make_graph(inside, "then", [], [value("u" if deep else "t")])
    computed = [node("ReduceMax", ["x"], "most", keepdims=0), node("Greater", ["most", "least"], "g")]
    write(path, [*computed, node("If", [condition], "i", then_branch=then, else_branch=other), *(quantizers("i") if quantized else []),
                 loop("i_d" if quantized else "i", "y", quantized) if loops else node("Abs", ["i_d" if quantized else "i"], "y")],
          {**SCALES, "one": np.array(1, np.int64), "c": np.array(True), "d": np.array(True), "least": np.array(0, np.float32)})
    if overridable:
        model = onnx.load(path)
        model.graph.input.append(value(condition, TensorProto.BOOL, []))
        onnx.save(model, path)


@pytest.mark.parametrize("runtime", ["ort", "builtin"])
@pytest.mark.parametrize("given", [None, True, False], ids=["default", "same", "other"])
def test_a_condition_that_callers_may_override(folder, runtime, given):
    """What the samples say counts, not the initial value."""
    branches("float.onnx", False, overridable=True)
    branches("quant.onnx", True, overridable=True)
    x = images((4, 8))
    np.savez("inputs.npz", x=x, **({} if given is None else {"c": np.full(4, given)}))
    report = debug("--isolate", "--suggest", "1", "--validate", "--runtime", runtime, env=BUILTIN if runtime == "builtin" else ENVIRONMENT)
    assert report["run"]["notes"] == []
    assert set(rows(report)) == ({"i"} if given is False else {"r", "i"})
    if given is False:
        rounded = np.clip(np.rint(x / np.float32(0.05)), -128, 127) * 0.05
        assert abs(report["model_outputs"][0]["cumulative_sqnr_db"] - sqnr(x.astype(float), rounded)) < 0.05


@pytest.mark.parametrize("runtime", ["ort", "builtin"])
@pytest.mark.parametrize("condition, deep", [("c", False), ("g", False), ("g", True)], ids=["constant", "computed", "twice"])
def test_values_of_the_branch_that_is_taken(folder, runtime, condition, deep):
    branches("float.onnx", False, condition, deep)
    branches("quant.onnx", True, condition, deep)
    x = images((4, 8))
    x[:, 0] = 1
    np.savez("inputs.npz", x=x)
    report = debug("--isolate", "--suggest", "1", "--runtime", runtime, env=BUILTIN if runtime == "builtin" else ENVIRONMENT)
    assert report["run"]["notes"] == [] and report["unmatched"] == []
    row = rows(report)["r"]
    relu = np.maximum(x, 0)
    rounded = np.clip(np.rint(relu / np.float32(0.05)), -128, 127) * 0.05
    for number in ("local_sqnr_db", "cumulative_sqnr_db", "op_sqnr_db"):
        assert abs(row[number] - sqnr(relu.astype(float), rounded)) < 0.05
    assert row["node"] == "Relu_r" and row["quantized_node"] == "Relu_r"


def test_values_of_bodies_are_left_out_and_it_is_said(folder):
    """A branch that only some samples take, and a Loop."""
    branches("float.onnx", False, "g", loops=True)
    branches("quant.onnx", True, "g", loops=True)
    x = np.abs(images((4, 8)))
    x[1] *= -1
    np.savez("inputs.npz", x=x)
    report = debug("--isolate")
    assert [n for n in report["run"]["notes"] if "branches that some samples take are left out" in n and n.endswith(": 2")]
    assert len(report["run"]["notes"]) == 1 and set(rows(report)) == {"i"}
    assert 20 < rows(report)["i"]["cumulative_sqnr_db"] < 50
    assert 20 < report["model_outputs"][0]["cumulative_sqnr_db"] < 50
    text, _ = run("--float", "float.onnx", "--quant", "quant.onnx", "--inputs", "inputs.npz", "--html", "page.html")
    assert "\nnote: quantized values inside Loop, Scan and branches" in text
    assert "inside Loop, Scan and branches" in Path("page.html").read_text()


def test_values_that_are_all_in_bodies(folder):
    write("float.onnx", [loop("x", "l", False), node("Neg", ["l"], "y")], {"one": np.array(1, np.int64)})
    write("quant.onnx", [loop("x", "l", True), node("Neg", ["l"], "y")], {**SCALES, "one": np.array(1, np.int64)})
    np.savez("inputs.npz", x=images((4, 8)))
    report = debug("--isolate")
    assert [n.split(": ")[-1] for n in report["run"]["notes"] if "inside Loop, Scan and branches" in n] == ["1"]
    assert 20 < report["model_outputs"][0]["cumulative_sqnr_db"] < 50


# --- functions

@pytest.mark.parametrize("both", [True, False], ids=["in_both", "in_the_float_model"])
def test_values_of_functions(folder, both):
    """The layers of a model are calls of a local function; quantizers stand inside, or the quantizer put the function in place first."""
    def layer(quantized, prefix="", x="v", y="t"):
        r = prefix + "r"
        pair = [node("QuantizeLinear", [r, "s", "z"], r + "_q"), node("DequantizeLinear", [r + "_q", "s", "z"], r + "_d")]
        return [node("Relu", [x], r), *(pair if quantized else []), node("Neg", [r + "_d" if quantized else r], y)]

    def scales():
        return [helper.make_node("Constant", [], [name], value=numpy_helper.from_array(array)) for name, array in SCALES.items()]

    def with_function(path, quantized):
        body = [*(scales() if quantized else []), *layer(quantized)]
        function = helper.make_function("acme", "Layer", ["v"], ["t"], body, [helper.make_opsetid("", 19)])
        graph = helper.make_graph([helper.make_node("Layer", ["x"], ["a"], domain="acme"), node("Abs", ["a"], "b"),
                                   helper.make_node("Layer", ["b"], ["y"], domain="acme")], "g", [value("x", shape=[1, 8])], [value("y")])
        onnx.save(helper.make_model(graph, functions=[function], ir_version=9,
                                    opset_imports=[helper.make_opsetid("", 19), helper.make_opsetid("acme", 1)]), path)

    with_function("float.onnx", False)
    if both:
        with_function("quant.onnx", True)
    else:
        write("quant.onnx", [*layer(True, "one_", "x", "a"), node("Abs", ["a"], "b"), *layer(True, "two_", "b", "y")], SCALES)
    x = images((4, 8))
    np.savez("inputs.npz", x=x)
    report = debug("--isolate")
    assert report["run"]["matched"] == report["run"]["quantized_values"] == 2 and report["run"]["notes"] == []
    first = report["activations"][0]
    relu = np.maximum(x, 0)
    rounded = np.clip(np.rint(relu / np.float32(0.05)), -128, 127) * 0.05
    for number in ("local_sqnr_db", "cumulative_sqnr_db", "op_sqnr_db"):
        assert abs(first[number] - sqnr(relu.astype(float), rounded)) < 0.05


# --- nothing to compare is no success

def test_outputs_that_are_no_numbers(folder):
    def words(path, *front):
        graph = helper.make_graph([*front, node("Cast", ["x"], "y", to=TensorProto.STRING)], "g",
                                  [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 8])], [helper.make_tensor_value_info("y", TensorProto.STRING, None)])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9), path)

    words("float.onnx")
    words("quant.onnx")
    out, error = run("--float", "float.onnx", "--quant", "quant.onnx", code=3)
    assert out == "" and "nothing could be compared" in error


def test_an_output_of_another_size(folder):
    save("float.onnx", [node("Neg", ["x"], "m"), node("Relu", ["m"], "y")], {}, {"x": [1, 8]}, ["y"])
    save("quant.onnx", [node("Neg", ["x"], "m"), node("Concat", ["m", "m"], "y", axis=0)], {}, {"x": [1, 8]}, ["y"])
    np.savez("inputs.npz", x=images((2, 8)))
    report = debug()
    assert "output `y` is not compared: it has another size in the quantized model" in report["run"]["notes"]
    assert (report["run"]["quantized_values"], report["run"]["compared_by_name"]) == (0, 2)
    out, _ = run("--float", "float.onnx", "--quant", "quant.onnx")
    assert "nothing is quantized, 2 values are compared by name" in out


def test_open_sizes_that_must_be_even(folder):
    """What is halved and doubled meets what it was: sizes that every sample runs with."""
    def made(name, between):
        nodes = [node("Relu", ["x"], "a"), *between, node("Resize", ["c", "", "k"], "r", mode="nearest"), node("Concat", ["a", "r"], "y", axis=1)]
        save(name, nodes, {"k": np.array([1, 1, 2, 2], np.float32), **SCALES}, {"x": ["b", 3, "h", "w"]}, ["y"])

    pool = {"kernel_shape": [2, 2], "strides": [2, 2]}
    made("float.onnx", [node("AveragePool", ["a"], "c", **pool)])
    made("quant.onnx", [*quantizers("a"), node("AveragePool", ["a_d"], "c", **pool)])
    report = json.loads(run("--float", "float.onnx", "--quant", "quant.onnx", "--json")[0])
    assert rows(report)["a"]["cumulative_sqnr_db"] > 20


def test_sums_of_integers_are_no_floats_of_that_name(folder):
    """Keras calls the product of integers as it calls that of floats, and its scale lies behind."""
    weights = np.array([[3, -2], [1, 2]], np.int8)
    save("float.onnx", [node("MatMul", ["x", "w"], "p"), node("Relu", ["p"], "y")], {"w": weights * np.float32(0.25)}, {"x": [1, 2]}, ["y"])
    nodes = [node("Round", ["x"], "r"), node("Cast", ["r"], "q", to=TensorProto.INT8), node("MatMulInteger", ["q", "w8"], "p"),
             node("Cast", ["p"], "f", to=TensorProto.FLOAT), node("Mul", ["f", "s"], "m"), node("Relu", ["m"], "y")]
    save("quant.onnx", nodes, {"w8": weights, "s": np.array(0.25, np.float32)}, {"x": [1, 2]}, ["y"])
    np.savez("inputs.npz", x=np.array([[4, 2], [-7, 3]], np.float32))
    report = debug()
    assert report["run"]["compared_by_name"] == 1
    assert "p" not in rows(report)


def test_an_input_is_nothing_that_was_computed(folder):
    """A quantized input is a number also where a weight makes all behind it NaN."""
    broken = {"k": np.array(np.nan, np.float32)}
    save("float.onnx", [node("Mul", ["x", "k"], "m"), node("Neg", ["m"], "y")], broken, {"x": [1, 8]}, ["y"])
    write("quant.onnx", [*quantizers("x"), node("Mul", ["x_d", "k"], "m"), node("Neg", ["m"], "y")], {**SCALES, **broken})
    out, error = run("--float", "float.onnx", "--quant", "quant.onnx", code=3)
    assert out == "" and "the float model gives NaN or infinity alone" in error


def test_inputs_that_fit_one_model_alone(folder):
    """The samples fit the float model: it is the pair that does not belong together."""
    save("float.onnx", [node("Neg", ["x"], "y")], {}, {"x": [1, 3, 8, 8]}, ["y"])
    save("quant.onnx", [node("Abs", ["x"], "y")], {}, {"x": [1, 8]}, ["y"])
    out, error = run("--float", "float.onnx", "--quant", "quant.onnx", code=3)
    assert out == "" and "what the float model takes is not what the quantized model takes: input `x` has shape [1, 8], not [1, 3, 8, 8]" in error


def test_a_bias_that_is_read_with_another_scale(folder):
    """quantize_static with QOperator quantizes a bias once for all its readers, by the scales of the first: the others read something else. The line of the bias is that."""
    r = np.random.default_rng(4)
    weights = {"w": r.normal(size=(6, 4)).astype(np.float32), "b": r.normal(size=4).astype(np.float32)}
    save("float.onnx", [node("Gemm", ["x", "w", "b"], "g"), node("Gemm", ["z", "w", "b"], "h"), node("Concat", ["g", "h"], "y", axis=1)], weights, {"x": [1, 6], "z": [1, 6]}, ["y"])
    inputs = {"x": images((4, 6)), "z": 3 * images((4, 6))}
    np.savez("inputs.npz", **inputs)
    quantize("float.onnx", "quant.onnx", inputs, quant_format=QuantFormat.QOperator)
    scales = [n.input[1] for n in onnx.load("quant.onnx").graph.node if n.op_type == "QGemm"]
    stored = {t.name: numpy_helper.to_array(t) for t in onnx.load("quant.onnx").graph.initializer}
    first, second = (float(stored[s]) for s in scales)
    assert not 0.5 < first / second < 2, "this version of ONNX Runtime no longer does that"
    report = debug("--isolate")
    [bias] = [row for row in report["weights"] if row["weight_name"] == "b"]
    lost = -20 * np.log10(max(abs(1 - second / first), abs(1 - first / second)))
    assert abs(bias["weight_sqnr_db"] - lost) < 1
    # the first reader, whose scales it has, is not blamed for what the second one reads
    assert {row["tensor_name"] for row in report["activations"] if row["class"] == "originator"} & {"g", "h"} == {"h"}


@pytest.mark.parametrize("wrong", ["scale", "zero_point", None])
def test_integers_that_are_read_with_another_scale(folder, wrong):
    """No operator alone loses anything, the output is wrong all the same: a note says where that comes from."""
    pair(folder)
    model = onnx.load("quant.onnx")
    [reader] = [n for n in model.graph.node if n.op_type == "DequantizeLinear" and n.input[0].startswith("a1_")]
    stored = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
    scale, zero = (stored[v] for v in reader.input[1:])
    if wrong is not None:
        values = {"scale": scale * np.float32(3), "zero_point": zero + np.uint8(40)}
        model.graph.initializer.append(numpy_helper.from_array(values[wrong], "planted"))
        reader.input[1 if wrong == "scale" else 2] = "planted"
    onnx.save(model, "quant.onnx")
    notes = [note for note in debug()["run"]["notes"] if "another scale or zero point" in note]
    assert len(notes) == (wrong is not None) and all(reader.output[0] in note and reader.input[0] in note for note in notes)
