"""qrewrite debug on models of a real quantizer: the defects of the tools before it, each right; errors; files."""
import json
import os
import re
import subprocess
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from debug_models import (QuantFormat, QuantType, convolutions, images, node, pair, products, quantize,
                          quantize_at_run_time, save, sqnr, values_of)
from onnx import numpy_helper

PROGRAM = os.environ["QREWRITE"]
SOURCE = Path(os.environ["QREWRITE_SOURCE_DIR"])
ORT = str(Path(onnxruntime.__file__).parent / "capi")
ENVIRONMENT = {**os.environ, "NO_COLOR": "1", "QREWRITE_RULES_DIR": str(SOURCE / "rules"), "QREWRITE_ORT": ORT}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*args, code=0, env=ENVIRONMENT):
    done = subprocess.run([PROGRAM, "debug", *map(str, args)], capture_output=True, text=True, timeout=120, env=env)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout, done.stderr


def no_constant(text):
    raise ValueError(f"{text} is no JSON")


def debug(*args, models=("float.onnx", "quant.onnx"), **kwargs):
    inputs = () if "--inputs" in args else ("--inputs", "inputs.npz")
    text, _ = run("--float", models[0], "--quant", models[1], *inputs, "--json", *args, **kwargs)
    return json.loads(text, parse_constant=no_constant)


def rows(report, section="activations"):
    key = {"activations": "tensor_name", "weights": "weight_name", "model_outputs": "output_name"}[section]
    table = {row[key]: row for row in report[section]}
    assert len(table) == len(report[section])
    return table


def near(value, expected, tolerance=0.05):
    return abs(value - expected) < tolerance


# --- the defects of ONNX Runtime's and winml's tools (../spec/debug_verify.md, A3)

def test_1_unsigned_weights(folder):
    pair(folder, options={"weight_type": QuantType.QUInt8, "extra_options": {"WeightSymmetric": False}})
    report = debug()
    assert {w["type"] for w in report["weights"]} == {"uint8", "int32"}
    for name in ("w1", "w2"):
        assert rows(report, "weights")[name]["weight_sqnr_db"] > 35
    # and what NumPy makes of it if asked for
    assert rows(debug("--compat", "ort"), "weights")["w1"]["weight_sqnr_db"] < 10


def test_2_absorbed_relu(folder):
    inputs = pair(folder, activation="Relu")
    quant = onnx.load("quant.onnx")
    assert "Relu" not in {n.op_type for n in quant.graph.node}
    row = rows(debug())["a1"]
    assert row["absorbed"] == "Relu" and row["absorbed_left_out"]
    values = values_of("quant.onnx", inputs, ["a1", "a1_DequantizeLinear_Output"])
    post = values["a1_DequantizeLinear_Output"]
    assert near(row["local_sqnr_db"], sqnr(np.maximum(values["a1"], 0), post))
    assert near(rows(debug("--compat", "ort"))["a1"]["local_sqnr_db"], sqnr(values["a1"], post))


def test_2_absorbed_by_an_operator_of_integers(folder):
    pair(folder, activation="Relu", options={"quant_format": QuantFormat.QOperator})
    assert "c1_quantized" in {o for n in onnx.load("quant.onnx").graph.node for o in n.output}
    table = rows(debug())
    assert "c1" not in table and table["a1"]["absorbed"] == "Relu"
    assert table["a1"]["local_sqnr_db"] > 35 and table["a1"]["cumulative_sqnr_db"] > 30


def test_3_a_weight_is_to_blame(folder):
    pair(folder, outlier=True, options={"activation_type": QuantType.QUInt16, "extra_options": {"UseQDQContribOps": True}})
    table = rows(debug("--isolate"))
    assert all(row["local_sqnr_db"] > 45 for row in table.values())
    assert table["c2"]["class"] == "originator"
    assert table["a2"]["class"] in ("amplifier", "inheritor", "originator")
    assert table["c1"]["class"] == table["a1"]["class"] == "healthy"
    assert table["c2"]["weights"] == ["w2", "b2"]
    assert table["c2"]["op_min_channel_sqnr_db"] < 20 < table["c1"]["op_min_channel_sqnr_db"]


