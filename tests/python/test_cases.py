"""Whole runs on recorded models: the command, its exit status, the operators left, and the numbers in
ONNX Runtime against recorded references. fixtures/cases/<suite>/<case>/case.json says what must hold."""
import gzip
import json
import os
import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest

ROOT = Path(os.environ["QREWRITE_SOURCE_DIR"])
CASES = sorted(p.parent for p in (ROOT / "fixtures/cases").glob("*/*/case.json"))
# What every computing quantized operator is called; `@quantized` in a case.
QUANTIZED = {
    "QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear", "QLinearConv", "QLinearMatMul",
    "ConvInteger", "MatMulInteger", *("com.microsoft::" + op for op in (
        "QuantizeLinear", "DequantizeLinear", "DynamicQuantizeMatMul", "MatMulIntegerToFloat", "QGemm",
        "QLinearAdd", "QLinearMul", "QLinearConv", "QLinearConcat", "QLinearGlobalAveragePool"))}


def qrewrite(case: dict, model: Path, out: Path) -> subprocess.CompletedProcess:
    flags = [str(out.parent) if f == "OUT" else f for f in case.get("flags", [])]
    command = [os.environ["QREWRITE"], "--rules", str(ROOT / "rules" / case["rules"]), str(model),
               "-o", str(out), *flags]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=out.parent)


def nodes(graph: onnx.GraphProto):
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                yield from nodes(attribute.g)


def count_ops(model: onnx.ModelProto) -> Counter:
    return Counter(n.op_type if not n.domain else f"{n.domain}::{n.op_type}" for n in nodes(model.graph))


def samples(folder: Path, kind: str) -> list[dict]:
    if not (folder / "io.npz").exists():
        return []
    found: dict[int, dict] = {}
    with np.load(folder / "io.npz") as data:
        for key in data.files:
            if key.startswith(kind + "/"):
                name, k = key.split("/", 1)[1].rsplit("/", 1)
                found.setdefault(int(k), {})[name] = data[key]
    return [found[k] for k in sorted(found)]


def run(path: Path, feeds: list[dict]) -> list[dict]:
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    names = [o.name for o in session.get_outputs()]
    return [dict(zip(names, session.run(names, feed))) for feed in feeds]


def check_numbers(case: dict, folder: Path, out: Path) -> None:
    for kind, bound in (("ref", case.get("bound_rel")), ("twin", case.get("twin_bound_rel"))):
        wanted = samples(folder, kind)
        if bound is None or not wanted or "numeric" in case.get("skip", []):
            continue
        got = run(out, samples(folder, "in"))
        for name in wanted[0]:
            if wanted[0][name].dtype.kind != "f":
                continue
            limit = case.get("outputs", {}).get(name, {}).get("bound_rel", bound) \
                if case.get("outputs") else bound
            top = max(float(np.max(np.abs(w[name]), initial=0)) for w in wanted) or 1.0
            error = max(float(np.max(np.abs(g[name].astype(np.float64) - w[name]), initial=0))
                        for g, w in zip(got, wanted))
            assert error / top <= limit, f"{kind} {name}: {error / top:.3g} > {limit:g}"


def prepare(case: dict, folder: Path, work: Path) -> Path:
    """A copy of the case to work on; what is not stored is made."""
    shutil.copytree(folder, work)
    if (work / "model.onnx.gz").exists():
        (work / "model.onnx").write_bytes(gzip.decompress((work / "model.onnx.gz").read_bytes()))
    for step in case.get("setup", []):
        (work / step["file"]).write_bytes(bytes([step["fill"]]) * step["size"])
    return work / "model.onnx"


@pytest.mark.parametrize("folder", CASES, ids=lambda p: f"{p.parent.name}/{p.name}")
def test_case(folder: Path, tmp_path: Path) -> None:
    case = json.loads((folder / "case.json").read_text())
    model = prepare(case, folder, tmp_path / "in")
    (tmp_path / "out").mkdir()
    out = tmp_path / "out" / "out.onnx"
    before = model.read_bytes()
    result = qrewrite(case, model, out)
    messages = result.stdout + result.stderr
    assert model.read_bytes() == before
    assert result.returncode >= 0 and not re.search("Sanitizer|runtime error", messages), messages
    for pattern in case.get("message", []):
        assert re.search(pattern, messages, re.IGNORECASE), f"{pattern} not in\n{messages}"
    expect = case.get("expect")
    if expect == "clean_error" or (expect == "no_crash" and result.returncode != 0):
        assert result.returncode in range(1, 126) and not os.listdir(out.parent), messages
        return
    if expect == "no_crash":
        return
    assert result.returncode in case.get("exit_codes", [0]), messages
    ops = count_ops(onnx.load(out))
    forbidden = case.get("forbidden_ops", [])
    allowed = {op[1:] for op in forbidden if op.startswith("-")}
    for op in forbidden:
        for name in (QUANTIZED if op == "@quantized" else {op}) - allowed:
            assert ops[name] == 0, f"{ops[name]} x {name} left"
    for op, least in case.get("required_ops", {}).items():
        assert ops[op] >= least, f"{ops[op]} x {op}"
    if case.get("identical"):
        assert out.read_bytes() == before
    check_numbers(case, folder, out)
    again = tmp_path / "out" / "again.onnx"
    assert qrewrite(case, out, again).returncode == 0
    assert again.read_bytes() == out.read_bytes(), "a second run changes the model"
