"""Types, as a type checker sees them: the package itself, a user's program, and the sessions of docs/python.md."""
import doctest
import re
import subprocess

import pytest
from conftest import SOURCE

PROGRAM = '''
from pathlib import Path
import numpy as np
import numpy.typing as npt
import onnx
import onnx_ir
import qrewrite
from qrewrite import Event, FiringEvent, Model, Rules, RuleSource, rewrite
from qrewrite.onnx_ir import RewritePass

Array = npt.NDArray[np.float32]
proto: onnx.ModelProto = rewrite(onnx.load("m"), "optimize")[0]
ir: onnx_ir.Model = rewrite(onnx_ir.load("m"), Rules.load("optimize"))[0]
data: bytes = rewrite(b"", {"rules": []})[0]
path, report = rewrite(Path("m"), ["optimize", Path("mine.yaml")], html=True, saturation="clip")
where: Path = path
count: int = report.rewrites
page: str = report.html()
model = Model.load("m")
weights: dict[str, Array] = {name: np.asarray(c) for name, c in model.constants.items()}

@qrewrite.function
def half(w: Array) -> Array:
    return w / np.float32(2)

@qrewrite.predicate(name="is_small")
def small(w: Array) -> bool:
    return bool((w < 1).all())

@qrewrite.operator(name="Half", domain="acme")
def computed(x: Array, *, by: float = 2.0) -> Array:
    return half(x) if small(x) else x

def converted(source: Path, rules: RuleSource = "optimize") -> Path:
    return rewrite(source, [rules, {"rules": []}])[0]

def observe(event: Event) -> str | None:
    return qrewrite.STOP if isinstance(event, FiringEvent) and event.number > 3 else None

rewrite(model, "optimize", observer=observe, progress=lambda event: print(event.done))
for match in qrewrite.find(model, pattern="y = Relu(x)"):
    text: str = match["x"].text
try:
    Rules.parse("x")
except qrewrite.InvalidRules as error:
    lines: list[int] = [d.line for d in error.diagnostics]
equal: bool = qrewrite.diff(model, model).equal
last = RewritePass("optimize").report
'''
# Sessions are no programs: functions without annotations, names that are used again, and no question whether a value has a producer.
CONFIGURATION = """[mypy]
strict = true
[mypy-sessions]
allow_untyped_defs = true
allow_untyped_calls = true
disallow_untyped_decorators = false
allow_redefinition = true
disable_error_code = union-attr
"""
WRONG = {
    "rewrite('m', 3)": "arg-type", "rewrite('m', 'optimize', stop_after='x')": "arg-type", "rewrite('m', 'optimize')[1].rewritten": "attr-defined",
    "qrewrite.rewite": "attr-defined", "Model.load(3)": "arg-type", "n: int = rewrite('m', 'optimize')[0]": "assignment",
    "qrewrite.verify(model, model, tolerance=3)": "arg-type", "qrewrite.find(model, conditions='maybe')": "arg-type",
}


@pytest.fixture(scope="module")
def findings(users_python, tmp_path_factory):
    """What mypy --strict says, by file: of the package as a user has it, and of the programs. One run: the libraries around it are large."""
    folder = tmp_path_factory.mktemp("mypy")
    blocks = re.findall(r"^```pycon\n(.*?)^```$", (SOURCE / "docs" / "python.md").read_text(), re.M | re.S)
    sessions = "".join(example.source for block in blocks for example in doctest.DocTestParser().get_examples(block))
    programs = {"user.py": PROGRAM, "wrong.py": PROGRAM + "\n".join(WRONG) + "\n", "sessions.py": sessions}
    for name, text in {**programs, "mypy.ini": CONFIGURATION}.items():
        (folder / name).write_text(text)
    (folder / "lib").mkdir()
    (folder / "lib" / "qrewrite").symlink_to(SOURCE / "tools" / "python" / "qrewrite")
    package = sorted(f"lib/qrewrite/{path.name}" for path in (folder / "lib" / "qrewrite").glob("*.py*") if path.suffix in (".py", ".pyi"))
    command = [users_python, "-m", "mypy", "--config-file", "mypy.ini", *programs, *package]
    said = subprocess.run(command, capture_output=True, text=True, cwd=folder, env={"MYPYPATH": "lib", "PATH": "/usr/bin:/bin"}).stdout
    assert f"(checked {len(programs) + len(package)} source files)" in said, said
    found: dict[str, dict[int, str]] = {}
    for file, line, text in re.findall(r"^(\S+?):(\d+): error: (.*)$", said, re.M):
        found.setdefault(file.partition("/")[0], {})[int(line)] = f"{file}: {text}"
    return found


def test_the_package_and_programs_of_users(findings):
    assert findings.keys() <= {"wrong.py"}, findings


def test_what_is_wrong_is_found(findings):
    first = PROGRAM.count("\n") + 1
    codes = {line: text.rpartition("[")[2].rstrip("]") for line, text in findings["wrong.py"].items()}
    assert codes == {first + i: code for i, code in enumerate(WRONG.values())}