def test_4_dead_channels(folder):
    pair(folder, outlier=True)
    row = rows(debug(), "weights")["w2"]
    assert row["weight_sqnr_db"] > 30
    assert row["zeroed_channels"] == 1 and near(row["min_channel_sqnr_db"], 0)
    assert row["worst_channel"] == 5


def test_5_float_output(folder):
    inputs = pair(folder, options={"op_types_to_quantize": ["Conv"]})
    report = debug()
    expected = sqnr(values_of("float.onnx", inputs, ["y"])["y"], values_of("quant.onnx", inputs, ["y"])["y"])
    assert near(rows(report, "model_outputs")["y"]["cumulative_sqnr_db"], expected)


@pytest.mark.parametrize("runtime", ["ort", "builtin"])
def test_6_operators_of_integers(folder, runtime):
    pair(folder, options={"quant_format": QuantFormat.QOperator})
    operators = {n.op_type for n in onnx.load("quant.onnx").graph.node}
    assert {"QLinearConv", "QLinearSigmoid", "QLinearAdd"} <= operators
    report = debug("--isolate", "--runtime", runtime, env={**ENVIRONMENT, "QREWRITE_ORT": ""} if runtime == "builtin" else ENVIRONMENT)
    table = rows(report)
    assert set(table) == {"x", "c1", "a1", "c2", "a2", "y"}
    assert all(row["local_sqnr_db"] > 35 and row["cumulative_sqnr_db"] > 25 and row["op_sqnr_db"] > 25 for row in table.values())
    assert set(rows(report, "weights")) == {"w1", "b1", "w2", "b2"}


def test_6_quantized_at_run_time(folder):
    pair(folder, make=products, quantizer=quantize_at_run_time)
    report = debug("--runtime", "builtin", env={**ENVIRONMENT, "QREWRITE_ORT": ""})
    # Nothing quantizes the output: it has a line since a weight is in front of it.
    assert set(rows(report)) == {"x", "t1", "y"} and rows(report)["y"]["local_sqnr_db"] is None and rows(report)["y"]["weights"] == ["w2"]
    assert all(row["local_sqnr_db"] > 35 for row in report["activations"] if row["tensor_name"] != "y")
    assert set(rows(report, "weights")) == {"w1", "w2"}
    by_ort = debug()
    for name, row in rows(report).items():
        assert near(rows(by_ort)[name]["cumulative_sqnr_db"], row["cumulative_sqnr_db"], 0.3)


def test_6_convolutions_quantized_at_run_time(folder):
    """ONNX Runtime has no kernel for some of them; then they are measured in another form."""
    pair(folder, quantizer=quantize_at_run_time)
    assert "ConvInteger" in {n.op_type for n in onnx.load("quant.onnx").graph.node}
    report = debug()
    assert {"x", "a1"} <= set(rows(report)) and set(rows(report, "weights")) == {"w1", "w2"}
    assert rows(report, "model_outputs")["y"]["cumulative_sqnr_db"] > 25


def test_7_quantizers_of_another_domain(folder):
    pair(folder, options={"activation_type": QuantType.QUInt16, "extra_options": {"UseQDQContribOps": True}})
    assert "com.microsoft" in {n.domain for n in onnx.load("quant.onnx").graph.node}
    report = debug()
    assert set(rows(report)) == {"x", "c1", "a1", "c2", "a2", "y"} and set(rows(report, "weights")) == {"w1", "b1", "w2", "b2"}
    assert all(row["local_sqnr_db"] > 60 and row["cumulative_sqnr_db"] > 30 for row in report["activations"])


def test_8_weights_that_are_quantized_each_time(folder):
    pair(folder, options={"extra_options": {"AddQDQPairToWeight": True}})
    table = rows(debug(), "weights")
    assert {"w1", "w2"} <= set(table)
    assert table["w1"]["weight_sqnr_db"] > 35


def test_8_a_pair_for_each_reader(folder):
    pair(folder, options={"extra_options": {"DedicatedQDQPair": True}})
    names = {n.output[0] for n in onnx.load("quant.onnx").graph.node}
    assert "a1_DequantizeLinear_Output_2" in names
    assert {"x", "c1", "a1", "c2", "a2", "y"} == set(rows(debug()))


