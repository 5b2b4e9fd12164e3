"""qrewrite debug on what producers of quantized models do besides quantizing: operators folded into weights, axes in another order, fewer bits."""
import numpy as np
import onnx
import onnxruntime
import pytest
from debug_models import QuantFormat, QuantType, images, node, pair, quantize, quantize_at_run_time, save, sqnr, values_of
from onnx import helper, numpy_helper
from test_debug import debug, folder, near, rows  # noqa: F401 (a fixture)


@pytest.mark.parametrize("kept", [True, False], ids=["same_names", "other_names"])
def test_weights_with_what_follows_folded_in(folder, kept):
    """quant_pre_process and others put a BatchNormalization into the weights before them; the user has the model in front of that."""
    r = np.random.default_rng(3)
    w, shift = (r.normal(size=s).astype(np.float32) for s in ((4, 3, 3, 3), 4))
    scale, mean, variance = np.array([2, 4, 3, 3], np.float32), np.zeros(4, np.float32), np.ones(4, np.float32)
    weights = {"w": w, "scale": scale, "shift": shift, "mean": mean, "variance": variance, "v": r.normal(size=(2, 4, 3, 3)).astype(np.float32)}
    behind = [node("Relu", ["n"], "a"), node("Conv", ["a", "v"], "y")]
    save("float.onnx", [node("Conv", ["x", "w"], "c"), node("BatchNormalization", ["c", "scale", "shift", "mean", "variance"], "n"), *behind], weights,
         {"x": [1, 3, 8, 8]}, ["y"])
    factor = scale / np.sqrt(variance + np.float32(1e-5))
    name = "w" if kept else "fused"
    save("folded.onnx", [node("Conv", ["x", name, "bias"], "n"), *behind], {name: w * factor.reshape(4, 1, 1, 1), "bias": shift, "v": weights["v"]},
         {"x": [1, 3, 8, 8]}, ["y"])
    np.savez("inputs.npz", x=images())
    quantize("folded.onnx", "quant.onnx", {"x": images()}, per_channel=True)
    report = debug("--isolate", "--suggest", "1", "--validate")
    found = {row["quantized_name"]: row for row in report["weights"]}
    weight, bias = found[name + "_quantized"], found["bias_quantized"]
    assert weight["weight_name"] == "w" and weight["folded"] and weight["weight_sqnr_db"] > 40 and weight["min_channel_sqnr_db"] > 35
    assert bias["folded"] and bias["weight_sqnr_db"] > 40 and not found["v_quantized"]["folded"]
    assert report["run"]["matched"] == report["run"]["quantized_values"]
    assert rows(report)["a"]["class"] == "healthy"
    # what is left in float has the folded weight as well: nothing gets worse
    noisy = onnx.load("quant.onnx")
    stored = next(t for t in noisy.graph.initializer if t.name == name + "_quantized")
    stored.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(stored) // 16 * 16, stored.name))
    onnx.save(noisy, "noisy.onnx")
    report = debug("--isolate", "--suggest", "1", "--validate", models=("float.onnx", "noisy.onnx"))
    assert report["suggestions"][0]["tensor_name"] == "a" and report["suggestions"][0]["gained_db"] > 5


@pytest.mark.parametrize("factors", [(4, 3), (3, 4)], ids=["first", "second"])
def test_a_weight_with_two_readers_is_compared_with_the_nearest(folder, factors):
    """Two BatchNormalizations behind convolutions with one weight: it is folded for one of them, whichever comes first."""
    r = np.random.default_rng(3)
    w = r.normal(size=(3, 3, 1, 1)).astype(np.float32)
    ones, zeros = np.ones(3, np.float32), np.zeros(3, np.float32)
    constants = {"w": w, "shift": zeros, "mean": zeros, "variance": ones, "scale1": factors[0] * ones, "scale2": factors[1] * ones}
    nodes = []
    for i, v in ((1, "x"), (2, "a1")):
        nodes += [node("Conv", [v, "w"], f"c{i}"), node("BatchNormalization", [f"c{i}", f"scale{i}", "shift", "mean", "variance"], f"n{i}"),
                  node("Relu", [f"n{i}"], f"a{i}")]
    save("float.onnx", nodes, constants, {"x": [1, 3, 8, 8]}, ["a2"])
    step = np.float32(4 * np.abs(w).max() / 127)
    stored = {"w_quantized": np.rint(4 * w / step).astype(np.int8), "w_scale": step, "w_zero": np.array(0, np.int8), "s": np.array(0.25, np.float32), "z": np.array(0, np.uint8)}
    quantized = [node("DequantizeLinear", ["w_quantized", "w_scale", "w_zero"], "w_d")]
    for i, v in ((1, "x"), (2, "a1_d")):
        quantized += [node("Conv", [v, "w_d"], f"n{i}"), node("Relu", [f"n{i}"], f"a{i}" if i == 1 else "a2_s"),
                      node("QuantizeLinear", [f"a{i}" if i == 1 else "a2_s", "s", "z"], f"a{i}_q"), node("DequantizeLinear", [f"a{i}_q", "s", "z"], "a1_d" if i == 1 else "a2")]
    save("quant.onnx", quantized, stored, {"x": [1, 3, 8, 8]}, ["a2"])
    np.savez("inputs.npz", x=images())
    [weight] = debug()["weights"]
    assert weight["weight_name"] == "w" and weight["folded"] and weight["weight_sqnr_db"] > 35


