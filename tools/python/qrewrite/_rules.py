"""Rule sets."""
from __future__ import annotations

from os import PathLike, fspath
from typing import TYPE_CHECKING, Any, Callable, Iterator, Mapping, NamedTuple, Sequence

from . import _arguments, _core
from ._errors import Diagnostic, usage
from ._hooks import Functions, registry

if TYPE_CHECKING:
    from ._prove import ProveProgress, ProveReport

Path = str | PathLike[str]
LintFinding = Diagnostic


class Param(NamedTuple):
    """A parameter of a rule set: ``rewrite(model, rules, NAME=value)``."""

    name: str
    #: "bool", "int", "float", "string", "path", "regex", "bytes", "ints", "floats", "strings" or "any".
    type: str
    #: As text; None if it has none.
    default: str | None
    one_of: list[str]
    doc: str


class Rule(NamedTuple):
    """A rule of a rule set."""

    name: str
    doc: str
    #: What it preserves: "exact", "approx(30dB)"; "" if that is not stated.
    equivalence: str
    #: ">=10"; "" is any.
    opset: str
    #: What its firings count under.
    counters: list[str]
    tests: int


class _OfSet(Rule):
    """A rule that knows its rule set."""

    rule_set: Rules

    def __repr__(self) -> str:
        return repr(Rule(*self))


class TestResult(NamedTuple):
    """A test inside a rule file, and how it went."""

    #: "" is a test of the whole file.
    rule: str
    test: str
    #: "file:line".
    place: str
    passed: bool
    #: Of a failed one: graphs and their difference, over several lines.
    message: str


class TestReport(NamedTuple):
    """What :meth:`Rules.test` found. It is true if no test failed; as a text it says why the others did."""

    results: list[TestResult]

    @property
    def passed(self) -> int:
        """How many tests passed."""
        return sum(r.passed for r in self.results)

    @property
    def failed(self) -> int:
        """How many did not."""
        return len(self.results) - self.passed

    def __bool__(self) -> bool:
        """Whether none failed."""
        return self.failed == 0

    def __str__(self) -> str:
        return "".join(r.message + "\n" for r in self.results if not r.passed) + f"{self.passed} passed, {self.failed} failed"


for _class in (TestResult, TestReport):
    _class.__test__ = False  # type: ignore[union-attr]  # pytest takes them for tests otherwise