def test_9_no_counterpart(folder):
    pair(folder)
    model = onnx.load("float.onnx")
    for n in model.graph.node:  # Neg twice in the place of c2
        n.input[:] = ["other" if v == "c2" else v for v in n.input]
        n.output[:] = ["other" if v == "c2" else v for v in n.output]
        n.name = ""
    model.graph.node[2].op_type = "Conv"
    onnx.save(model, "float.onnx")
    quant = onnx.load("quant.onnx")
    index = next(i for i, n in enumerate(quant.graph.node) if n.output[0] == "c2")
    quant.graph.node[index].output[0] = "before"
    quant.graph.node.insert(index + 1, onnx.helper.make_node("Identity", ["before"], ["c2"]))
    onnx.save(quant, "quant.onnx")
    row = rows(debug())["c2"]
    assert row["cumulative_sqnr_db"] is None and row["status"] == "no_reference"
    assert row["local_sqnr_db"] > 35
    assert rows(debug("--map", "other=c2"))["other"]["cumulative_sqnr_db"] > 25


def test_10_no_finite_number(folder):
    nodes = [node("Mul", ["x", "zero"], "z"), node("Add", ["z", "ints"], "i"), node("Relu", ["x"], "r"),
             node("Concat", ["z", "i", "r"], "y", axis=1)]
    constants = {"zero": np.zeros(1, np.float32), "ints": np.arange(8, dtype=np.float32)[None]}
    save("float.onnx", nodes, constants, {"x": [1, 8]}, ["y"])
    quantized, table = [], {**constants, "s": np.array(0.5, np.float32), "o": np.array(0, np.int8)}
    for n in nodes[:3]:
        name = n.output[0]
        quantized += [n, node("QuantizeLinear", [name, "s", "o"], name + "_q"),
                      node("DequantizeLinear", [name + "_q", "s", "o"], name + "_d")]
    save("quant.onnx", [*quantized, node("Concat", ["z_d", "i_d", "r_d"], "y", axis=1)], table, {"x": [1, 8]}, ["y"])
    np.savez("inputs.npz", x=images((4, 8)))
    report = debug()
    assert {name: row["status"] for name, row in rows(report).items()} == {"z": "zero_signal", "i": "identical", "r": "ok"}
    assert rows(report)["i"]["local_sqnr_db"] is None
    clamped = rows(debug("--compat", "ort"))
    assert clamped["z"]["local_sqnr_db"] == 0 and clamped["i"]["local_sqnr_db"] > 300
    x = images((4, 8))
    x[2, 3] = np.inf
    np.savez("inputs.npz", x=x)
    report = debug()
    assert rows(report)["r"]["status"] == "nonfinite" and rows(report)["r"]["local_sqnr_db"] is None
    assert report["model_outputs"][0] == {"output_name": "y", "cumulative_sqnr_db": None, "status": "nonfinite"}
    run("--float", "float.onnx", "--quant", "quant.onnx", "--inputs", "inputs.npz", "--fail-under", 1, code=1)


# --- numbers against an oracle, and between the evaluators

@pytest.mark.parametrize("options", [{}, {"per_channel": True}, {"activation_type": QuantType.QInt8}],
                         ids=["uint8", "per_channel", "int8"])
def test_numbers(folder, options):
    inputs = pair(folder, options=options)
    names = ["x", "c1", "a1", "c2", "a2"]
    report = debug()
    table = rows(report)
    reference = values_of("float.onnx", inputs, [*names, "y"])
    made = values_of("quant.onnx", inputs, [*names, *(f"{n}_DequantizeLinear_Output" for n in names), "y"])
    for name in names:
        post = made[f"{name}_DequantizeLinear_Output"]
        assert near(table[name]["local_sqnr_db"], sqnr(made[name], post))
        assert near(table[name]["cumulative_sqnr_db"], sqnr(reference[name], post))
    assert near(rows(report, "model_outputs")["y"]["cumulative_sqnr_db"], sqnr(reference["y"], made["y"]))
    builtin = debug("--runtime", "builtin", env={**ENVIRONMENT, "QREWRITE_ORT": ""})
    assert builtin["run"]["evaluator"] == "built-in kernels"
    for name in names:
        assert near(rows(builtin)[name]["cumulative_sqnr_db"], table[name]["cumulative_sqnr_db"], 0.2)
    values = [r["local_sqnr_db"] for r in report["activations"]]
    assert near(report["summary"]["local"]["mean"], np.mean(values), 1e-6)
    assert near(report["summary"]["local"]["std"], np.std(values), 1e-6)


