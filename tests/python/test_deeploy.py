"""rules/deeploy.yaml on networks that ONNX Runtime quantized: integer operators alone, in a form that Deeploy takes, and the numbers of the
quantized network, run by ONNX Runtime, within a few steps of the output's scale."""
import json
import os
import re
import subprocess
from collections import Counter
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from deeploy_models import KINDS, NETS, Net, evaluate, quantized
from onnx import TensorProto, helper, numpy_helper

SOURCE = Path(os.environ["QREWRITE_SOURCE_DIR"])
INTEGER = {"Conv", "Gemm", "MatMul", "Add", "Mul", "Concat", "MaxPool", "Pad", "Slice", "Transpose", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "RequantShift"}
MLPERF = ("resnet8", "dscnn", "mobilenet", "autoencoder")
# Signal over difference that deep networks keep; a wrong scale or zero point anywhere leaves less than 10 dB.
SNR = {"mobilenet": 20, "autoencoder": 28}


def lower(source: Path, out: Path, *options: str, rules=("deeploy",)) -> subprocess.CompletedProcess:
    names = [part for r in rules for part in ("--rules", str(SOURCE / f"rules/{r}.yaml"))]
    settings = [part for o in options for part in ("--set", o)]
    return subprocess.run([os.environ["QREWRITE"], *names, str(source), "-o", str(out), *settings],
                          capture_output=True, text=True, timeout=120, cwd=out.parent)


def run(file: Path, feeds: dict) -> dict[str, np.ndarray]:
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
    return dict(zip([o.name for o in session.get_outputs()], session.run(None, feeds)))