class Rules:
    """A rule set, loaded and checked. It does not change; any number of threads may use it."""

    def __init__(self, core: _core.Rules, source: tuple[str, Any, Any] = ("", None, None)) -> None:
        if not isinstance(core, _core.Rules):
            raise usage("rules come from Rules.load(), Rules.parse() or Rules.from_dict()")
        self._core = core
        self._source = source

    @classmethod
    def load(cls, path_or_name: Path, *, functions: Functions | Mapping[str, Callable[..., Any]] | None = None,
             search: Sequence[Path] = (), tests: bool = True) -> Rules:
        """Loads a rule file; or, given a name without a slash, the rule set of this name in `search` or among the shipped ones.

        `functions`: what rules may call (:class:`Functions`, or a dict of functions from arrays to an array); without it
        what the decorators of the package registered. `tests=False` passes over ``tests:``, which is quicker.
        :class:`InvalidRules`: everything that is wrong in the file; :class:`FileError`: it cannot be read.

            >>> rules = qrewrite.Rules.load("optimize")
            >>> [rule.name for rule in rules.rules if rule.equivalence != "exact"][:3]
            ['conv-bn', 'gemm-bn', 'conv-add']
        """
        path = _arguments.path("a rule set", path_or_name)
        registered = registry(functions)
        core = _core.Rules.load(path, registered, _folders(search), _arguments.flag("`tests`", tests))
        core.functions = registered  # type: ignore[attr-defined]  # which holds them
        return cls(core, ("load", fspath(path_or_name), (functions, search, tests)))

    @classmethod
    def parse(cls, text: str, name: Path = "rules.yaml", *, functions: Functions | Mapping[str, Callable[..., Any]] | None = None,
              search: Sequence[Path] = (), tests: bool = True) -> Rules:
        """Loads `text` as if it were the content of the file `name`; one that ends in ".json" is JSON, else YAML.

        Paths of ``include:`` are relative to its folder.
        """
        registered = registry(functions)
        core = _core.Rules.parse(_arguments.path("`name`", name), _arguments.text("the rules", text).encode(), registered,
                                 _folders(search), _arguments.flag("`tests`", tests))
        core.functions = registered  # type: ignore[attr-defined]
        return cls(core, ("parse", (text, name), (functions, search, tests)))

    @classmethod
    def from_dict(cls, rules: Mapping[str, Any], *, functions: Functions | Mapping[str, Callable[..., Any]] | None = None,
                  search: Sequence[Path] = ()) -> Rules:
        """Loads a rule file that is Python data: dicts, lists, texts, numbers, as docs/rules.md has the keys.

            >>> rules = qrewrite.Rules.from_dict({"rules": [
            ...     {"name": "twice", "match": "y = Relu(Relu(x))", "replace": "y = Relu(x)"}]})
            >>> rules.rules[0].name, rules.name
            ('twice', 'rules')

        A dict without ``qrewrite:`` and ``name:`` gets these. Paths of ``include:`` are relative to the working directory. Lines in diagnostics are those of the data as indented JSON.
        """
        from json import dumps
        if rules is None:
            raise usage("a rule file is a dict by name, not None")
        whole = {"qrewrite": 1, "name": "rules", **_arguments.mapping("a rule file", rules)}
        try:
            text = dumps(whole, indent=1, default=_plain, allow_nan=False)
        except (TypeError, ValueError, RecursionError) as error:  # of json: a set, keys that are no texts, a list that holds itself
            raise usage(f"a rule file is made of dicts, lists, texts and numbers: {_culprit(whole) or error}") from None
        return cls.parse(text, f"{whole['name']}.json", functions=functions, search=search)

    @property
    def name(self) -> str:
        """What the file says under ``name:``."""
        return self._core.name

    @property
    def summary(self) -> str:
        """What the file says under ``summary:``; may be empty."""
        return self._core.summary

    @property
    def opset(self) -> str:
        """What models must import: ">=10"; "" is any."""
        return self._core.opset

    @property
    def path(self) -> str:
        """Of the file it was loaded from."""
        return self._core.path

    @property
    def files(self) -> list[str]:
        """That file, then all that it includes."""
        return self._core.files

    @property
    def params(self) -> list[Param]:
        """What ``rewrite(model, rules, NAME=value)`` may set."""
        return [Param(*p) for p in self._core.params()]

    @property
    def rules(self) -> list[Rule]:
        """In the order of the file, included ones first. ``find(model, rule)`` looks for one of them."""
        rules = [_OfSet(*r) for r in self._core.rules()]
        for rule in rules:
            rule.rule_set = self
        return list(rules)

    def lint(self) -> list[LintFinding]:
        """Warnings: what is unused, untested, can never match, or may loop."""
        self._need_tests("lint")
        return [Diagnostic(*d) for d in self._core.lint()]

    def test(self) -> TestReport:
        """Runs the tests inside the file."""
        self._need_tests("test")
        return TestReport([TestResult(*r) for r in self._core.run_tests(None)])

    def prove(self, *rules: str, graphs: int | None = None, budget: float | None = None, seed: int = 0, conditions: bool = True,
              runtime: str | PathLike[str] = "onnxruntime", progress: Callable[[ProveProgress], Any] | None = None) -> ProveReport:
        """Looks for graphs on which a rule does not keep its promise (``equivalence:``), as ``qrewrite prove`` does (docs/prove.md).

            >>> rules = qrewrite.Rules.from_dict({"rules": [
            ...     {"name": "no-relu", "equivalence": "exact", "match": "y = Relu(x)", "replace": "y = Identity(x)"}]})
            >>> report = rules.prove(graphs=20)
            >>> bool(report), report.outcomes
            (False, {'no-relu': 'refuted'})

        rules: names; none: all of the file, without those that it includes.
        graphs: that each rule is tried on; without it 2000, and up to 10000 of few rules.
        budget: seconds that it may take at most; rules take turns then. Without it: as long as it takes.
        seed: of the graphs: the same one gives the same report.
        conditions: also leave out each condition of the rules once, to see what it is needed for.
        runtime: what runs the graphs beside the library's own kernels: "onnxruntime" (or "ort"), the path of its library, or "builtin" for nothing. It runs
            in a process of its own, which is forked.
        progress: is called with a :class:`ProveProgress`; it may return "stop" (the report has what was found so far) or "cancel" (:class:`Cancelled`).

        Functions and operators in Python that the rules were loaded with are called. A function that raises where a rule asks it refutes the rule: a condition is
        missing, for the run would end there. Ctrl-C ends the proof. :class:`UsageError`: there is no such rule.
        """
        from ._observe import answer_code
        from ._prove import ProveProgress as Progress
        from ._prove import ProveReport
        from ._verify import evaluator
        seconds = 0.0 if budget is None else _arguments.number("`budget`", budget)
        if not 0 <= seconds < 1e9:
            raise usage(f"`budget` is a number of seconds, not {budget!r}")
        options = {"rules": [_arguments.text("the name of a rule", name) for name in rules],
                   "graphs": None if graphs is None else _arguments.count("`graphs`", graphs, 2**31),
                   "seconds": seconds,
                   "seed": _arguments.count("`seed`", seed, 2**64), "conditions": _arguments.flag("`conditions`", conditions)}
        if callable(runtime):
            raise usage("`runtime` of prove() is \"onnxruntime\", a path, or \"builtin\", not a function")
        if progress is not None and not callable(progress):
            raise usage(f"`progress` is a function, not {type(progress).__name__}")
        told = None if progress is None else lambda *event: answer_code(progress(Progress(*event)), "the function for progress")
        return ProveReport(*_core.prove(self._core, options, None if runtime == "builtin" else evaluator(runtime, threads=1), told))

    def _need_tests(self, what: str) -> None:
        _, _, how = self._source
        if how is not None and not how[2]:
            raise usage(f"{what}() looks at tests, which tests=False passed over")

    def __len__(self) -> int:
        return len(self.rules)

    def __iter__(self) -> Iterator[Rule]:
        return iter(self.rules)

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, self._source

    def __repr__(self) -> str:
        return f"<qrewrite.Rules {self.name}: {len(self)} rules>"