def test_weights(folder):
    pair(folder, options={"per_channel": True})
    model = onnx.load("quant.onnx")
    stored = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
    floats = {t.name: numpy_helper.to_array(t) for t in onnx.load("float.onnx").graph.initializer}
    row = rows(debug(), "weights")["w1"]
    real = (stored["w1_quantized"].astype(np.float64) * stored["w1_scale"].reshape(-1, 1, 1, 1).astype(np.float64))
    assert near(row["weight_sqnr_db"], sqnr(floats["w1"].astype(np.float64), real), 1e-3)
    channels = [sqnr(floats["w1"][c].astype(np.float64), real[c]) for c in range(6)]
    assert near(row["min_channel_sqnr_db"], min(channels), 1e-3)
    assert near(row["median_channel_sqnr_db"], np.median(channels), 1e-3)


def test_blocks(folder):
    save("float.onnx", [node("MatMul", ["x", "w"], "y")], {"w": images((32, 2))}, {"x": [1, 32]}, ["y"])
    weight = images((32, 2)).T.reshape(2, 2, 16)
    scales = np.abs(weight).max(axis=2) / 7
    q = np.clip(np.rint(weight / scales[:, :, None]) + 8, 0, 15).astype(np.uint8).reshape(2, 2, 8, 2)
    packed = q[..., 0] | q[..., 1] << 4
    matmul = onnx.helper.make_node("MatMulNBits", ["x", "w_Q4", "s"], ["y"], name="MatMul_y_Q4", domain="com.microsoft",
                                   K=32, N=2, bits=4, block_size=16)
    save("quant.onnx", [matmul], {"w_Q4": packed, "s": scales.astype(np.float32).reshape(-1)}, {"x": [1, 32]}, ["y"])
    model = onnx.load("quant.onnx")
    model.opset_import.append(onnx.helper.make_opsetid("com.microsoft", 1))
    onnx.save(model, "quant.onnx")
    np.savez("inputs.npz", x=images((4, 32)))
    report = debug()
    real = ((q.reshape(2, 2, 16).astype(np.float64) - 8) * scales[:, :, None].astype(np.float64))
    (row,) = report["weights"]
    assert row["weight_name"] == "w" and row["match_method"] == "structure"
    assert near(row["weight_sqnr_db"], sqnr(weight.astype(np.float64), real), 1e-2)
    blocks = [sqnr(weight[n, b].astype(np.float64), real[n, b]) for n in range(2) for b in range(2)]
    assert near(row["min_block_sqnr_db"], min(blocks), 1e-2)
    assert 10 < report["model_outputs"][0]["cumulative_sqnr_db"] < 40


# --- what to do about it

def test_suggestions_are_worth_what_is_said(folder):
    pair(folder, outlier=True, options={"activation_type": QuantType.QUInt16, "extra_options": {"UseQDQContribOps": True}})
    report = debug("--isolate", "--suggest", "2", "--validate")
    first = report["suggestions"][0]
    assert first["tensor_name"] == "c2" and first["nodes"] == ["Conv_c2"]
    assert first["gained_db"] > 10 and report["gained_db"] >= first["gained_db"] - 0.5
    # the quantizer that leaves the node out wins as much
    inputs = dict(np.load("inputs.npz"))
    quantize("float.onnx", "excluded.onnx", inputs, nodes_to_exclude=first["nodes"], activation_type=QuantType.QUInt16,
             extra_options={"UseQDQContribOps": True})
    before, after = (debug(models=("float.onnx", m))["model_outputs"][0]["cumulative_sqnr_db"]
                     for m in ("quant.onnx", "excluded.onnx"))
    assert near(after - before, first["gained_db"], 3)


def test_models_without_options(folder):
    pair(folder)
    named = run("--float", "float.onnx", "--quant", "quant.onnx", "--inputs", "inputs.npz")
    assert named == run("float.onnx", "quant.onnx", "--inputs", "inputs.npz") == run("--quant", "quant.onnx", "float.onnx", "--inputs", "inputs.npz")


