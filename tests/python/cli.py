"""What the tests of the command share: its folder, models, rule sets, a way to run it."""
import os
import subprocess
from pathlib import Path

import onnx
import onnx.parser
import pytest

PROGRAM = os.environ["QREWRITE"]
SOURCE = Path(os.environ["QREWRITE_SOURCE_DIR"])
GOLDEN = SOURCE / "tests" / "golden" / "cli"

CHAIN = """chain (float[N] x) => (float[N] y) {
  a = Relu(x)  b = Relu(a)  c = Relu(b)  d = Sigmoid(c)  y = Identity(d)
}"""
PLAIN = "plain (float[N] x) => (float[N] y) { y = Relu(x) }"
NEG = "neg (float[N] x) => (float[N] y) { a = Relu(x)  y = Neg(a) }"


def save(path, graph):
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]>\n{graph}')
    for node in model.graph.node:
        node.name = "n_" + node.output[0]
    onnx.save(model, path)
    return path


def ops(path):
    return [node.op_type for node in onnx.load(path).graph.node]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Every test runs in an empty folder with the models below; rule files by short names."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("QREWRITE_RULES_DIR", str(GOLDEN))
    save("chain.onnx", CHAIN)
    save("plain.onnx", PLAIN)
    save("neg.onnx", NEG)
    return tmp_path


def run(*args, code=0, **kwargs):
    done = subprocess.run([PROGRAM, *map(str, args)], capture_output=True, timeout=60, **kwargs)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout.decode(), done.stderr.decode()


def golden(name, text):
    path = GOLDEN / name
    text = text.replace(str(GOLDEN), "GOLDEN")
    if os.environ.get("QREWRITE_UPDATE_GOLDEN"):
        path.write_text(text)
    assert text == path.read_text()


def listing():
    return sorted(p.name for p in Path(".").iterdir())