@pytest.mark.parametrize("wide", [16, 12], ids=["oblong", "square"])
def test_weights_that_were_transposed(folder, wide):
    """A Linear of torch is a Gemm with a transposed weight; quantize_dynamic makes a MatMul of it, with the weight turned."""
    r = np.random.default_rng(2)
    weights = {"w": r.normal(size=(wide, 12)).astype(np.float32), "b": r.normal(size=wide).astype(np.float32), "v": r.normal(size=(5, wide)).astype(np.float32)}
    weights["w"][3] *= 60
    save("float.onnx", [node("Gemm", ["x", "w", "b"], "g", transB=1), node("Sigmoid", ["g"], "s"), node("Gemm", ["s", "v"], "y", transB=1)], weights,
         {"x": [1, 12]}, ["y"])
    quantize_at_run_time("float.onnx", "quant.onnx")
    np.savez("inputs.npz", x=images((4, 12)))
    report = debug("--isolate", "--suggest", "2", "--validate")
    found = rows(report, "weights")
    assert found["w"]["weight_sqnr_db"] > 30 and found["v"]["weight_sqnr_db"] > 30 and found["w"]["min_channel_sqnr_db"] < 20
    assert report["suggestions"][0]["gained_db"] > 3


def test_axes_in_another_order(folder):
    """ONNX Runtime's optimiser puts the axes of what convolutions read last, and what is between them stays so: what is compared has one order."""
    inputs = pair(folder, options={"quant_format": QuantFormat.QOperator})
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level, options.optimized_model_filepath = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL, "saved.onnx"
    onnxruntime.InferenceSession("quant.onnx", options, providers=["CPUExecutionProvider"])
    saved = onnx.load("saved.onnx")
    channels_last = [n for n in saved.graph.node if any(a.name == "channels_last" and a.i for a in n.attribute)]
    assert len(channels_last) == 2, "this version of ONNX Runtime no longer does that"
    before, after = debug("--isolate"), debug("--isolate", models=("float.onnx", "saved.onnx"))
    assert after["unmatched"] == [] and after["run"]["matched"] == after["run"]["quantized_values"]
    old, new = rows(before), rows(after)
    assert set(old) == set(new) == {"x", "c1", "a1", "c2", "a2", "y"}
    moved = 0
    for name, row in new.items():
        for key in ("cumulative_sqnr_db", "op_sqnr_db", "cumulative_min_channel_sqnr_db", "op_min_channel_sqnr_db"):
            assert near(row[key], old[name][key], 0.5), (name, key)
        assert row["class"] == old[name]["class"] and row["op_type"] == old[name]["op_type"]
        moved += row["quantized_name"] != old[name]["quantized_name"]
    assert moved and len(inputs["x"]) == 4


@pytest.mark.parametrize("words", [5, 4], ids=["sizes_tell", "sizes_do_not_tell"])
def test_what_quant_pre_process_moves_and_reshapes(folder, words):
    """ONNX Runtime moves a Transpose behind Split, whose results keep the node's name, and makes a Gemm between Reshapes of a MatMul and its Add."""
    r, heads = np.random.default_rng(3), 4
    weights = {"w": r.normal(size=(8, 24)).astype(np.float32) / 3, "b": r.normal(size=24).astype(np.float32), "s": np.array(0.05, np.float32), "z": np.array(0, np.int8),
               "flat": np.array([-1, 8], np.int64), "three": np.array([1, words, 24], np.int64), "parts": np.array([1, words, 3, heads, 2], np.int64)}
    turned = {"perm": [2, 0, 3, 1, 4]}

    def split(v, results, axis):
        return onnx.helper.make_node("Split", [v], results, name="Split", axis=axis)

    def quantizers(v):
        return [node("QuantizeLinear", [v, "s", "z"], v + "_q"), node("DequantizeLinear", [v + "_q", "s", "z"], v + "_d")]

    save("float.onnx", [node("MatMul", ["x", "w"], "m"), node("Add", ["m", "b"], "a"), node("Reshape", ["a", "parts"], "r"), node("Transpose", ["r"], "t", **turned),
                        split("t", ["p0", "p1", "p2"], 0), node("Squeeze", ["p0"], "k", axes=[0]), node("Sigmoid", ["k"], "y"), node("Neg", ["p1"], "u"),
                        node("Neg", ["p2"], "v")], weights, {"x": [1, words, 8]}, ["y", "u", "v"], opset=11)
    save("quant.onnx", [*quantizers("x"), node("Reshape", ["x_d", "flat"], "in2"), *quantizers("in2"), node("Gemm", ["in2_d", "w", "b"], "out2"), *quantizers("out2"),
                        node("Reshape", ["out2_d", "three"], "a"), *quantizers("a"), node("Reshape", ["a_d", "parts"], "r"), *quantizers("r"),
                        split("r_d", ["Split0", "Split1", "Split2"], 2), *quantizers("Split0"), node("Transpose", ["Split0_d"], "p0", **turned), *quantizers("p0"),
                        node("Squeeze", ["p0_d"], "k", axes=[0]), *quantizers("k"), node("Sigmoid", ["k_d"], "y"),
                        *quantizers("Split1"), node("Transpose", ["Split1_d"], "p1", **turned), node("Neg", ["p1"], "u"),
                        *quantizers("Split2"), node("Transpose", ["Split2_d"], "other", **turned), node("Neg", ["other"], "v")],
         weights, {"x": [1, words, 8]}, ["y", "u", "v"], opset=11)
    np.savez("inputs.npz", x=images((4, words, 8)))
    report = debug("--isolate")
    assert report["unmatched"] == [] and report["run"]["matched"] == report["run"]["quantized_values"] == 10
    found = {row["quantized_name"]: row for row in report["activations"]}
    assert report["run"]["notes"] == ([] if words == 5 else ["`p2` of the float model has another size than `Split2_q`"])
    if words == 4:
        assert found.pop("Split2_q")["cumulative_sqnr_db"] is None
    assert len(found) > 4 and all(row["cumulative_sqnr_db"] > 25 for row in found.values()), found
    assert rows(report)["a"]["op_sqnr_db"] > 25 and rows(report)["k"]["op_sqnr_db"] is not None