def test_all_is_won(folder):
    """Nothing of the model is quantized any more: no number of dB."""
    save("float.onnx", [node("MatMul", ["x", "w"], "y")], {"w": images((12, 5))}, {"x": [1, 12]}, ["y"])
    np.savez("inputs.npz", x=images((4, 12)))
    quantize("float.onnx", "quant.onnx", {"x": images((4, 12))}, weight_type=QuantType.QInt4, activation_type=QuantType.QUInt4)
    report = debug("--suggest", "1", "--validate")
    assert report["suggestions"][0]["gained_db"] is None and report["suggestions"][0]["lossless"] and report["lossless"]
    text, _ = run("--float", "float.onnx", "--quant", "quant.onnx", "--inputs", "inputs.npz", "--suggest", 1, "--validate")
    assert "  y  gains all: the outputs are those of the float model\n" in text


def test_the_command_that_is_suggested_works(folder):
    pair(folder, outlier=True, options={"quant_format": QuantFormat.QOperator})
    text, _ = run("--float", "float.onnx", "--quant", "quant.onnx", "--inputs", "inputs.npz", "--suggest", 1)
    assert '\n  quantize_static(..., nodes_to_exclude=["Conv_c2"])\n' in text
    command = re.search(r"^  qrewrite (.* MODEL)$", text, re.M)[1].replace("MODEL", "quant.onnx")
    done = subprocess.run(f"{PROGRAM} {command} -o out.onnx", shell=True, capture_output=True, text=True, env=ENVIRONMENT)
    assert done.returncode == 0, done.stderr
    assert "in-front" in done.stdout and "behind" in done.stdout


# --- any two models

def test_a_rewrite_is_compared_by_names(folder):
    convolutions("float.onnx")
    np.savez("inputs.npz", x=images())
    model = onnx.load("float.onnx")
    (w,) = [t for t in model.graph.initializer if t.name == "w2"]
    w.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(w) * np.float32(1.01), "w2"))
    onnx.save(model, "quant.onnx")
    table = rows(debug())
    assert [name for name, row in table.items() if row["status"] == "identical"] == ["c1", "a1"]
    assert 30 < table["c2"]["cumulative_sqnr_db"] < 60


def test_half_precision(folder):
    save("float.onnx", [node("Relu", ["x"], "r"), node("Neg", ["r"], "y")], {}, {"x": [1, 8]}, ["y"], opset=19)
    nodes = [node("Relu", ["x"], "r"), node("Cast", ["r"], "h", to=10), node("QuantizeLinear", ["h", "s", "z"], "q"),
             node("DequantizeLinear", ["q", "s", "z"], "d"), node("Cast", ["d"], "f", to=1), node("Neg", ["f"], "n"),
             node("QuantizeLinear", ["n", "t", "o"], "p"), node("DequantizeLinear", ["p", "t", "o"], "y")]
    constants = {"s": np.array(1 / 64, np.float16), "z": np.array(0, np.uint8), "t": np.array(1 / 32, np.float32), "o": np.array(0, np.int8)}
    save("quant.onnx", nodes, constants, {"x": [1, 8]}, ["y"], opset=19)
    np.savez("inputs.npz", x=images((4, 8)))
    report = debug("--isolate", "--map", "r=q")
    assert report["run"]["notes"] == []
    assert {name: row["op_status"] for name, row in rows(report).items()} == {"r": "ok", "y": "ok"}


def test_a_second_opinion(folder):
    pair(folder)
    assert debug("--second-opinion")["run"]["notes"] == []
    pair(folder, options={"quant_format": QuantFormat.QOperator})
    notes = debug("--second-opinion")["run"]["notes"]
    # processors without VNNI make ONNX Runtime's products wrong: that is told, or there is nothing to tell
    assert all("saturates" in note or "disagree on the quantized model" in note for note in notes)
    nodes = [node("RandomNormal", [], "r", shape=[1, 8], dtype=1), node("Add", ["x", "r"], "y")]
    save("random.onnx", nodes, {}, {"x": [1, 8]}, ["y"])
    np.savez("inputs.npz", x=images((4, 8)))
    assert any("no second opinion" in n for n in debug("--second-opinion", models=("random.onnx", "random.onnx"))["run"]["notes"])


# --- inputs

