"""qrewrite debug on what producers of quantized models do besides quantizing: operators folded into weights, axes in another order, fewer bits."""
import numpy as np
import onnx
import onnxruntime
import pytest
from debug_models import QuantFormat, images, node, pair, quantize, quantize_at_run_time, save
from onnx import numpy_helper
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