@pytest.mark.parametrize("last", ["ReduceMean", "Squeeze", "Flatten", "Reshape"])
def test_another_order_ends_where_axes_go(folder, last):
    """Behind an operator that makes fewer axes there is no order of four axes, and a Transpose there is one of two."""
    r = np.random.default_rng(1)
    weights = {"w": r.normal(size=(3, 3, 8, 8)).astype(np.float32) / 12, "v": r.normal(size=(3, 4)).astype(np.float32), "s": np.array(0.05, np.float32),
               "z": np.array(0, np.int8), "shape": np.array([1, 3], np.int64), "first": np.array([2, 3], np.int64), "middle": np.array([1, 2], np.int64)}

    def fewer(v, result, channels_last):
        axes = [1, 2] if channels_last else [2, 3]
        if last == "ReduceMean":
            return node(last, [v], result, axes=axes, keepdims=0)
        return node(last, {"Squeeze": [v, "middle" if channels_last else "first"], "Flatten": [v], "Reshape": [v, "shape"]}[last], result)

    def quantizers(v):
        return [node("QuantizeLinear", [v, "s", "z"], v + "_q"), node("DequantizeLinear", [v + "_q", "s", "z"], v + "_d")]

    save("float.onnx", [node("Conv", ["x", "w"], "c"), node("Relu", ["c"], "r"), fewer("r", "m", False), node("MatMul", ["m", "v"], "p"),
                        node("Sigmoid", ["p"], "y")], weights, {"x": [1, 3, 8, 8]}, ["y"])
    save("quant.onnx", [*quantizers("x"), node("Conv", ["x_d", "w"], "c"), node("Transpose", ["c"], "ct", perm=[0, 2, 3, 1]), *quantizers("ct"),
                        node("Relu", ["ct_d"], "rr"), *quantizers("rr"), fewer("rr_d", "mm", True), *quantizers("mm"), node("Transpose", ["mm_d"], "mt", perm=[1, 0]),
                        *quantizers("mt"), node("Transpose", ["mt_d"], "mb", perm=[1, 0]), node("MatMul", ["mb", "v"], "pp"), *quantizers("pp"),
                        node("Sigmoid", ["pp_d"], "y")], weights, {"x": [1, 3, 8, 8]}, ["y"])
    np.savez("inputs.npz", x=images())
    report = debug("--isolate")
    assert report["run"]["notes"] == [] and report["unmatched"] == []
    assert report["run"]["matched"] == report["run"]["quantized_values"] == 6
    found = rows(report)
    assert set(found) == {"x", "c", "r", "m", "p"}  # one row for both that stand for `m`
    for name, row in found.items():
        assert row["op_sqnr_db"] > 15 and row["cumulative_sqnr_db"] > 15, name


def test_saturation_of_fewer_bits_than_the_type(folder):
    """QCDQ: integers clipped to four bits in eight."""
    weights = {"s": np.array(0.25, np.float32), "z": np.array(0, np.int8), "lo": np.array(-8, np.int8), "hi": np.array(7, np.int8)}
    clipped = [node("QuantizeLinear", ["r", "s", "z"], "q"), node("Clip", ["q", "lo", "hi"], "c"), node("DequantizeLinear", ["c", "s", "z"], "d")]
    save("float.onnx", [node("Relu", ["x"], "r"), node("Neg", ["r"], "y")], {}, {"x": [1, 3, 8, 8]}, ["y"])
    save("quant.onnx", [node("Relu", ["x"], "r"), *clipped, node("Neg", ["d"], "y")], weights, {"x": [1, 3, 8, 8]}, ["y"])
    x = images()
    np.savez("inputs.npz", x=x)
    beyond = 100 * np.mean(np.maximum(x, 0) / 0.25 > 7.5)
    assert beyond > 1 and near(rows(debug())["r"]["saturation_pct"], beyond, 1e-3)


def without_names(path, kept=()):
    """The model with other names for all values but inputs, outputs and `kept`, and none for nodes."""
    model = onnx.load(path)
    own = {v.name for v in (*model.graph.input, *model.graph.output)} | set(kept)
    names = {}

    def name(old):
        return old if old in own or not old else names.setdefault(old, f"v{len(names)}")

    for n in model.graph.node:
        n.name = ""
        n.input[:] = [name(v) for v in n.input]
        n.output[:] = [name(v) for v in n.output]
    for tensor in model.graph.initializer:
        tensor.name = name(tensor.name)
    del model.graph.value_info[:]
    onnx.save(model, path)