def test_samples_of_an_archive_and_of_folders(folder):
    pair(folder)
    whole = debug("--samples", 2)
    assert whole["run"]["samples"] == 2
    x = np.load("inputs.npz")["x"]
    Path("npz").mkdir()
    for i in range(2):
        np.savez(f"npz/{i}.npz", x=x[i:i + 1])
        Path(f"pb/test_data_set_{i}").mkdir(parents=True)
        Path(f"pb/test_data_set_{i}/input_0.pb").write_bytes(numpy_helper.from_array(x[i:i + 1], "x").SerializeToString())
    for path in ("npz", "pb"):
        assert debug("--inputs", path)["activations"] == whole["activations"]


def test_random_numbers_are_those_of_the_seed(folder):
    pair(folder)
    def report(seed):
        return json.loads(run("--float", "float.onnx", "--quant", "quant.onnx", "--seed", seed, "--json")[0])
    assert report(3) == report(3) != report(4)
    assert report(3)["run"]["inputs"] == "random numbers, seed 3" and report(3)["run"]["samples"] == 8


def test_random_numbers_fit_the_quantizers(folder):
    """The range of the input is 0.05 wide, that inside 0.4 of what 20 times such numbers are."""
    steps = {"s": np.float32(0.0002), "t": np.float32(0.002), "z": np.int8(0), "k": np.float32(20)}
    save("float.onnx", [node("Mul", ["x", "k"], "m"), node("Neg", ["m"], "y")], {"k": steps["k"]}, {"x": [1, 64]}, ["y"])
    save("quant.onnx", [node("QuantizeLinear", ["x", "s", "z"], "q"), node("DequantizeLinear", ["q", "s", "z"], "d"),
                        node("Mul", ["d", "k"], "m"), node("QuantizeLinear", ["m", "t", "z"], "r"),
                        node("DequantizeLinear", ["r", "t", "z"], "e"), node("Neg", ["e"], "y")], steps, {"x": [1, 64]}, ["y"])
    report = json.loads(run("--float", "float.onnx", "--quant", "quant.onnx", "--json")[0])
    rows_ = rows(report)
    assert rows_["x"]["saturation_pct"] < 1 and rows_["m"]["saturation_pct"] < 1
    assert rows_["x"]["local_sqnr_db"] > 25 and rows_["m"]["local_sqnr_db"] > 25
    assert report["run"]["inputs"] == "random numbers, seed 0"


# --- what is said when it cannot be done

def errors(folder):
    pair(folder)
    convolutions("other.onnx", activation="Tanh")
    save("unrelated.onnx", [node("Flatten", ["x"], "f"), node("MatMul", ["f", "w"], "out")],
         {"w": images((192, 4))}, {"x": [1, 3, 8, 8]}, ["out"])
    quantize("unrelated.onnx", "unrelated_quant.onnx", {"x": images()})
    save("fantasy.onnx", [node("Fantasy", ["x"], "y")], {}, {"x": [1, 3, 8, 8]}, ["y"])
    np.savez("wrong.npz", z=images())
    np.savez("empty.npz", x=images()[:0])
    np.savez("shape.npz", x=images((4, 3, 9, 9)))
    Path("nothing").mkdir()
    Path("none.so").write_text("no library")


ERRORS = [
    ("no samples", 2, ["--samples", "0"]),
    ("input missing", 2, ["--inputs", "wrong.npz"]),
    ("archive empty", 2, ["--inputs", "empty.npz"]),
    ("archive of another shape", 2, ["--inputs", "shape.npz"]),
    ("archive not there", 6, ["--inputs", "no.npz"]),
    ("folder empty", 2, ["--inputs", "nothing"]),
    ("unrelated models", 3, ["--float", "float.onnx", "--quant", "unrelated_quant.onnx"]),
    ("a model that does not run", 5, ["--float", "fantasy.onnx", "--quant", "fantasy.onnx"]),
    ("the same without a runtime", 5, ["--float", "fantasy.onnx", "--quant", "fantasy.onnx", "--runtime", "builtin"]),
    ("no such runtime", 6, ["--ort", "none.so"]),
    ("no runtime there", 6, ["--ort", "nothing"]),
    ("a map without equals", 2, ["--map", "c1"]),
    ("a map to nothing", 2, ["--map", "c1=nothing"]),
    ("a map from nothing", 2, ["--map", "nothing=c1"]),
    ("validation of nothing", 2, ["--validate"]),
    ("a model that is not there", 6, ["--float", "no.onnx", "--quant", "quant.onnx"]),
    ("below the limit", 1, ["--fail-under", "90"]),
    ("no limit", 2, ["--fail-under", "nan"]),
]


