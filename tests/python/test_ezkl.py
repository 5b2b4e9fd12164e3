"""EZKL itself reads what `ezkl_dequant` and `ezkl_finish` write, and its circuits compute what ONNX Runtime
computes. And docs/ezkl.md: its commands and scripts, from the page itself.
"""
import concurrent.futures
import importlib.util
import json
import os
import platform
import re
import subprocess
import sys
from pathlib import Path

import onnx
import pytest
from finish_models import MODELS, build

ROOT = Path(os.environ["QREWRITE_SOURCE_DIR"])
PROGRAM = os.environ["QREWRITE"]
CHILD = Path(__file__).with_name("ezkl_child.py")
PAGE = (ROOT / "docs/ezkl.md").read_text()
FILES = dict(re.findall(r"^```python file=(\S+)\n(.*?)^```$", PAGE, re.M | re.S))
SESSIONS = re.findall(r"^```console\n(.*?)^```$", PAGE, re.M | re.S)

CASES = {p.parent.name: p.parent for p in sorted((ROOT / "fixtures/cases/dequant").glob("*/case.json"))}
# An integer graph output keeps its QuantizeLinear, which EZKL reads as Identity.
WRONG_ANYWAY = {"39a_q_output_is_graph_output"}
# Cases that end in a float model only with --set finish=always.
FLAGS = {"51b_float_model_untouched": ["--set", "finish=always"]}


@pytest.fixture(scope="module", autouse=True)
def client():
    """Without EZKL there is nothing to test: a failure in CI and wherever there is a package of it."""
    if importlib.util.find_spec("ezkl"):
        return
    message = ("the Python package ezkl is missing; `tools/dev venv` installs it on Linux x86_64, "
               f"elsewhere (here: {platform.system()} {platform.machine()}) try `pip install ezkl==23.0.5`")
    if os.environ.get("CI") or (platform.system(), platform.machine()) == ("Linux", "x86_64"):
        pytest.fail(message)
    pytest.skip(message)


def rewrite(rules: str, source: Path, out: Path, *flags: str) -> None:
    command = [PROGRAM, "--rules", str(ROOT / "rules" / rules), str(source), "-o", str(out), *flags]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


def ask(model: Path, samples: Path | None = None) -> dict:
    """EZKL's answer, from a process of its own."""
    folder = model.with_suffix(".ezkl")
    folder.mkdir()
    command = [sys.executable, str(CHILD), str(model), *([str(samples)] if samples else [])]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace", timeout=300)
    result = folder / "result.json"
    assert result.exists(), f"EZKL ended with status {done.returncode}: {done.stderr[-500:]}"
    return json.loads(result.read_text())


def accepted(answer: dict) -> bool:
    return "reason" not in answer and answer["error"] <= answer["tolerance"]


@pytest.fixture(scope="module")
def answers(client, tmp_path_factory) -> dict:
    """Of all cases, two at a time."""
    folder = tmp_path_factory.mktemp("ezkl")

    def of_case(name: str) -> dict:
        case = json.loads((CASES[name] / "case.json").read_text())
        out = folder / f"{name}.onnx"
        rewrite(case["rules"], CASES[name] / "model.onnx", out, *case.get("flags", []), *FLAGS.get(name, []))
        return ask(out, CASES[name] / "io.npz")

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        futures = {name: pool.submit(of_case, name) for name in CASES}
    return futures


@pytest.mark.parametrize("name", CASES)
def test_case(name, answers):
    answer = answers[name].result()
    assert "reason" not in answer, answer["reason"]
    assert (answer["error"] <= answer["tolerance"]) == (name not in WRONG_ANYWAY), answer


@pytest.mark.parametrize("model", MODELS, ids=lambda m: m.name)
def test_finished_model(model, tmp_path):
    source, out = tmp_path / "model.onnx", tmp_path / "out.onnx"
    onnx.save(build(model, model.opsets[-1], "N"), source)
    if model.ezkl is not None:
        before = ask(source)
        assert not accepted(before), "EZKL reads it as it is: the rule has become needless"
        assert model.ezkl in before.get("reason", "wrong")
    rewrite("ezkl_finish.yaml", source, out, *model.flags)
    answer = ask(out)
    assert accepted(answer), answer


def test_page(client, tmp_path):
    """The sessions print what the page says, one behind the other."""
    (tmp_path / "model.onnx").write_bytes((ROOT / "fixtures/models/dynamic_mlp.onnx").read_bytes())
    onnx.save(build(next(m for m in MODELS if m.name == "float_cnn"), 17, 1), tmp_path / "float_cnn.onnx")
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    bin_folders = [str(Path(PROGRAM).parent), str(Path(sys.executable).parent)]
    environment = {**os.environ, "PATH": os.pathsep.join([*bin_folders, os.environ["PATH"]]), "NO_COLOR": "1",
                   "QREWRITE_RULES_DIR": str(ROOT / "rules")}
    commands = [c for s in SESSIONS for c in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", s, re.M)]
    assert len(commands) >= 4 and len(FILES) >= 2
    for command, expected in commands:
        done = subprocess.run(command.split(), cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        # Scripts of Python are EZKL's to comment on; of qrewrite everything counts.
        output = done.stdout if not command.startswith("python") else done.stdout.splitlines()[-1] + "\n"
        assert output == expected, command
