"""docs/: generated parts are up to date, whole files pass, sessions are true."""
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import onnx
import onnx.parser
import pytest
from debug_models import QuantType, pair

PROGRAM = os.environ["QREWRITE"]
SOURCE = Path(os.environ["QREWRITE_SOURCE_DIR"])
PAGES = {name: (SOURCE / "docs" / name).read_text()
         for name in ("rules.md", "dequantize.md", "debug.md", "verify.md", "find.md", "explain.md", "prove.md", "diff.md",
                      "tutorial.md", "cookbook.md", "exit_codes.md")}
FILES = {page: dict(re.findall(r"^```(?:yaml|json) file=(\S+)\n(.*?)^```$", text, re.M | re.S))
         for page, text in PAGES.items()}
# The commands behind `$ qrewrite ` of a session, with what they print.
SESSIONS = [(page, number, re.findall(r"^\$ qrewrite (.*)\n((?:(?!\$ ).*\n)*)", session, re.M))
            for page, text in PAGES.items()
            for number, session in enumerate(re.findall(r"^```console\n(.*?)^```$", text, re.M | re.S))]

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
    return subprocess.run([PROGRAM, *args], cwd=folder, capture_output=True, text=True, timeout=240, env=environment)


def gains(path: Path) -> None:
    """What docs/rules.md works on: model.onnx of two scales, gains.onnx of one."""
    model = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["": 17, "acme": 1]>
        g (float[2, 8] x) => (float[2, 8] y) <float a = {0.5}, float b = {4.0}> {
          t = acme.Gain(x, a)  y = acme.Gain(t, b)
        }""")
    onnx.save(model, path / "model.onnx")
    del model.graph.node[1]
    model.graph.node[0].output[0] = "y"
    model.graph.node[0].name = "Gain"
    del model.graph.initializer[1]
    onnx.save(model, path / "gains.onnx")


def quantized(path: Path) -> None:
    """What docs/dequantize.md works on: a recorded model, and one with quantizers of its own."""
    (path / "model.onnx").write_bytes((SOURCE / "fixtures/models/qdq_cnn.onnx").read_bytes())
    model = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["": 17, "acme": 1]>
        g (float[2, 4] x) => (float[2, 4] y)
        <float s = {0.05}, float t = {0.01}, float[4, 4] w = {1,0,0,0, 0,1,0,0, 0,0,1,0, 0,0,0,1}> {
          a = acme.FakeQuant<signed: int = 0>(x, s)  b = acme.FakeQuant(w, t)  y = MatMul(a, b)
        }""")
    onnx.save(model, path / "acme.onnx")


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Of each page: its files and models; one folder for all its sessions, which come one behind the other."""
    made = {page: tmp_path_factory.mktemp(page.removesuffix(".md")) for page in PAGES}
    for page, path in made.items():
        for name, text in FILES[page].items():
            (path / name).write_text(text)
    (made["rules.md"] / "broken.yaml").write_text(BROKEN)
    gains(made["rules.md"])
    quantized(made["dequantize.md"])
    pair(made["debug.md"], outlier=True,
         options={"activation_type": QuantType.QUInt16, "extra_options": {"UseQDQContribOps": True}})
    for page in ("verify.md", "find.md", "explain.md", "diff.md", "tutorial.md", "exit_codes.md"):
        quantized(made[page])
    return made


def test_generated_parts():
    done = subprocess.run([sys.executable, SOURCE / "tools" / "gen_docs.py", "--check", "--qrewrite", PROGRAM],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_there_are_files():
    assert all(len(FILES[page]) >= least for page, least in (("rules.md", 5), ("dequantize.md", 1)))
    assert [page for page, _, _ in SESSIONS].count("rules.md") >= 3 and len(SESSIONS) >= 8


@pytest.mark.parametrize("page,name", [(page, name) for page in PAGES for name in FILES[page]])
def test_file(page, name, folders):
    lint = run("lint", name, folder=folders[page])
    assert lint.returncode == 0 and " 0 warnings" in lint.stdout or name == "device.yaml", lint.stderr
    test = run("test", name, folder=folders[page])
    assert test.returncode == 0, test.stdout + test.stderr
    assert not test.stdout.startswith("0 passed"), "no test in " + name


@pytest.mark.parametrize("name", FILES["cookbook.md"])
def test_recipe_keeps_its_promise(name, folders):
    proof = run("prove", "--quick", "--graphs", "1000", "--runtime", "builtin", name, folder=folders["cookbook.md"])
    assert proof.returncode == 0 and " 0 silent" in proof.stdout, proof.stdout + proof.stderr


def test_recipes_say_who_asked():
    recipes = re.split(r"^### .*$", PAGES["cookbook.md"], flags=re.M)[1:]
    assert len(recipes) == len(FILES["cookbook.md"]) >= 30
    for recipe in recipes:
        assert re.search(r"\[([\w.-]+/[\w.-]+)#(\d+)\]\(https://github\.com/\1/issues/\2\)", recipe), recipe[:80]
        assert "expect: unchanged" in recipe, recipe[:80]


def unplaced(text: str) -> str:
    """Without the lines of shipped rule files, which move with every rule that is added."""
    shipped = "|".join(path.name for path in (SOURCE / "rules").glob("*.yaml"))
    return re.sub(rf"({shipped}):[0-9]+:[0-9]+", r"\1", text)


@pytest.mark.parametrize("page,number,commands", SESSIONS, ids=lambda p: p if isinstance(p, str) else None)
def test_session(page, number, commands, folders):
    assert commands
    for command, expected in commands:
        done = run(*shlex.split(command), folder=folders[page])
        assert unplaced(done.stderr + done.stdout) == unplaced(expected)


sys.path.insert(0, str(SOURCE / "tools"))
import gen_docs  # noqa: E402  (a program, beside its use as one)

CODES = sorted(code for macro in ("QR_CODE", "QR_FOREIGN_CODE") for row in gen_docs.rows("engine/rule/codes.inc", macro)
               for code in row if re.fullmatch(r"QR\d{4}", code))


def test_every_code_has_an_example():
    assert len(CODES) > 80
    assert CODES == sorted(path.stem for path in (SOURCE / "tests" / "docs_codes").glob("*.yaml"))


@pytest.mark.parametrize("code", CODES)
def test_example_of_a_code(code):
    """The wrong file gives this code and nothing else, the mended one nothing at all."""
    _, wrong, _, right = gen_docs.example(PROGRAM, SOURCE / "tests" / "docs_codes" / f"{code}.yaml")
    assert [found for found, _ in wrong] == [code] and right == []


def test_readme_rule(tmp_path):
    readme = (SOURCE / "README.md").read_text()
    (tmp_path / "tidy.yaml").write_text(re.search(r"^```yaml\n(.*?)^```$", readme, re.M | re.S)[1])
    assert run("lint", "--strict", "tidy.yaml", folder=tmp_path).returncode == 0
    assert run("test", "tidy.yaml", folder=tmp_path).stdout == "2 passed, 0 failed\n"


def test_every_operator_that_changed_is_listed():
    page = (SOURCE / "docs" / "opset_upgrade.md").read_text()
    rows = re.findall(r"^\| (\d+) \| ([\w, ]+) \| (.*) \|$", page, re.M)
    listed = [(int(opset), op) for opset, ops, _ in rows for op in ops.split(", ")]
    schemas = [s for s in onnx.defs.get_all_schemas_with_history() if s.domain == ""]
    first = {}
    for s in schemas:
        first[s.name] = min(s.since_version, first.get(s.name, s.since_version))
    changed = {(s.since_version, s.name) for s in schemas if 2 <= s.since_version <= 26 and s.since_version > first[s.name]}
    assert len(listed) == len(set(listed)) and set(listed) == changed
    rules = re.findall(r"^  - name: (\S+)$", (SOURCE / "rules" / "opset_upgrade.yaml").read_text(), re.M)
    named = {name for _, _, what in rows for name in re.findall(r"`([a-z0-9-]+-\d+|scan-batches)`", what)}
    assert named == set(rules)


def test_examples_of_embedding_are_compiled():
    program = (SOURCE / "tests" / "install" / "embedding.cc").read_text()
    blocks = re.findall(r"^```cpp\n(.*?)^```$", (SOURCE / "docs" / "embedding.md").read_text(), re.M | re.S)
    assert len(blocks) == 8
    for block in blocks:
        assert block in program


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
    assert rules or ", use: " in path.read_text() or ", inline: " in path.read_text()  # what no rule says
    for name, facts, doc in rules:
        equivalence, _, tests = facts.rpartition(", ")
        said = " ".join(doc.split())
        assert said and equivalence, name
        assert int(tests.split()[0]) >= 2, name