def _folders(search: Any) -> list[bytes]:
    return [_arguments.path("`search`", folder) for folder in _arguments.items("`search`", search, "folders")]


def _plain(value: Any) -> Any:
    """What json does not know of the things that rule files are made of in Python: numpy's numbers and arrays, paths, and what is like a dict or a list."""
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray, memoryview)):
        return list(value)
    if isinstance(value, PathLike):
        return fspath(value)
    if hasattr(value, "tolist") and hasattr(value, "dtype"):
        return value.tolist()
    raise TypeError(f"not {type(value).__name__}")


def _culprit(data: Any) -> str:
    """What json does not take, and where it stands, as Python writes it; "" if it lies too deep for that."""
    def look(value: Any, place: str, around: tuple[int, ...]) -> str:
        if value is None or isinstance(value, (str, int)):
            return ""
        if isinstance(value, float):
            return "" if isfinite(value) else f"not {value!r}, at {place}"
        if id(value) in around:
            return f"not what holds itself, at {place}"
        if not isinstance(value, (dict, list, tuple)):
            try:
                return look(_plain(value), place, (*around, id(value)))
            except TypeError as error:
                return f"{error}, at {place}"
        for key in value if isinstance(value, dict) else ():
            if not isinstance(key, (str, int, float, type(None))):
                return f"not a key that is {type(key).__name__}, at {place}[{key!r}]"
        items = value.items() if isinstance(value, dict) else enumerate(value)
        return next(filter(None, (look(item, f"{place}[{key!r}]", (*around, id(value))) for key, item in items)), "")

    from math import isfinite
    try:
        return look(data, "", ())
    except RecursionError:
        return ""


def _rebuild(how: str, what: Any, options: tuple[Any, ...]) -> Rules:
    functions, search, tests = options
    if how == "load":
        return Rules.load(what, functions=functions, search=search, tests=tests)
    return Rules.parse(*what, functions=functions, search=search, tests=tests)


def shipped() -> dict[str, str]:
    """The rule sets that come with the package, and those in $QREWRITE_RULES_DIR: paths by name."""
    from os.path import basename, splitext
    return {splitext(basename(path))[0]: path for path in _core.rule_files()}
