"""qrewrite prove: the shipped rule sets keep their promises, faults planted in copies of them are found,
errors."""
import json
import os
import re
import subprocess

import pytest
from cli import PROGRAM, SOURCE

RULES = SOURCE / "rules"
SETS = sorted(path.stem for path in RULES.glob("*.yaml"))

# What is refuted and stays so, with the reason.
KNOWN = {
    # A division by the range of one number; no quantizer has such numbers.
    "ezkl_dequant": {"expanded-dynamic", "sink"} |
    # A scale of 1e38, which `endless` takes first when the whole set runs.
    {"pair"} |
    # A few small integers, whose rounding behind an interpolation is as large as they are.
    {"interpolate"},
    # ONNX Runtime: the mask of Dropout before opset 12 is zeros; its own expansion of
    # MeanVarianceNormalization-13 mixes FLOAT16 with FLOAT; it does not split 0 rows into equal parts.
    "opset_upgrade": {"dropout-12", "mvn-13", "split-18"},
    # Sums of int8 are wider in Aidge than in ONNX; the images of its `unit` input are in 0..1.
    "aidge_export_qdq": {"cast-up-add", "input-unit"},
    # ONNX Runtime's QLinearSoftmax of nothing.
    "qdq_to_qop": {"softmax"},
    # An output scale that is negative, as the proof may feed it.
    "qoperator": {"qlinear-softmax"},
    # com.microsoft.DequantizeLinear has no blocks in ONNX Runtime; ours has.
    "qdq_form": {"matmul-nbits"},
}


def prove(*args, runtime="builtin", cwd=None):
    environment = {**os.environ, "NO_COLOR": "1", "QREWRITE_RULES_DIR": str(RULES)}
    done = subprocess.run([PROGRAM, "prove", "--runtime", runtime, *map(str, args)], cwd=cwd, capture_output=True,
                          text=True, timeout=300, env=environment)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("name", SETS)
def test_shipped(name):
    code, out, err = prove(RULES / f"{name}.yaml", "--quick", "--graphs", 100, "--json", runtime="ort")
    assert code in (0, 1), err
    report = json.loads(out)
    refuted = {rule["rule"]: rule["why"] + "\n" + rule["counterexample"] for rule in report["rules"] if rule["outcome"] == "refuted"}
    assert {rule: why for rule, why in refuted.items() if rule not in KNOWN.get(name, set())} == {}


# A line of a shipped file, what becomes of it, and the rule that is wrong then.
FAULTS = [
    ("qdq_to_qop", "s > 0", "s == s", "implied-relu"),
    ("qop_to_qdq", "- op(n) != 'MaxPool' or s > 0", "- size(s) == 1", "wrap-move"),
    ("qop_to_qdq", "- op(n) != 'Resize' or mode == 'nearest'", "- size(s) == 1", "wrap-move"),
    ("qop_to_qdq", "- size(s) == 1 and s != 0", "- s != 0", "wrap-move"),
    ("optimize", "where: $widens(dtype(x), mid) and t != STRING", "where: t != STRING", "cast-pair"),
    ("optimize", "equivalence: exact\n    match: y = Transpose<perm=p>(Transpose<perm=q>(x))",
     "equivalence: exact\n    match: y = Transpose<perm=q>(Transpose<perm=p>(x))", "transpose-pair"),
    ("optimize", " and (i == 1 or q == 0)", "", "pad-pool"),
    ("strip_qdq", "when: s == s2 and (z ?? 0) == (z2 ?? 0)", "when: s == s2", "in-front"),
]


@pytest.mark.parametrize("name,line,fault,rule", FAULTS, ids=[f"{f[0]}-{f[3]}-{i}" for i, f in enumerate(FAULTS)])
def test_planted(tmp_path, name, line, fault, rule):
    for path in RULES.glob("*.yaml"):
        (tmp_path / path.name).write_text(path.read_text())
    text = (RULES / f"{name}.yaml").read_text()
    assert line in text
    (tmp_path / f"{name}.yaml").write_text(text.replace(line, fault, 1))
    code, out, err = prove(f"{name}.yaml", "--quick", "--rule", rule, cwd=tmp_path)
    assert code == 1, out + err
    assert f"rule `{rule}` does not keep its promise" in out
    assert re.search(r"given: \|\n", out)


def test_why(tmp_path):
    code, out, err = prove(RULES / "qop_to_qdq.yaml", "--why", "--rule", "wrap-move", "--graphs", 300)
    assert code == 0, err
    assert "`op(n) != 'MaxPool' or s > 0`: needed" in out
    assert "needs `op(n) != 'MaxPool' or s > 0`" in out


@pytest.mark.parametrize("args,message", [
    (["nowhere.yaml"], "there is no file `nowhere.yaml`"),
    (["qop_to_qdq", "--rule", "wrap-mov"], "there is no rule `wrap-mov`; did you mean `wrap-move`?"),
    (["qop_to_qdq", "--graphs", "-1"], "--graphs"),
    ([], "rules"),
])
def test_errors(args, message, tmp_path):
    code, out, err = prove(*args, cwd=tmp_path)
    assert code in (2, 6) and message in err, (code, out, err)
