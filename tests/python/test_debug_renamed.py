"""qrewrite debug where no name tells anything: the quantized models of ONNX Runtime's quantizers with all names changed and nodes in another order. The counterparts
are those that names tell, and the numbers those of ONNX Runtime and numpy."""
import copy
import random

import numpy as np
import onnx
import pytest
from debug_models import QuantFormat, QuantType, images, node, quantize, quantize_at_run_time, rng, save, sqnr, values_of
from onnx import helper, numpy_helper
from onnxruntime.quantization.shape_inference import quant_pre_process
from test_debug import debug, folder, near, rows  # noqa: F401 (a fixture)

PADS = {"pads": [1, 1, 1, 1]}


def normal(seed, *shape):
    return (0.3 * rng(seed).normal(size=shape)).astype(np.float32)


def residual(path):
    weights = {"w0": normal(1, 6, 3, 3, 3), "b0": normal(2, 6), "wf": normal(3, 5, 6), "bf": normal(4, 5)}
    nodes, last = [node("Conv", ["x", "w0", "b0"], "c0", **PADS), node("Relu", ["c0"], "r0")], "r0"
    for i in range(2):
        weights |= {f"wa{i}": normal(10 + i, 6, 6, 3, 3), f"wb{i}": normal(20 + i, 6, 6, 3, 3), f"bb{i}": normal(30 + i, 6)}
        nodes += [node("Conv", [last, f"wa{i}"], f"ca{i}", **PADS), node("Relu", [f"ca{i}"], f"ra{i}"), node("Conv", [f"ra{i}", f"wb{i}", f"bb{i}"], f"cb{i}", **PADS),
                  node("Add", [f"cb{i}", last], f"s{i}"), node("Relu", [f"s{i}"], f"e{i}")]
        last = f"e{i}"
    nodes += [node("GlobalAveragePool", [last], "pool"), node("Flatten", ["pool"], "flat"), node("Gemm", ["flat", "wf", "bf"], "y", transB=1)]
    return save(path, nodes, weights, {"x": [1, 3, 10, 10]}, ["y"], opset=17)


def attention(path):
    wide, words = 16, 6
    weights = {"w" + k: normal(i, wide, wide) for i, k in enumerate("qkvo")} | {"b" + k: normal(9 + i, wide) for i, k in enumerate("qkvo")}
    weights |= {"heads": np.array([1, words, 4, 4], np.int64), "joined": np.array([1, words, wide], np.int64), "half": np.array(0.5, np.float32)}
    nodes = []
    for k, perm in (("q", [0, 2, 1, 3]), ("k", [0, 2, 3, 1]), ("v", [0, 2, 1, 3])):
        nodes += [node("MatMul", ["x", "w" + k], k + "m"), node("Add", [k + "m", "b" + k], k + "a"), node("Reshape", [k + "a", "heads"], k + "r"),
                  node("Transpose", [k + "r"], k + "t", perm=perm)]
    nodes += [node("MatMul", ["qt", "kt"], "qk"), node("Mul", ["qk", "half"], "scaled"), node("Softmax", ["scaled"], "p", axis=-1), node("MatMul", ["p", "vt"], "pv"),
              node("Transpose", ["pv"], "back", perm=[0, 2, 1, 3]), node("Reshape", ["back", "joined"], "context"), node("MatMul", ["context", "wo"], "om"),
              node("Add", ["om", "bo"], "oa"), node("Add", ["oa", "x"], "y")]
    return save(path, nodes, weights, {"x": [1, words, wide]}, ["y"], opset=17)


def gates(path):
    """A Gemm that quant_pre_process makes of a product and a sum with what is computed; parts of one value; a weight that two products share."""
    weights = {"w": normal(1, 12, 12), "b": normal(2, 12), "v": normal(3, 4, 4), "four": np.array([4, 4, 4], np.int64)}
    nodes = [node("Gemm", ["x", "w", "b"], "g"), helper.make_node("Split", ["g", "four"], ["p", "q", "r"], name="Split_g", axis=1), node("Sigmoid", ["p"], "sp"),
             node("Tanh", ["q"], "tq"), node("Mul", ["sp", "tq"], "m"), node("MatMul", ["m", "v"], "mv"), node("Add", ["mv", "r"], "a"), node("MatMul", ["a", "v"], "av"),
             node("Add", ["av", "tq"], "y")]
    return save(path, nodes, weights, {"x": [1, 12]}, ["y"], opset=17)