def test_a_quantizer_for_each_reader_without_names(folder):
    """Each reader of a value may have a pair of its own: each of them is found at its place, not the last one alone."""
    pair(folder, options={"extra_options": {"DedicatedQDQPair": True}})
    named = debug("--isolate")
    without_names("quant.onnx")
    report = debug("--isolate")
    assert not report["unmatched"] and report["run"]["matched"] == named["run"]["matched"] == report["run"]["quantized_values"]
    for name, row in rows(named).items():
        for key in ("local_sqnr_db", "cumulative_sqnr_db", "op_sqnr_db"):
            assert near(rows(report)[name][key], row[key]), (name, key)


def halves(path):
    """Two results of a Split, which differ much."""
    r = np.random.default_rng(5)
    w = (r.normal(size=(6, 3, 3, 3)) * np.array([1, 1, 1, 20, 20, 20]).reshape(6, 1, 1, 1)).astype(np.float32)
    return save(path, [node("Conv", ["x", "w"], "c"), onnx.helper.make_node("Split", ["c"], ["u", "v"], name="Split_u", axis=1), node("Mul", ["u", "v"], "y")],
                {"w": w}, {"x": [1, 3, 8, 8]}, ["y"])


def test_results_of_one_node_by_its_name(folder):
    """A node's name leads to the result at the same place, not to its first one."""
    inputs = {"x": images()}
    pair(folder, make=halves, inputs=inputs)
    wanted = rows(debug())
    model = onnx.load("quant.onnx")
    keep = [n.name for n in model.graph.node]
    without_names("quant.onnx")
    model = onnx.load("quant.onnx")
    for n, name in zip(model.graph.node, keep):
        n.name = name
    onnx.save(model, "quant.onnx")
    report = rows(debug())
    assert report["v"]["match_method"] == "node"
    for name in ("u", "v"):
        assert near(report[name]["cumulative_sqnr_db"], wanted[name]["cumulative_sqnr_db"]), name


def test_one_of_several_quantizers_stands_for_a_relu(folder):
    """A value and its Relu are quantized, the Relu by its quantizer alone: that one's integers have the name of it."""
    r = np.random.default_rng(5)
    save("float.onnx", [node("Conv", ["x", "w"], "c"), node("Sigmoid", ["c"], "s"), node("Relu", ["c"], "a"), node("Add", ["s", "a"], "y")],
         {"w": r.normal(size=(4, 3, 3, 3)).astype(np.float32)}, {"x": [1, 3, 8, 8]}, ["y"])
    weights = {"w": numpy_helper.to_array(onnx.load("float.onnx").graph.initializer[0]), "s1": np.float32(0.25), "z1": np.uint8(128), "s2": np.float32(0.1), "z2": np.uint8(0)}
    save("quant.onnx", [node("Conv", ["x", "w"], "c"),
                        node("QuantizeLinear", ["c", "s1", "z1"], "c_QuantizeLinear_Output"), node("DequantizeLinear", ["c_QuantizeLinear_Output", "s1", "z1"], "c_DequantizeLinear_Output"),
                        node("QuantizeLinear", ["c", "s2", "z2"], "a_QuantizeLinear_Output"), node("DequantizeLinear", ["a_QuantizeLinear_Output", "s2", "z2"], "a_DequantizeLinear_Output"),
                        node("Sigmoid", ["c_DequantizeLinear_Output"], "s"), node("Add", ["s", "a_DequantizeLinear_Output"], "y")], weights, {"x": [1, 3, 8, 8]}, ["y"])
    inputs = {"x": images()}
    np.savez("inputs.npz", **inputs)
    found = rows(debug())
    assert found["a"]["absorbed"] == "Relu" and found["a"]["absorbed_left_out"] and found["c"]["absorbed"] is None
    values = values_of("quant.onnx", inputs, ["c", "a_DequantizeLinear_Output", "c_DequantizeLinear_Output"])
    relu = np.maximum(values["c"], 0)
    assert near(found["a"]["local_sqnr_db"], sqnr(relu, values["a_DequantizeLinear_Output"]))
    assert near(found["a"]["cumulative_sqnr_db"], sqnr(relu, values["a_DequantizeLinear_Output"]))
    assert near(found["c"]["local_sqnr_db"], sqnr(values["c"], values["c_DequantizeLinear_Output"]))