def test_errors(folder):
    errors(folder)
    text = ""
    for name, code, args in ERRORS:
        models = [] if "--float" in args else ["--float", "float.onnx", "--quant", "quant.onnx"]
        inputs = [] if "--inputs" in args else ["--inputs", "inputs.npz"]
        out, err = run(*models, *inputs, *args, code=code)
        assert err and (code == 1 or not out), name
        text += f"== {name}: {code}\n{err}"
    text = re.sub(r"\[ONNXRuntimeError\].*|ONNX Runtime: .*", "ONNX Runtime: ...", text)
    text = re.sub(r"none\.so: .*", "none.so: ...", text)
    golden = SOURCE / "tests" / "golden" / "cli" / "debug_errors.txt"
    if os.environ.get("QREWRITE_UPDATE_GOLDEN"):
        golden.write_text(text)
    assert text == golden.read_text()


def test_without_a_runtime_the_kernels_serve(folder):
    pair(folder)
    environment = {k: v for k, v in ENVIRONMENT.items() if k not in ("QREWRITE_ORT", "VIRTUAL_ENV")}
    environment |= {"PATH": "/nowhere", "HOME": "/nowhere"}
    shell = ["/bin/sh", "-c", '"$@"; exit $?', "sh"]  # the program that starts it is no Python
    done = subprocess.run([*shell, PROGRAM, "debug", "--float", "float.onnx", "--quant", "quant.onnx", "--inputs",
                           "inputs.npz", "--json"], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["run"]["evaluator"] == "built-in kernels"


def test_the_runtime_of_the_python_that_calls_is_found(folder):
    pair(folder)
    report = debug(env={k: v for k, v in ENVIRONMENT.items() if k != "QREWRITE_ORT"})
    assert report["run"]["evaluator"] == "ONNX Runtime " + onnxruntime.__version__


# --- files

def test_files_and_tables(folder):
    pair(folder, outlier=True)
    text, _ = run("--float", "float.onnx", "--quant", "quant.onnx", "--inputs", "inputs.npz", "--isolate", "--suggest", 1,
                  "--validate", "--output", "report.json", "--html", "report.html", "--top", 2)
    assert json.loads(Path("report.json").read_text())["summary"]["weight"]["count"] == 4
    for title in ("Outputs cumulative SQNR", "Worst local SQNR", "Worst cumulative SQNR", "Worst operator SQNR",
                  "Worst weight SQNR", "Originators, ranked by drop", "To leave in float"):
        assert f"\n{title}\n" in text
    assert len(re.search(r"Worst local SQNR\n.*\n((?:  .*\n)*)", text)[1].splitlines()) == 2
    page = Path("report.html").read_text()
    assert page.count("<circle") >= 15 and page.count("<path") == 3 and "http:" not in page and "https:" not in page and "<script" not in page
    assert "zeroed channels: 1" in text


def test_names_are_harmless(folder):
    """A name from a model is text on the page and on the terminal, nothing else."""
    evil = "<script>alert(1)</script>\x1b[31m&\""
    save("float.onnx", [node("Relu", ["x"], evil), node("Neg", [evil], "y")], {}, {"x": [1, 4]}, ["y"])
    save("quant.onnx", [node("Relu", ["x"], evil), node("QuantizeLinear", [evil, "s", "z"], "q"),
                        node("DequantizeLinear", ["q", "s", "z"], "d"), node("Neg", ["d"], "y")],
         {"s": np.array(0.5, np.float32), "z": np.array(0, np.uint8)}, {"x": [1, 4]}, ["y"])
    text, _ = run("--float", "float.onnx", "--quant", "quant.onnx", "--html", "r.html")
    assert "\x1b" not in text and "script" in text
    page = Path("r.html").read_text()
    assert "<script>" not in page and "&lt;script&gt;" in page and "\x1b" not in page


def test_colours_on_a_terminal_only(folder):
    pair(folder)
    assert "\x1b[" not in run("--float", "float.onnx", "--quant", "quant.onnx", env={k: v for k, v in ENVIRONMENT.items() if k != "NO_COLOR"})[0]
