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