@pytest.mark.parametrize("form", [QuantFormat.QDQ, QuantFormat.QOperator])
def test_a_table_that_is_gathered_from(folder, form):
    """Rows of a table of integers: ONNX Runtime makes them real behind Gather, so that the table has no DequantizeLinear."""
    r = np.random.default_rng(5)
    table, w = r.normal(size=(20, 8)).astype(np.float32), r.normal(size=(8, 6)).astype(np.float32)
    graph = onnx.helper.make_graph(
        [node("Gather", ["table", "ids"], "rows"), node("MatMul", ["rows", "w"], "y")], "g", [onnx.helper.make_tensor_value_info("ids", onnx.TensorProto.INT64, [1, 5])],
        [onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)], [numpy_helper.from_array(table, "table"), numpy_helper.from_array(w, "w")])
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 13)], ir_version=8), "float.onnx")
    inputs = {"ids": r.integers(0, 20, (4, 5))}
    np.savez("inputs.npz", **inputs)
    quantize("float.onnx", "quant.onnx", inputs, quant_format=form, weight_type=QuantType.QUInt8)
    without_names("quant.onnx")
    report = debug("--isolate")
    stored = {t.name: numpy_helper.to_array(t) for t in onnx.load("quant.onnx").graph.initializer}
    q = next(t for t in stored.values() if t.shape == table.shape).astype(np.float64)
    weight = rows(report, "weights")["table"]
    nearest = max(sqnr(table, (q - z) * s) for z in stored.values() if z.dtype == np.uint8 and z.size == 1 for s in stored.values() if s.dtype == np.float32 and s.size == 1)
    assert near(weight["weight_sqnr_db"], nearest) and not report["unmatched"]
    assert rows(report)["y"]["op_sqnr_db"] > 35


def attention(path):
    r = np.random.default_rng(5)
    weights = {n: (r.normal(size=(8, 8)) / 3).astype(np.float32) for n in ("wq", "wk", "wo")}
    return save(path, [node("MatMul", ["x", "wq"], "q"), node("MatMul", ["x", "wk"], "k"), node("Transpose", ["k"], "t", perm=[0, 2, 1]), node("MatMul", ["q", "t"], "s"),
                       node("Softmax", ["s"], "p", axis=2), node("MatMul", ["p", "q"], "o"), node("MatMul", ["o", "wo"], "y")], weights, {"x": [1, 5, 8]}, ["y"])


def test_products_of_two_values_quantized_at_run_time(folder):
    """Attention: both operands have a range of their own. Without names their operators are found, too, and can be run alone."""
    inputs = {"x": images((4, 5, 8))}
    np.savez("inputs.npz", **inputs)
    onnxruntime.quantization.quantize_dynamic(attention("float.onnx"), "quant.onnx", weight_type=QuantType.QInt8, extra_options={"MatMulConstBOnly": False})
    assert [n.op_type for n in onnx.load("quant.onnx").graph.node].count("MatMulInteger") == 5
    without_names("quant.onnx")
    report = debug("--isolate")
    assert not report["unmatched"] and set(rows(report)) == {"x", "q", "t", "p", "o", "y"}
    assert rows(report)["p"]["op_type"] == "MatMul" and rows(report)["p"]["op_sqnr_db"] > 35


def product_by_hand(path, x, stored, behind, opset=13):
    """Integers of a stored scale through MatMulInteger; `behind`: what is multiplied then."""
    nodes = [node("QuantizeLinear", ["x", "s", "z"], "q"), node("MatMulInteger", ["q", "w_q", "z"], "acc"), node("Cast", ["acc"], "f0", to=onnx.TensorProto.FLOAT)]
    for i, _ in enumerate(behind):
        nodes.append(node("Mul", [f"f{i}", f"k{i}"], "m" if i + 1 == len(behind) else f"f{i + 1}"))
    constants = {"s": np.float32(8 / 255), "z": np.uint8(128), "w_q": stored, **{f"k{i}": k for i, k in enumerate(behind)}}
    return save(path, [*nodes, node("Relu", ["m"], "y")], constants, {"x": [1, 12]}, ["y"], opset=opset)


@pytest.mark.parametrize("apart", [True, False])
@pytest.mark.parametrize("columns", [True, False])
def test_integer_products_with_stored_scales(folder, apart, columns):
    """The stored integers are a weight, whose scale is what is multiplied behind the product without that of the input."""
    w = np.random.default_rng(3).normal(size=(12, 8)).astype(np.float32)
    inputs = {"x": images((4, 12))}
    np.savez("inputs.npz", **inputs)
    save("float.onnx", [node("MatMul", ["x", "w"], "m"), node("Relu", ["m"], "y")], {"w": w}, {"x": [1, 12]}, ["y"])
    scale = (np.abs(w).max(axis=0 if columns else None) / 127).astype(np.float32)
    stored = np.rint(w / scale).astype(np.int8)
    s = np.float32(8 / 255)
    product_by_hand("quant.onnx", "x", stored, [s, scale] if apart else [s * scale])
    report = debug("--isolate")
    weight = rows(report, "weights")["w"]
    assert near(weight["weight_sqnr_db"], sqnr(w, stored * scale.astype(np.float64))) and not report["unmatched"]
    values, float_values = values_of("quant.onnx", inputs, ["y"]), values_of("float.onnx", inputs, ["y"])
    assert near(rows(report, "model_outputs")["y"]["cumulative_sqnr_db"], sqnr(float_values["y"], values["y"]))


