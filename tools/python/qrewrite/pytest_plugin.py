"""A plugin of pytest: rule files (.yaml, .yml, .json with the key ``qrewrite:``) are collected, and each test in them is an item.

``pytest rules/`` runs them; ``--qrewrite-lint`` adds an item for each file that fails if the checker warns of something. Functions that
rules call are those that a conftest.py registers with @qrewrite.function. ``-p no:qrewrite`` leaves all of it out.
"""
from __future__ import annotations

import re
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, Iterator

import pytest

if TYPE_CHECKING:
    from ._rules import Rules

_RULE_FILE = re.compile(rb"""(?m)^(?:\xef\xbb\xbf)?\{?\s*["']?qrewrite["']?\s*:\s*\d""")
_IN_JSON = re.compile(rb'"qrewrite"\s*:\s*\d')
_ENDINGS = {".yaml", ".yml", ".json"}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.getgroup("qrewrite").addoption("--qrewrite-lint", action="store_true", help="warnings of rule files are failures")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    if file_path.suffix not in _ENDINGS:
        return None
    try:
        with open(file_path, "rb") as file:
            begin = file.read(1 << 20)  # the data of others may be large
            found = _RULE_FILE.search(begin) or file_path.suffix == ".json" and _IN_JSON.search(begin) and _has_key(begin + file.read())
    except OSError:
        return None
    return RuleFile.from_parent(parent, path=file_path) if found else None


def _has_key(text: bytes) -> bool:
    """Whether this is JSON with the key, wherever in its line that stands."""
    from json import loads
    try:
        whole = loads(text.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return False
    return isinstance(whole, dict) and "qrewrite" in whole


class RuleFile(pytest.File):
    """A rule file. It is loaded when it is collected: only then it is known which tests there are."""

    def collect(self) -> Iterator[pytest.Item | pytest.Collector]:
        from . import Error, Rules
        try:
            rules = Rules.load(self.path)
        except Error as error:
            raise self.CollectError(str(error)) from error
        if self.config.getoption("--qrewrite-lint"):
            yield RuleTest.from_parent(self, name="lint", failure=lambda: "\n".join(map(str, rules.lint())), place=str(self.path))
        for rule, tests in groupby(rules._core.tests(), lambda test: test[0]):
            group = RuleTests.from_parent(self, name=rule, rules=rules, tests=list(tests))
            yield from [group] if rule else group.of(self)


class RuleTests(pytest.Collector):
    """Those of one rule: pytest finds "FILE::RULE::TEST" by the name of each part."""

    def __init__(self, *, rules: Rules, tests: list[tuple[str, str, str]], **keywords: Any) -> None:
        super().__init__(**keywords)
        self._rules = rules
        self._tests = tests

    def collect(self) -> Iterator[pytest.Item]:
        return self.of(self)

    def of(self, parent: pytest.Collector) -> Iterator[pytest.Item]:
        for rule, test, place in self._tests:
            yield RuleTest.from_parent(parent, name=test, failure=partial(_failure, self._rules, rule, test), place=place)


def _failure(rules: Rules, rule: str, test: str) -> str:
    """Why this test fails, which is run now."""
    return "\n".join(message for _, _, _, passed, message in rules._core.run_tests((rule, test)) if not passed)


class RuleTest(pytest.Item):
    def __init__(self, *, failure: Callable[[], str], place: str, **keywords: Any) -> None:
        """failure: says why it fails; "" if it does not. place: "file:line", or a file."""
        super().__init__(**keywords)
        self._failure = failure
        self._place = place

    def runtest(self) -> None:
        if message := self._failure():
            raise RuleTestFailed(message)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if isinstance(excinfo.value, RuleTestFailed):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        line = self._place.rpartition(":")[2]
        name = f"{self.parent.name}::{self.name}" if isinstance(self.parent, RuleTests) else self.name
        return self.path, int(line) - 1 if line.isdecimal() else 0, name


class RuleTestFailed(AssertionError):
    pass
