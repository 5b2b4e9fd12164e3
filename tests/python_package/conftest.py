"""What the tests of the Python package share: models, and an empty folder for each test."""
import os
import subprocess
from pathlib import Path

import onnx
import onnx.parser
import pytest

pytest_plugins = ["pytester"]
SOURCE = Path(os.environ["QREWRITE_SOURCE_DIR"])

CHAIN = """chain (float[N, 4] x) => (float[N, 4] y) <float[4] w = {1, 2, 3, 4}> {
  a = Relu(x)  b = Relu(a)  c = Mul(b, w)  d = Neg(c)  y = Neg(d)
}"""
RULES = {
    "name": "tidy",
    "params": {"most": {"default": 4, "doc": "how many"}},
    "rules": [
        {"name": "relu-of-relu", "match": "y = Relu(Relu(x))", "replace": "y = Relu(x)"},
        {"name": "neg-of-neg", "match": "y = Neg(Neg(x))", "replace": "y = Identity(x)", "doc": "two signs"},
    ],
}


def run_installed(*command, cwd=None, **environment):
    """A program that sees nothing of this build but what was installed; what it printed."""
    plain = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV", "QREWRITE_RULES_DIR")}
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, cwd=cwd, env={**plain, **environment}, timeout=1500)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return done.stdout


def parse(graph: str) -> onnx.ModelProto:
    return onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 17, "acme": 1]>\n{graph}')


@pytest.fixture
def chain() -> onnx.ModelProto:
    return parse(CHAIN)


@pytest.fixture
def recorded() -> Path:
    """A quantized network that was exported by ONNX Runtime."""
    return SOURCE / "fixtures" / "models" / "qdq_cnn.onnx"


@pytest.fixture(autouse=True)
def empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("QREWRITE_RULES_DIR", raising=False)


@pytest.fixture(scope="session")
def users_python() -> str:
    """A Python that has what users have beside the package: a type checker, pre-commit, pyarrow."""
    return subprocess.run([SOURCE / "tools" / "dev", "venv", "users"], capture_output=True, text=True, check=True).stdout.split()[-1]