def test_half_precision_behind_the_inputs(folder):
    """A Cast behind the input is no place that the float model lacks: what follows is found also without names."""
    w = np.random.default_rng(3).normal(size=(12, 8)).astype(np.float32)
    inputs = {"x": images((4, 12))}
    np.savez("inputs.npz", **inputs)
    save("float.onnx", [node("MatMul", ["x", "w"], "m"), node("Relu", ["m"], "y")], {"w": w}, {"x": [1, 12]}, ["y"], opset=19)
    scale = (np.abs(w).max() / 127).astype(np.float16)
    stored = np.rint(w / scale.astype(np.float32)).astype(np.int8)
    save("quant.onnx", [node("Cast", ["x"], "half", to=onnx.TensorProto.FLOAT16), node("QuantizeLinear", ["half", "s", "z"], "half_q"), node("DequantizeLinear", ["half_q", "s", "z"], "half_d"),
                        node("DequantizeLinear", ["stored", "step"], "real"), node("MatMul", ["half_d", "real"], "p"), node("Relu", ["p"], "r"),
                        node("Cast", ["r"], "y", to=onnx.TensorProto.FLOAT)],
         {"s": np.float16(8 / 255), "z": np.uint8(128), "stored": stored, "step": scale}, {"x": [1, 12]}, ["y"], opset=19)
    report = debug("--isolate")
    assert not report["unmatched"] and rows(report)["x"]["match_method"] == "structure"
    assert near(rows(report, "weights")["w"]["weight_sqnr_db"], sqnr(w, stored * np.float64(scale)))


def test_half_precision_of_what_is_absorbed_and_left_in_float(folder):
    """nvidia-modelopt writes the whole model in half precision: the Clip that a quantizer stands for has bounds of float, and so have weights that are put back."""
    w, v = (np.random.default_rng(3).normal(size=(12, 12)).astype(np.float32) for _ in range(2))
    w[:, 3] *= 60
    np.savez("inputs.npz", x=images((4, 12)))
    save("float.onnx", [node("MatMul", ["x", "w"], "m"), node("Clip", ["m", "low", "high"], "c"), node("MatMul", ["c", "v"], "y")],
         {"w": w, "v": v, "low": np.float32(0), "high": np.float32(6)}, {"x": [1, 12]}, ["y"], opset=19)
    constants = {"s": np.float16(8 / 255), "z": np.uint8(128), "six": np.float16(6 / 255), "zero": np.uint8(0)}
    for name, weight in (("w", w), ("v", v)):
        constants[name + "_step"] = (np.abs(weight).max() / 127).astype(np.float16)
        constants[name + "_stored"] = np.rint(weight / np.float32(constants[name + "_step"])).astype(np.int8)

    def quantizers(of, step, zero):
        return [node("QuantizeLinear", [of, step, zero], of + "_q"), node("DequantizeLinear", [of + "_q", step, zero], of + "_d")]

    save("quant.onnx", [node("Cast", ["x"], "half", to=onnx.TensorProto.FLOAT16), *quantizers("half", "s", "z"), node("DequantizeLinear", ["w_stored", "w_step"], "w_d"),
                        node("MatMul", ["half_d", "w_d"], "c"), *quantizers("c", "six", "zero"), node("DequantizeLinear", ["v_stored", "v_step"], "v_d"),
                        node("MatMul", ["c_d", "v_d"], "last"), node("Cast", ["last"], "y", to=onnx.TensorProto.FLOAT)], constants, {"x": [1, 12]}, ["y"], opset=19)
    report = debug("--isolate", "--suggest", "1", "--validate")
    assert rows(report)["c"]["absorbed"] == "Clip" and rows(report)["c"]["local_sqnr_db"] > 40
    assert report["suggestions"][0]["gained_db"] > 5


@pytest.mark.parametrize("columns", [12, 8], ids=["square", "oblong"])
def test_weights_that_are_transposed_behind_their_integers(folder, columns):
    """torch's exporter (pt2e) leaves the Transpose of a linear layer in the quantized model, and computes that of the float one."""
    w, v = (np.random.default_rng(3).normal(size=(12, columns)).astype(np.float32) for _ in range(2))
    w[5] *= 60
    np.savez("inputs.npz", x=images((4, 12)))
    behind = [node("Add", ["a", "b"], "y")]
    save("float.onnx", [node("MatMul", ["x", "w"], "a"), node("MatMul", ["x", "v"], "b"), *behind], {"w": w, "v": v}, {"x": [1, 12]}, ["y"])
    constants, nodes = {"s": np.float32(8 / 255), "z": np.uint8(128)}, [node("QuantizeLinear", ["x", "s", "z"], "x_q"), node("DequantizeLinear", ["x_q", "s", "z"], "x_d")]
    for i, (weight, result) in enumerate(((v, "b"), (w, "a"))):
        constants[f"step{i}"] = np.float32(np.abs(weight).max() / 127)
        constants[f"stored{i}"] = np.rint(weight.T / constants[f"step{i}"]).astype(np.int8)
        nodes += [node("DequantizeLinear", [f"stored{i}", f"step{i}"], f"real{i}"), node("Transpose", [f"real{i}"], f"turned{i}", perm=[1, 0]),
                  node("MatMul", ["x_d", f"turned{i}"], f"m{i}"), node("QuantizeLinear", [f"m{i}", "wide", "middle"], f"{result}_q"),
                  node("DequantizeLinear", [f"{result}_q", "wide", "middle"], result)]
    constants |= {"wide": np.float32(2), "middle": np.uint8(128)}
    save("quant.onnx", [*nodes, *behind], constants, {"x": [1, 12]}, ["y"])
    report = debug("--isolate", "--suggest", "1", "--validate")
    assert report["run"]["matched"] == report["run"]["quantized_values"] == 5
    found = {row["quantized_name"]: row for row in report["weights"]}
    for i, (name, weight) in enumerate((("v", v), ("w", w))):
        row = found[f"stored{i}"]
        assert row["weight_name"] == name and near(row["weight_sqnr_db"], sqnr(weight.T, constants[f"stored{i}"] * np.float64(constants[f"step{i}"])))
    assert report["suggestions"][0]["gained_db"] is not None