def layers(path):
    """Gemms, with biases and without, that quantize_dynamic makes MatMulIntegers of; all sizes, weights' ranges and activations are alike."""
    weights = {f"w{i}": normal(40 + i, 12, 12) for i in range(5)} | {f"b{i}": normal(50 + i, 12) for i in range(3)}
    nodes, last = [], "x"
    for i in range(5):
        bias = [f"b{i}"] if i < 3 else []
        nodes += [node("Gemm", [last, f"w{i}", *bias], f"g{i}", transB=1), node("Tanh", [f"g{i}"], f"t{i}")]
        last = f"t{i}"
    return save(path, [*nodes, node("Neg", [last], "y")], weights, {"x": [1, 12]}, ["y"], opset=17)


def renamed(source, target, seed=1):
    """Every name is another one, and nodes and initializers have another order. Returns new names by old ones."""
    model, chance = onnx.load(source), random.Random(seed)
    graph = model.graph
    values = [*graph.input, *graph.output, *graph.initializer]
    names = list(dict.fromkeys([v.name for v in values] + [v for n in graph.node for v in [*n.input, *n.output] if v]))
    new = dict(zip(names, (f"v{i}" for i in chance.sample(range(len(names)), len(names)))))
    for v in values:
        v.name = new[v.name]
    for n in graph.node:
        n.name = ""
        for some in (n.input, n.output):
            some[:] = [new.get(v, "") for v in some]
    del graph.value_info[:]
    made, todo, order = {v.name for v in [*graph.input, *graph.initializer]} | {""}, [copy.deepcopy(n) for n in graph.node], []
    while todo:
        order.append(todo.pop(todo.index(chance.choice([n for n in todo if made >= set(n.input)]))))
        made |= set(order[-1].output)
    del graph.node[:]
    graph.node.extend(order)
    onnx.save(model, target)
    return new


STATIC = {"qdq": {"per_channel": True}, "qoperator": {"quant_format": QuantFormat.QOperator}, "signed": {"activation_type": QuantType.QInt8, "reduce_range": True}}


@pytest.mark.parametrize("how", [*STATIC, "run_time"])
@pytest.mark.parametrize("prepared", [False, True], ids=["as_it_is", "prepared"])
@pytest.mark.parametrize("make", [residual, attention, gates, layers])
def test_counterparts_without_names(folder, make, prepared, how):
    make("float.onnx")
    if prepared:
        quant_pre_process("float.onnx", "prepared.onnx", skip_symbolic_shape=True)
    source = "prepared.onnx" if prepared else "float.onnx"
    [x] = onnx.load("float.onnx").graph.input
    inputs = {"x": images([4, *(d.dim_value for d in x.type.tensor_type.shape.dim[1:])])}
    np.savez("inputs.npz", **inputs)
    if how == "run_time":
        quantize_at_run_time(source, "quant.onnx")
    else:
        quantize(source, "quant.onnx", inputs, **STATIC[how])
    new = renamed("quant.onnx", "renamed.onnx")
    named, found = debug(), debug(models=("float.onnx", "renamed.onnx"))
    assert found["run"]["matched"] == found["run"]["quantized_values"] == named["run"]["quantized_values"] and not found["unmatched"]
    # Of several quantizers of one value the worst has the line: the float values are the same, and so are their numbers.
    truth = {row["tensor_name"]: row for row in named["activations"]}
    # What is made with a weight that several products share is found by its name alone, where no quantizer is behind it.
    floats = {name for name, row in truth.items() if row["local_sqnr_db"] is None and row["weights"]}
    assert set(truth) - floats <= {row["tensor_name"] for row in found["activations"]} <= set(truth)
    for row in found["activations"]:
        other = truth[row["tensor_name"]]
        assert row["status"] == other["status"] and near(row["cumulative_sqnr_db"], other["cumulative_sqnr_db"], 0.01)
        assert row["tensor_name"] in floats or near(row["local_sqnr_db"], other["local_sqnr_db"], 0.01)
    for kind in ("weights", "activations"):
        key = kind[:-1] if kind == "weights" else "tensor"
        by_new = {new.get(row["quantized_name"]): row[f"{key}_name"] for row in named[kind]}
        assert all(by_new.get(row["quantized_name"], row[f"{key}_name"]) == row[f"{key}_name"] for row in found[kind])
    # what the numbers say, by ONNX Runtime and numpy
    if how in ("qdq", "signed"):
        rows = [row for row in found["activations"] if row["status"] == "ok" and row["tensor_name"] != "x"]
        old = {v: k for k, v in new.items()}
        restored = {n.input[0]: n.output[0] for n in onnx.load("quant.onnx").graph.node if n.op_type == "DequantizeLinear"}
        wanted = values_of("float.onnx", inputs, [row["tensor_name"] for row in rows])
        got = values_of("quant.onnx", inputs, [restored[old[row["quantized_name"]]] for row in rows if old[row["quantized_name"]] in restored])
        seen = 0
        for row in rows:
            value = got.get(restored.get(old[row["quantized_name"]]))
            if value is None:
                continue
            assert near(row["cumulative_sqnr_db"], sqnr(wanted[row["tensor_name"]].ravel(), value.ravel()), 0.2), row["tensor_name"]
            seen += 1
        assert seen > 3


