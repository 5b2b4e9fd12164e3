"""Shipped rule sets are in the program as the build read and checked them (engine/rule/snapshot.h): a run with one is a run with
the same rules read from a file that somebody edited."""
import json
import os
import subprocess
from pathlib import Path

import pytest

SOURCE = Path(os.environ["QREWRITE_SOURCE_DIR"])
PROGRAM = Path(os.environ["QREWRITE"])
RULES = sorted(path.stem for path in (SOURCE / "rules").glob("*.yaml"))
MODELS = [*sorted((SOURCE / "fixtures/models").glob("*.onnx")),
          *(model for suite in sorted((SOURCE / "fixtures/cases").iterdir()) for model in sorted(suite.glob("*/model.onnx"))[:3])]
FIRE = {"aidge_export_qdq", "aidge_export_qop", "deeploy", "ezkl_dequant", "opset_upgrade", "optimize", "qdq_to_qop"}  # on these models


@pytest.fixture(scope="module")
def edited(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rules")
    for path in (SOURCE / "rules").glob("*.yaml"):
        (folder / path.name).write_text(path.read_text() + "\n# an edit\n")
    return folder


def run(rules: Path, model: Path, out: Path):
    """Exit code, what was said, the report, each firing, and the model that was written."""
    report, trace = out.with_suffix(".json"), out.with_suffix(".trace")
    done = subprocess.run([PROGRAM, "--rules", rules, model, "-o", out, f"--json={report}", "--trace", trace], capture_output=True, text=True,
                          timeout=60)
    said = json.loads(report.read_text()) if report.exists() else {}
    texts = [done.stderr, json.dumps(said), trace.read_text() if trace.exists() else ""]
    for path, word in ((out, "OUT"), (rules.parent, "RULES")):
        texts = [text.replace(str(path), word) for text in texts]
    return done.returncode, texts, out.read_bytes() if out.exists() else b""


@pytest.mark.parametrize("name", RULES)
def test_as_read_from_files(name, edited, tmp_path):
    fired = 0
    for i, model in enumerate(MODELS):
        shipped = run(SOURCE / "rules" / f"{name}.yaml", model, tmp_path / f"a{i}.onnx")
        read = run(edited / f"{name}.yaml", model, tmp_path / f"b{i}.onnx")
        assert shipped == read, model
        fired += bool(shipped[1][2])
    assert fired or name not in FIRE


@pytest.mark.parametrize("name", RULES)
def test_tests(name, edited):
    """The tests of the rules as well: the same pass, and as many."""
    shipped, read = (subprocess.run([PROGRAM, "test", folder / f"{name}.yaml"], capture_output=True, text=True, timeout=120)
                     for folder in (SOURCE / "rules", edited))
    assert shipped.returncode == read.returncode == 0
    assert shipped.stdout.replace(str(SOURCE / "rules"), "RULES") == read.stdout.replace(str(edited), "RULES")


def test_the_program_has_them():
    """What the build wrote is in the program, and has every rule set."""
    snapshots = (PROGRAM.parent / "generated/rules.snapshots").read_bytes()
    assert snapshots in PROGRAM.read_bytes()
    missing = [name for name in RULES if name.encode() not in snapshots]
    assert not missing
