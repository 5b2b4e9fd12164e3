"""docs/rules.md: its generated parts are up to date, its whole files pass, its sessions are true."""
import os
import re
import subprocess
import sys
from pathlib import Path

import onnx
import onnx.parser
import pytest

PROGRAM = os.environ["QREWRITE"]
SOURCE = Path(os.environ["QREWRITE_SOURCE_DIR"])
PAGE = (SOURCE / "docs" / "rules.md").read_text()
FILES = dict(re.findall(r"^```(?:yaml|json) file=(\S+)\n(.*?)^```$", PAGE, re.M | re.S))
SESSIONS = re.findall(r"^```console\n(.*?)^```$", PAGE, re.M | re.S)

BROKEN = """qrewrite: 1
name: broken
rules:
  - name: merge
    match: y = acme.Gain(acme.Gain(x, a), b)
    let: {f: a * b}
    replace: y = acme.Gain(x, f)
    tests:
      - name: wrong
        given: |
          x: float[4]
          y = acme.Gain(acme.Gain(x, 2.0), 3.0)
        expect: |
          x: float[4]
          y = acme.Gain(x, 5.0)
      - name: none
        given: |
          x: float[4]
          a: float
          y = acme.Gain(acme.Gain(x, a), 3.0)
        expect: |
          x: float[4]
          a: float
          y = acme.Gain(x, 6.0)
"""


def run(*args, folder):
    environment = {**os.environ, "NO_COLOR": "1", "QREWRITE_RULES_DIR": str(SOURCE / "rules")}
    return subprocess.run([PROGRAM, *args], cwd=folder, capture_output=True, text=True, timeout=60, env=environment)


@pytest.fixture
def folder(tmp_path):
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "broken.yaml").write_text(BROKEN)
    model = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["": 17, "acme": 1]>
        g (float[2, 8] x) => (float[2, 8] y) <float a = {0.5}, float b = {4.0}> {
          t = acme.Gain(x, a)  y = acme.Gain(t, b)
        }""")
    onnx.save(model, tmp_path / "model.onnx")
    del model.graph.node[1]
    model.graph.node[0].output[0] = "y"
    model.graph.node[0].name = "Gain"
    del model.graph.initializer[1]
    onnx.save(model, tmp_path / "gains.onnx")
    return tmp_path


def test_generated_parts():
    done = subprocess.run([sys.executable, SOURCE / "tools" / "gen_docs.py", "--check", "--qrewrite", PROGRAM],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_there_are_files():
    assert len(FILES) >= 5 and len(SESSIONS) >= 3


@pytest.mark.parametrize("name", FILES)
def test_file(name, folder):
    lint = run("lint", name, folder=folder)
    assert lint.returncode == 0 and " 0 warnings" in lint.stdout or name == "device.yaml", lint.stderr
    test = run("test", name, folder=folder)
    assert test.returncode == 0, test.stdout + test.stderr
    assert not test.stdout.startswith("0 passed"), "no test in " + name


@pytest.mark.parametrize("number", range(len(SESSIONS)))
def test_session(number, folder):
    """Commands behind `$ ` print what follows them."""
    for command, expected in re.findall(r"^\$ qrewrite (.*)\n((?:(?!\$ ).*\n)*)", SESSIONS[number], re.M):
        done = run(*command.split(), folder=folder)
        assert done.stderr + done.stdout == expected


def test_readme_rule(tmp_path):
    readme = (SOURCE / "README.md").read_text()
    (tmp_path / "tidy.yaml").write_text(re.search(r"^```yaml\n(.*?)^```$", readme, re.M | re.S)[1])
    assert run("lint", "--strict", "tidy.yaml", folder=tmp_path).returncode == 0
    assert run("test", "tidy.yaml", folder=tmp_path).stdout == "2 passed, 0 failed\n"


def test_readme_example_is_that_of_the_header():
    readme = (SOURCE / "README.md").read_text()
    example = re.search(r"^```cpp\n(.*?)^```$", readme, re.M | re.S)[1]
    header = (SOURCE / "include" / "qrewrite" / "qrewrite.h").read_text()
    comment = "".join(line[2:].removeprefix("   ") + "\n" for line in header.splitlines() if line.startswith("//"))
    assert example in comment


def test_readme_names_every_rule_set():
    readme = (SOURCE / "README.md").read_text()
    for path in (SOURCE / "rules").glob("*.yaml"):
        assert f"| `{path.stem}` |" in readme, path.name


@pytest.mark.parametrize("path", sorted((SOURCE / "rules").glob("*.yaml")), ids=lambda p: p.stem)
def test_every_shipped_rule_says_what_it_is_for(path, tmp_path):
    """Which graph it comes from, what it promises, and two tests: one fires, a near-miss does not."""
    listed = run("rules", str(path), folder=tmp_path).stdout.partition("\nrules\n")[2]
    rules = re.findall(r"^  (\S+)(?:  \((.*)\))?\n((?:      .*\n)*)", listed, re.M)
    assert rules
    for name, facts, doc in rules:
        equivalence, _, tests = facts.rpartition(", ")
        assert equivalence and doc, name
        assert int(tests.split()[0]) >= 2, name