@pytest.mark.parametrize("direction", ["forward", "bidirectional"])
@pytest.mark.parametrize("named", [True, False], ids=["named", "renamed"])
def test_an_lstm_quantized_at_run_time(folder, direction, named):
    """One operator holds quantizer, weights and product; its weights are stored with other axes than LSTM's, and each direction has a scale."""
    both, state = (2 if direction == "bidirectional" else 1), 8
    weights = {"w": normal(1, both, 4 * state, 6), "r": normal(2, both, 4 * state, state), "v": normal(3, both * state, 4), "flat": np.array([5, 1, -1], np.int64)}
    weights["r"][-1, 0] = 40    # one number that costs the others of its direction their bits
    nodes = [helper.make_node("LSTM", ["x", "w", "r"], ["l"], name="lstm", hidden_size=state, direction=direction), node("Transpose", ["l"], "t", perm=[0, 2, 1, 3]),
             node("Reshape", ["t", "flat"], "f"), node("MatMul", ["f", "v"], "m"), node("Neg", ["m"], "y")]
    save("float.onnx", nodes, weights, {"x": [5, 1, 6]}, ["y"], opset=17)
    quantize_at_run_time("float.onnx", "quant.onnx")
    np.savez("inputs.npz", x=images((4 * 5, 1, 6)))
    if not named:
        renamed("quant.onnx", "quant.onnx")
    report = debug("--isolate", "--suggest", "1", "--validate")
    assert report["run"]["matched"] == report["run"]["quantized_values"] == 5 and not report["unmatched"]
    row = rows(report)["f"]
    assert row["class"] == "originator" and row["op_type"] == "LSTM" and set(row["weights"]) == {"w", "r"}
    (suggestion,) = report["suggestions"]
    assert suggestion["tensor_name"] == "f" and suggestion["nodes"][0] == "lstm" and suggestion["gained_db"] > 10
    # the weights by numpy
    model = onnx.load("quant.onnx")
    held = {i.name: numpy_helper.to_array(i) for i in model.graph.initializer}
    [lstm] = [n for n in model.graph.node if n.op_type == "DynamicQuantizeLSTM"]
    for name, at in (("w", 1), ("r", 2)):
        integers, scale, zero = held[lstm.input[at]], held[lstm.input[2 * at + 6]], held[lstm.input[2 * at + 7]]
        real = (integers.astype(np.float64) - zero.reshape(-1, 1, 1)) * scale.reshape(-1, 1, 1)
        assert near(rows(report, "weights")[name]["weight_sqnr_db"], sqnr(weights[name].ravel(), real.transpose(0, 2, 1).ravel()), 0.01)