def test_integers_that_are_joined_and_padded(folder):
    """TFLite joins and pads integers of one scale; what reads the result is compared, and its weight is known."""
    r = np.random.default_rng(4)
    weights = {"w": r.normal(size=(2, 6, 3, 3)).astype(np.float32), "pads": np.array([0, 0, 1, 1, 0, 0, 0, 0], np.int64)}
    save("float.onnx", [node("Tanh", ["x"], "t"), node("Sigmoid", ["x"], "s"), node("Concat", ["t", "s"], "j", axis=1), node("Pad", ["j", "pads"], "p"),
                        node("Conv", ["p", "w"], "y")], weights, {"x": [1, 3, 8, 8]}, ["y"])
    step = np.float32(np.abs(weights["w"]).max() / 127)
    stored = {"k": np.rint(weights["w"] / step).astype(np.int8), "pads": weights["pads"], "ks": step, "kz": np.int8(0), "s": np.float32(1 / 128), "z": np.int8(3)}
    save("quant.onnx", [node("Tanh", ["x"], "a"), node("QuantizeLinear", ["a", "s", "z"], "aq"), node("Sigmoid", ["x"], "b"), node("QuantizeLinear", ["b", "s", "z"], "bq"),
                        node("Concat", ["aq", "bq"], "jq", axis=1), node("Pad", ["jq", "pads", "z"], "pq"), node("DequantizeLinear", ["pq", "s", "z"], "pd"),
                        node("DequantizeLinear", ["k", "ks", "kz"], "kd"), node("Conv", ["pd", "kd"], "y")], stored, {"x": [1, 3, 8, 8]}, ["y"])
    np.savez("inputs.npz", x=images())
    report = debug()
    found = {row["quantized_name"]: row for row in report["activations"]}
    assert {name: row["tensor_name"] for name, row in found.items()} == {"aq": "t", "bq": "s", "jq": "j", "pq": "p", "y": "y"}
    assert found["jq"]["cumulative_sqnr_db"] > 40 and found["pq"]["cumulative_sqnr_db"] > 40
    assert rows(report, "weights")["w"]["weight_sqnr_db"] > 40 and report["run"]["matched"] == report["run"]["quantized_values"]


@pytest.mark.parametrize("kept", [True, False], ids=["same_names", "other_names"])
def test_operands_that_are_scaled(folder, kept):
    """SmoothQuant and AWQ (nvidia-modelopt writes it so): what a product reads is multiplied by constants, its weight is divided by them before it is quantized."""
    r = np.random.default_rng(5)
    w, v = (r.normal(size=s).astype(np.float32) for s in ((12, 12), (12, 5)))
    save("float.onnx", [node("MatMul", ["x", "w"], "m"), node("Tanh", ["m"], "t"), node("MatMul", ["t", "v"], "y")], {"w": w, "v": v}, {"x": [1, 12]}, ["y"])
    factors = {"f0": np.exp(r.normal(size=12)).astype(np.float32), "f1": np.exp(r.normal(size=12)).astype(np.float32)}
    stored, nodes, last = {"z": np.array(0, np.int8), "s": np.array(0.05, np.float32), **factors}, [], "x"
    for i, weight in enumerate((w, v)):
        name = "wv"[i] if kept else f"weight{i}"
        divided = weight / factors[f"f{i}"][:, None]
        step = np.float32(np.abs(divided).max() / 127)
        stored |= {name + "_quantized": np.rint(divided / step).astype(np.int8), f"step{i}": step}
        made = (["m", "y"][i] if kept else f"p{i}") if i == 0 else "y"
        nodes += [node("Mul", [last, f"f{i}"], f"g{i}"), node("QuantizeLinear", [f"g{i}", "s", "z"], f"q{i}"), node("DequantizeLinear", [f"q{i}", "s", "z"], f"d{i}"),
                  node("DequantizeLinear", [name + "_quantized", f"step{i}", "z"], f"r{i}"), node("MatMul", [f"d{i}", f"r{i}"], made), *([node("Tanh", [made], "u")] if i == 0 else [])]
        last = "u"
    save("quant.onnx", nodes, stored, {"x": [1, 12]}, ["y"])
    inputs = {"x": images((4, 12))}
    np.savez("inputs.npz", **inputs)
    report = debug("--isolate", "--suggest", "1", "--validate")
    assert report["run"]["matched"] == report["run"]["quantized_values"] == 4 and not report["unmatched"]
    weights = {row["weight_name"]: row for row in report["weights"]}
    assert all(weights[name]["folded"] and weights[name]["weight_sqnr_db"] > 30 for name in "wv")
    theirs, ours = values_of("float.onnx", inputs, ["x", "t"]), values_of("quant.onnx", inputs, ["d0", "d1"])
    found = rows(report)
    for i, name in enumerate(["x", "t"]):
        assert near(found[f"g{i}"]["cumulative_sqnr_db"], sqnr(theirs[name] * factors[f"f{i}"], ours[f"d{i}"]), 0.05)
    # the operator alone, on the float model's values
    real = stored[("w" if kept else "weight0") + "_quantized"] * np.float64(stored["step0"])
    alone = np.tanh((inputs["x"] * factors["f0"]).astype(np.float64) @ real) * factors["f1"]
    alone = np.clip(np.rint(alone / 0.05), -128, 127) * 0.05
    assert near(found["g1"]["op_sqnr_db"], sqnr(theirs["t"] * factors["f1"], alone), 0.1)


