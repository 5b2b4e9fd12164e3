"""Progress of a long run: a line on a terminal, nothing in a pipe."""
import os
import pty
import subprocess

import onnx
import pytest
from onnx import TensorProto, helper

from cli import PROGRAM

# A search that takes long and finds nothing: at each node a definition counts down.
NODES = 25000
RULES = """qrewrite: 1
name: slow
define:
  down(n):
    - when n == 0 => 0
    - => $down(n - 1) + 1
rules:
  - name: never
    match: y = Relu(x)
    where: $down(100) + $down(101) + $down(102) < 0
    replace: y = Neg(x)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("progress")
    nodes, last = [], "x"
    for i in range(NODES):
        nodes.append(helper.make_node(["Relu", "Neg"][i % 2], [last], [f"v{i}"]))
        last = f"v{i}"
    value = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [4]) for n in ("x", last)]
    onnx.save(helper.make_model(helper.make_graph(nodes, "g", value[:1], value[1:]), opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path / "long.onnx")
    (path / "slow.yaml").write_text(RULES)
    return path


def run(folder, *args, **environment):
    """Standard error of a run, which is a terminal."""
    parent, child = pty.openpty()
    process = subprocess.Popen([PROGRAM, "--rules", "slow.yaml", "long.onnx", "-o", "out.onnx", *args], cwd=folder, stdout=subprocess.PIPE, stderr=child,
                               env={**os.environ, "TERM": "xterm", **environment})
    os.close(child)
    out, seen = process.stdout.read(), b""
    while True:
        try:
            part = os.read(parent, 65536)
        except OSError:
            break
        if not part:
            break
        seen += part
    os.close(parent)
    assert process.wait(60) == 0, (out, seen)
    assert b"0 rewrites" in out or "-q" in args
    return seen.decode()


def test_on_a_terminal(folder):
    seen = run(folder)
    assert f"of {NODES} nodes, 0 rewrites" in seen and "[#" in seen
    assert seen.split("\r")[-1] == "" and seen.split("\r")[-2].strip() == ""  # the line is gone at the end
    assert "\x1b" not in run(folder, NO_COLOR="1")


def test_not_when_nobody_looks(folder):
    assert run(folder, "-q") == "" and run(folder, TERM="dumb") == ""
    done = subprocess.run([PROGRAM, "--rules", "slow.yaml", "long.onnx", "-o", "out.onnx"], cwd=folder, capture_output=True, text=True, timeout=60)
    assert done.stderr == ""