def differences(source: Path, out: Path, feeds: list[dict]) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Of every output: what Deeploy computes less what ONNX Runtime does, and the latter, in steps."""
    rows = json.loads((out.parent / "sidecar.json").read_text())
    model, found = onnx.load(out), {}
    for feed in feeds:
        integers = {r["name"]: np.clip(np.rint(feed[r["name"]] / np.float32(r["scale"]) + r["zero_point"]), r["lo"], r["hi"]) for r in rows["inputs"]}
        have, want = evaluate(model, integers), run(source, feed)
        for row in rows["outputs"]:
            steps = np.rint(want[row["name"]].astype(np.float64) / row["scale"])
            found.setdefault(row["name"], []).append((have[row["name"]] - row["zero_point"] - steps, steps))
    return {k: tuple(np.concatenate([p[i].ravel() for p in v]) for i in (0, 1)) for k, v in found.items()}


def levels(graph: onnx.GraphProto, by_output: dict, name: str) -> tuple[int, int]:
    """(signed, levels) of a value as Deeploy takes it."""
    while name in by_output and by_output[name].op_type != "RequantShift":
        name = by_output[name].input[0]
    if name not in by_output:
        return int(next(i for i in graph.input if i.name == name).type.tensor_type.elem_type == TensorProto.INT8), 256
    found = {a.name: numpy_helper.to_array(a.t) for a in by_output[name].attribute if a.type == onnx.AttributeProto.TENSOR}
    return int(found["signed"]), int(found["n_levels_out"])


def structure(model: onnx.ModelProto) -> list[str]:
    """What Deeploy would refuse, or compute otherwise without a word (docs/deeploy.md)."""
    graph, wrong = model.graph, []
    readers = Counter(i for n in graph.node for i in n.input) + Counter(o.name for o in graph.output)
    by_output = {n.output[0]: n for n in graph.node}
    after = {i: n for n in graph.node for i in n.input}
    shapes = {v.name: [d.dim_value for d in v.type.tensor_type.shape.dim] for v in graph.value_info}

    def product(name: str) -> bool:
        return name in by_output and by_output[name].op_type == "MatMul"

    def several(name: str) -> bool:               # heads or batches: Deeploy's Gemm would add the sums of one to all
        node = by_output.get(name)
        return node is not None and node.op_type == "Reshape" and product(node.input[0]) and np.prod(shapes[name][:-2]) > 1

    for node in graph.node:
        if node.op_type not in INTEGER:
            wrong.append(f"{node.op_type} is left")
        summed = node.op_type == "Add" and after.get(node.output[0], node).op_type == "Add"      # of a product of two values with zero points
        if summed and not product(after[node.output[0]].input[0]) and not several(after[node.output[0]].input[0]):
            wrong.append(f"{node.name} is added to what is no product")
        if node.op_type == "Add" and product(node.input[1]):
            wrong.append(f"{node.name} has a product in the second place, which Deeploy takes for its own bias")
        if node.op_type == "Add" and product(node.input[0]) and np.prod(shapes[node.input[0]][:-2]) > 1:
            wrong.append(f"{node.name} becomes a Gemm with one bias for several products")
        summed |= node.op_type == "Add" and after[node.output[0]].op_type == "Mul"      # less a zero point
        if node.op_type in ("Conv", "Gemm", "Add", "Mul") and not summed and (readers[node.output[0]] != 1 or after[node.output[0]].op_type != "RequantShift"):
            wrong.append(f"{node.op_type} {node.name} has no RequantShift of its own")
        if node.op_type == "Conv" and len(node.input) != 2:
            wrong.append(f"{node.name} has a bias")
        if node.op_type == "Concat" and (len(node.input) != 2 or len({*node.input}) != 2 or any(readers[i] != 1 for i in node.input)
                                         or any(i in by_output and by_output[i].op_type == "Concat" for i in node.input)):
            wrong.append(f"{node.name} shares a part")
        if node.op_type == "Concat" and len({levels(graph, by_output, i) for i in node.input}) != 1:
            wrong.append(f"{node.name} has parts of several kinds")
        if node.op_type in ("Reshape", "Flatten") and node.output[0] in {o.name for o in graph.output}:
            wrong.append(f"{node.name} is an output")
    plain = Counter(re.sub("[^A-Za-z0-9_]", "", name) for name in {*by_output, *(i.name for i in graph.initializer), *(i.name for i in graph.input)})
    return wrong + [f"two values are called {name}" for name, count in plain.items() if count > 1]


# The largest two are like the others; they run once for each kind of integers.
CASES = [(n, k, t, "false") for n in NETS for k in KINDS for t in ("generic", "siracusa")
         if n not in MLPERF[2:] or (t == "generic" and k in ("int8", "uint8"))]
CASES += [(n, "symmetric", t, "true") for n in ("resnet8", "joins", "outputs", "sequence", "gated") for t in ("generic", "siracusa")]
CASES += [("dense", "int8", t, "true") for t in ("generic", "siracusa")]


@pytest.mark.parametrize("name, kind, target, merge", CASES)
def test_numbers(name, kind, target, merge, tmp_path):
    source, feeds = quantized(NETS[name](), kind, tmp_path)
    out = tmp_path / "out.onnx"
    done = lower(source, out, "sidecar=.", f"target={target}", f"merge_requant={merge}")
    if name == "attention" and kind != "symmetric" and target == "siracusa":
        assert done.returncode == 3 and "a product of two computed values needs zero points of 0" in done.stderr
        return
    if name == "gated" and kind != "symmetric" and target == "siracusa":
        assert done.returncode == 3 and "PULP multiplies signed values" in done.stderr
        return
    if (name, kind) == ("outputs", "pairs"):      # there ONNX Runtime leaves an output in float
        assert done.returncode == 3 and "a sum that is no input of a quantizer" in done.stderr
        return
    assert done.returncode == 0, done.stderr
    assert structure(onnx.load(out)) == []
    for output, (difference, steps) in differences(source, out, feeds[:2]).items():
        worst, energy = np.abs(difference).max(), (difference**2).sum()
        assert 10 * np.log10((steps**2).sum() / max(energy, 1e-9)) > SNR.get(name, 30), (output, worst)
        assert worst <= 4 or name in SNR, output
    again = lower(out, tmp_path / "again.onnx", f"target={target}", f"merge_requant={merge}")
    assert "nothing changed" in again.stdout, again.stdout + again.stderr


@pytest.mark.parametrize("name", MLPERF)
def test_page(name, tmp_path):
    """The table of docs/deeploy.md."""
    page = (SOURCE / "docs/deeploy.md").read_text()
    nodes, convs, adds, gemms, requants, rest = re.search(rf"^\| {name} \| (\d+) \| (\d+) \| (\d+) \| (\d+) \| (\d+) \| (\d+) \|", page, re.M).groups()
    source, _ = quantized(NETS[name](), "int8", tmp_path)
    out = tmp_path / "out.onnx"
    assert lower(source, out).returncode == 0
    counts = Counter(n.op_type for n in onnx.load(out).graph.node)
    found = [counts.total(), *(counts.pop(k, 0) for k in ("Conv", "Add", "Gemm", "RequantShift")), counts.total()]
    assert [*map(str, found[:5]), str(counts.total())] == [nodes, convs, adds, gemms, requants, rest]


def qcdq(lo: int, hi: int, out_scale: float | None = 0.05) -> onnx.ModelProto:
    """Two Gemms as Brevitas exports them: a Clip behind the quantizer tells the range."""
    rng = np.random.default_rng(0)
    nodes, constants = [], []

    def const(value, name):
        constants.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def pair(x, name, scale, bounds=None):
        s, z = const(np.float32(scale), name + "_s"), const(np.int8(0), name + "_z")
        q = name + "_q"
        nodes.append(helper.make_node("QuantizeLinear", [x, s, z], [q]))
        if bounds:
            nodes.append(helper.make_node("Clip", [q, const(np.int8(bounds[0]), name + "_l"), const(np.int8(bounds[1]), name + "_h")], [name + "_c"]))
            q = name + "_c"
        nodes.append(helper.make_node("DequantizeLinear", [q, s, z], [name]))
        return name

    def gemm(x, name, inner, outer):
        w = const(rng.integers(-7, 8, (outer, inner)).astype(np.int8), name + "_w")
        nodes.append(helper.make_node("DequantizeLinear", [w, const(np.float32(0.05), name + "_ws"), const(np.int8(0), name + "_wz")], [name + "_wd"]))
        nodes.append(helper.make_node("Gemm", [x, name + "_wd"], [name], transB=1))
        return name

    x = gemm(pair("input", "a", 0.02), "g", 16, 8)
    y = gemm(pair(x, "b", 0.0213, (lo, hi)), "h", 8, 4)
    y = pair(y, "c", out_scale) if out_scale else y
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("input", TensorProto.FLOAT, [1, 16])],
                              [helper.make_tensor_value_info(y, TensorProto.FLOAT, [1, 4])], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


@pytest.mark.parametrize("lo, hi, told", [(-8, 7, True), (0, 15, True), (-128, 127, True), (-7, 7, False), (0, 14, False), (-127, 127, False)])
def test_ranges(lo, hi, told, tmp_path):
    source, out = tmp_path / "model.onnx", tmp_path / "out.onnx"
    onnx.save(qcdq(lo, hi), source)
    done = lower(source, out, "sidecar=.")
    if not told:
        assert done.returncode == 3 and f"the range of this quantizer, {lo} to {hi}, has no RequantShift" in done.stderr and not out.exists()
        return
    feeds = [{"input": np.random.default_rng(k).normal(size=(1, 16)).astype(np.float32)} for k in range(20)]
    (difference, _), = differences(source, out, feeds).values()
    assert np.abs(difference).max() <= 1


def test_output_without_quantizer(tmp_path):
    source, out = tmp_path / "model.onnx", tmp_path / "out.onnx"
    onnx.save(qcdq(-8, 7, None), source)
    done = lower(source, out)
    assert done.returncode == 3 and "output_range" in done.stderr
    feeds = [{"input": np.random.default_rng(k).normal(size=(1, 16)).astype(np.float32)} for k in range(20)]
    top = max(np.abs(v).max() for f in feeds for v in run(source, f).values())
    assert lower(source, out, "sidecar=.", f"output_range={top}").returncode == 0
    (difference, steps), = differences(source, out, feeds).values()
    assert np.abs(difference).max() <= 1 and np.abs(steps).max() == 127
    assert lower(source, out, "sidecar=.", "wide_outputs=true").returncode == 0
    assert onnx.load(out).graph.output[0].type.tensor_type.elem_type == TensorProto.INT32
    (difference, steps), = differences(source, out, feeds).values()
    assert np.abs(difference).max() == 0 and np.abs(steps).max() > 127


def test_names(tmp_path):
    """Deeploy drops all but letters, digits and underscores; what is left is one name for each value, and an input's own."""
    net = Net({"in.put": [1, 3, 8, 8]})
    y = net.conv("in.put", 3, 4)
    net.nodes[0].output[0] = net.nodes[1].input[0] = "input"
    net.nodes[0].name, net.nodes[1].name = "a.b", "ab"
    net.end(net.conv(y, 4, 4, act=""))
    source, feeds = quantized(net, "int8", tmp_path)
    out = tmp_path / "out.onnx"
    assert lower(source, out, "sidecar=.").returncode == 0
    model = onnx.load(out)
    assert [i.name for i in model.graph.input] == ["in.put"]
    assert structure(model) == []
    nodes = [re.sub("[^A-Za-z0-9_]", "", n.name) for n in model.graph.node]
    assert len({*nodes}) == len(nodes)


