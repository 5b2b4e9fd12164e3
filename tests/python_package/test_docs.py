"""docs/python.md: its sessions are true. README.md: its Python example runs (the wheel's test runs it, too)."""
import doctest
import re
import shutil

import pytest
from conftest import SOURCE

PAGE = SOURCE / "docs" / "python.md"


def test_sessions_of_the_tutorial(recorded, tmp_path):
    from qrewrite import _hooks
    shutil.copy(recorded, tmp_path / "model.onnx")
    blocks = list(re.finditer(r"^```pycon\n(.*?)^```$", PAGE.read_text(), re.M | re.S))
    assert len(blocks) >= 10
    names: dict = {}
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    said: list[str] = []
    try:
        for block in blocks:
            line = PAGE.read_text().count("\n", 0, block.start(1))
            test = doctest.DocTestParser().get_doctest(block[1], names, f"python.md:{line + 1}", str(PAGE), line)
            runner.run(test, out=said.append, clear_globs=False)
            names = test.globs
    finally:
        _hooks.default.clear()
    assert runner.failures == 0, "".join(said)


def test_examples_of_the_docstrings(recorded, tmp_path, monkeypatch):
    """Each by itself, in a folder with a quantized model; what they print is what is said. What a user calls first has one."""
    import importlib
    import pkgutil

    import numpy as np
    import onnx

    import qrewrite
    from qrewrite import _hooks
    names = [name for _, name, _ in pkgutil.iter_modules(qrewrite.__path__) if name not in ("_core", "__main__")]
    modules = [qrewrite, *(importlib.import_module(f"qrewrite.{name}") for name in names)]
    finder = doctest.DocTestFinder(exclude_empty=True)
    tests = [test for module in modules for test in finder.find(module, module.__name__, module=module, globs={}) if test.examples]
    said: list[str] = []
    runner = doctest.DocTestRunner()
    for i, test in enumerate(tests):
        (tmp_path / str(i)).mkdir()
        monkeypatch.chdir(tmp_path / str(i))
        shutil.copy(recorded, "model.onnx")
        test.globs.update(qrewrite=qrewrite, np=np, onnx=onnx)
        try:
            runner.run(test, out=said.append)
        finally:
            _hooks.default.clear()
    assert runner.failures == 0, "".join(said)
    called = {"rewrite", "find", "explain", "diff", "verify", "debug", "run", "versions", "function", "predicate", "operator"}
    assert called <= {test.name.rpartition(".")[2] for test in tests}


def test_all_that_is_public_has_a_docstring():
    import inspect

    import qrewrite

    def told(member):
        return isinstance(member, (property, classmethod, staticmethod)) or inspect.isroutine(member) or type(member).__name__ == "cached_property"
    public = {name: getattr(qrewrite, name) for name in qrewrite.__all__}
    members = {name: of for name, of in public.items() if inspect.isclass(of) or inspect.isroutine(of)}
    for name, of in public.items():
        if inspect.isclass(of):
            members |= {f"{name}.{key}": member for key, member in vars(of).items() if not key.startswith("_") and told(member)}
    assert len(members) > 100
    assert [name for name, member in members.items() if not (member.__doc__ or "").strip()] == []


def test_options_of_rewrite_are_listed():
    import inspect

    import qrewrite
    table = PAGE.read_text().partition("| option of `rewrite` | |")[2].partition("\n\n")[0]
    listed = set(re.findall(r"`(\w+)`", "".join(row.split("|")[1] for row in table.splitlines() if row.count("|") > 2)))
    options = {p.name for p in inspect.signature(qrewrite.rewrite).parameters.values() if p.kind is p.KEYWORD_ONLY}
    assert listed == options


def test_readme_example(recorded, tmp_path):
    shutil.copy(recorded, tmp_path / "model.onnx")
    example = re.search(r"^```python\n(.*?)^```$", (SOURCE / "README.md").read_text(), re.M | re.S)
    if example is None:
        pytest.fail("README.md has no Python example")
    exec(compile(example[1], "README.md", "exec"), {})
    assert (tmp_path / "model.ezkl_dequant.onnx").exists()
