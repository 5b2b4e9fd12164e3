"""What the report of qrewrite verify says of differences, and what --save-repro leaves."""
import json
import os
import re
import xml.etree.ElementTree as ElementTree

import onnx
import onnx.parser
import pytest

from test_verify import HEADER, folder, run  # noqa: F401


def test_save_repro_over_another(folder):
    """What a test of more inputs left would be read as inputs of this one."""
    data = folder / "again" / "test_data_set_0"
    data.mkdir(parents=True)
    for name in "input_1.pb", "output_1.pb", "output_7.pb", "input_x.pb":
        (data / name).write_bytes(b"old")
    assert run(folder, "verify", "gain.onnx", "other.onnx", "--save-repro", "again")[0] == 1
    assert sorted(os.listdir(data)) == ["input_0.pb", "input_x.pb", "output_0.pb"]


@pytest.mark.parametrize("pair", [("gain", "other"), ("whole", "next"), ("gain", "near"), ("ints", "more")])
def test_tolerances_that_it_would_pass(folder, pair):
    """They are rounded so that it does."""
    for name, text in {"near": "g (float[N, 4] x) => (float[N, 4] y) <float k = {3.0123717}> { y = Mul(x, k) }",
                       "ints": "g (int32[N, 7] x) => (int32[N, 7] y) <int32[7] k = {1, 1, 1, 1, 1, 1, 1}> { y = Mul(x, k) }",
                       "more": "g (int32[N, 7] x) => (int32[N, 7] y) <int32[7] k = {1, 4, 1, 1, 1, 1, 1}> { y = Mul(x, k) }"}.items():
        onnx.save(onnx.parser.parse_model(HEADER + text), folder / f"{name}.onnx")
    models = [f"{name}.onnx" for name in pair]
    _, out, _ = run(folder, "verify", "--tol", "exact", *models)
    tolerances = re.findall("it would pass with (.*)", out)[0].split("; ")
    assert len(tolerances) >= 2
    for tolerance in tolerances:
        code, out, _ = run(folder, "verify", "--tol", tolerance, *models)
        assert code == 0, (tolerance, out)


def test_numbers_on_one_side_alone(folder):
    """Nothing says how far apart they are, and no tolerance lets them pass."""
    code, out, _ = run(folder, "verify", "nan.onnx", "gain.onnx")
    assert code == 1 and "y       DIVERGED               -" in out and "it would pass" not in out, out
    output = json.loads(run(folder, "verify", "--json", "nan.onnx", "gain.onnx")[1])["outputs"][0]
    assert output["not_numbers"] == output["elements"] > 0 and output["sqnr_db"] is None


def test_numbers_of_junit_stand_in_lines(folder):
    out = run(folder, "verify", "--report", "junit", "gain.onnx", "other.onnx")[1]
    lines = ElementTree.fromstring(out).find("testcase/system-out").text.splitlines()
    assert lines[0] == "verdict: DIVERGED" and all(re.fullmatch("[a-zA-Z ()]+: .+", line) for line in lines) and len(lines) > 5, lines