def test_operator_form(tmp_path):
    """QLinear operators take the way over QDQ that rules/README.md names."""
    source, feeds = quantized(NETS["resnet8"](), "uint8", tmp_path)
    direct, form, out = tmp_path / "direct.onnx", tmp_path / "qop.onnx", tmp_path / "out.onnx"
    assert lower(source, direct).returncode == 0
    assert lower(source, form, rules=["qdq_to_qop"]).returncode == 0
    assert "QLinearConv" in {n.op_type for n in onnx.load(form).graph.node}
    done = lower(form, out, "sidecar=.", rules=["qop_to_qdq", "deeploy"])
    assert done.returncode == 0, done.stderr
    assert Counter(n.op_type for n in onnx.load(out).graph.node) == Counter(n.op_type for n in onnx.load(direct).graph.node)
    (difference, _), = differences(source, out, feeds[:2]).values()
    assert np.abs(difference).max() <= 4


def qonnx(model: onnx.ModelProto) -> onnx.ModelProto:
    """The same with QONNX's Quant in place of each pair, and of each dequantizer of int8 weights."""
    graph = model.graph
    values = {i.name: numpy_helper.to_array(i) for i in graph.initializer}
    made = {n.output[0]: n for n in graph.node}
    nodes = []

    def const(value, name):
        graph.initializer.append(numpy_helper.from_array(np.asarray(value, np.float32), name))
        return name

    for node in graph.node:
        if node.op_type != "DequantizeLinear" or node.input[0] in values and values[node.input[0]].dtype == np.int32:
            if node.op_type != "QuantizeLinear":
                nodes.append(node)
            continue
        scale, zero = values[node.input[1]], values[node.input[2]]
        data = node.input[0]
        if data in values:
            axis = next((a.i for a in node.attribute if a.name == "axis"), 1)
            scale, zero = (v.reshape([-1 if k == axis % values[data].ndim else 1 for k in range(values[data].ndim)]) if v.size > 1 else v for v in (scale, zero))
            data = const((values[data].astype(np.float32) - zero) * scale, node.name + "_w")
        else:
            data = made[data].input[0]
        nodes.append(helper.make_node("Quant", [data, const(scale, node.name + "_s"), const(zero, node.name + "_z"), const(8, node.name + "_b")], node.output,
                                      domain="qonnx.custom_op.general", signed=int(values[node.input[2]].dtype == np.int8), narrow=0, rounding_mode="ROUND"))
    del graph.node[:]
    graph.node.extend(nodes)
    model.opset_import.append(helper.make_opsetid("qonnx.custom_op.general", 1))
    return model


@pytest.mark.parametrize("name, kind", [("resnet8", "int8"), ("joins", "uint8"), ("sequence", "symmetric")])
def test_qonnx(name, kind, tmp_path):
    """Quant and the pairs that say the same become the same network."""
    source, feeds = quantized(NETS[name](), kind, tmp_path)
    pairs, form, out = tmp_path / "pairs.onnx", tmp_path / "qonnx.onnx", tmp_path / "out.onnx"
    assert lower(source, pairs).returncode == 0
    onnx.save(qonnx(onnx.load(source)), form)
    assert {n.op_type for n in onnx.load(form).graph.node} & {"QuantizeLinear"} == set()
    done = lower(form, out, "sidecar=.")
    assert done.returncode == 0, done.stderr
    assert Counter(n.op_type for n in onnx.load(out).graph.node) == Counter(n.op_type for n in onnx.load(pairs).graph.node)
    for difference, _ in differences(source, out, feeds[:2]).values():
        assert np.abs(difference).max() <= 4