@pytest.mark.parametrize("kept", [True, False], ids=["same_names", "other_names"])
def test_weights_alone_are_quantized(folder, kept):
    """No activation has a quantizer: the operator that reads a bad weight is blamed all the same."""
    r = np.random.default_rng(7)
    weights = [r.normal(size=(12, 12)).astype(np.float32) / 3 for _ in range(3)]
    nodes, ours, stored, last, mine = [], [], {}, "x", "x"
    for i, w in enumerate(weights):
        nodes += [node("MatMul", [last, f"w{i}"], f"m{i}"), node("Tanh", [f"m{i}"], f"t{i}")]
        made, name = (f"m{i}", f"w{i}") if kept else (f"p{i}", f"v{i}")
        step = np.float32(np.abs(w).max() / 127)
        stored |= {f"{name}_quantized": np.rint(w / step).astype(np.int8), f"s{i}": np.array(step * (1.6 if i == 1 else 1), np.float32)}
        ours += [node("DequantizeLinear", [f"{name}_quantized", f"s{i}"], f"r{i}"), node("MatMul", [mine, f"r{i}"], made),
                 node("Tanh", [made], "t2" if i == 2 else f"u{i}")]
        last, mine = f"t{i}", f"u{i}"
    save("float.onnx", nodes, {f"w{i}": w for i, w in enumerate(weights)}, {"x": [1, 12]}, ["t2"])
    save("quant.onnx", ours, stored, {"x": [1, 12]}, ["t2"])
    np.savez("inputs.npz", x=images((4, 12)))
    report = debug("--suggest", "2", "--validate")
    found = rows(report)
    assert [found[f"m{i}"]["class"] for i in range(3)] == ["healthy", "originator", "inheritor"]
    assert found["m1"]["weights"] == ["w1"] and found["m1"]["op_type"] == "MatMul" and found["m1"]["drop_db"] > 20
    assert found["m1"]["match_method"] == ("name" if kept else "structure")
    (suggestion,) = report["suggestions"]
    assert suggestion["tensor_name"] == "m1" and suggestion["gained_db"] > 20


@pytest.mark.parametrize("kind", [QuantType.QInt8, QuantType.QUInt8], ids=["signed", "unsigned"])
def test_fused_operators_quantized_at_run_time(folder, kind):
    """QAttention and QEmbedLayerNormalization: the float operators of the same domain, with a channel in each column of the first one's weight."""
    r = np.random.default_rng(4)
    weights = {k: (0.3 * r.normal(size=s)).astype(np.float32) for k, s in {"we": (20, 16), "pe": (6, 16), "g": 16, "b": 16, "aw": (16, 48), "ab": 48, "v": (16, 4)}.items()}
    weights["aw"][3, 5] = 30    # one number that costs the others their bits
    nodes = [helper.make_node("EmbedLayerNormalization", ["ids", "", "we", "pe", "", "g", "b"], ["e", "masked"], name="embed", domain="com.microsoft"),
             helper.make_node("Attention", ["e", "aw", "ab"], ["a"], name="attention", domain="com.microsoft", num_heads=2), node("MatMul", ["a", "v"], "y")]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("ids", onnx.TensorProto.INT32, [1, 6])], [helper.make_tensor_value_info("y", 1, [1, 6, 4])],
                              [numpy_helper.from_array(v, k) for k, v in weights.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)], ir_version=8), "float.onnx")
    quantize_at_run_time("float.onnx", "quant.onnx", weight_type=kind)
    assert {"QAttention", "QEmbedLayerNormalization"} <= {n.op_type for n in onnx.load("quant.onnx").graph.node}
    np.savez("inputs.npz", ids=r.integers(0, 20, (4, 6)).astype(np.int32))
    report = debug("--isolate", "--suggest", "1", "--validate")
    assert report["run"]["matched"] == report["run"]["quantized_values"] == 8 and not report["unmatched"]
    row = rows(report)["a"]
    assert row["class"] == "originator" and row["op_type"] == "com.microsoft.Attention" and row["weights"] == ["aw"] and rows(report)["e"]["class"] == "healthy"
    assert [s["nodes"] for s in report["suggestions"]] == [["attention"]] and report["suggestions"][0]["gained_db"] > 10
    # the columns by numpy
    held = {i.name: numpy_helper.to_array(i).astype(np.float64) for i in onnx.load("quant.onnx").graph.initializer}
    real = (held["aw_quantized"] - held["aw_zero_point"]) * held["aw_scale"]
    columns = [sqnr(weights["aw"][:, c], real[:, c]) for c in range(48)]
    assert near(rows(report, "weights")["aw"]["min_channel_sqnr_db"], min(columns), 0.01)
