"""What a run did."""
from __future__ import annotations

from functools import cached_property
from html import escape
from types import SimpleNamespace
from typing import Any, Callable, NamedTuple

from . import _core
from ._errors import usage

_Bytes = bytes  # which is the name of a property below
# Of the library's report: attributes, and functions without arguments.
_VALUES = ("rewrites", "folded", "removed", "edits", "kept", "nodes_before", "nodes_after", "bytes_before", "bytes_after", "changed", "stopped")
_TOLD = ("text", "json", "rules", "warnings", "files", "sets")


class RuleCount(NamedTuple):
    """A rule that changed something."""

    set: str
    rule: str
    #: Firings.
    count: int  # type: ignore[assignment]
    #: What they count under, as the rule's ``report:`` says; else the rule's name.
    counters: dict[str, int]


class RewriteWarning(NamedTuple):
    """Something that a rule warned of, at one node."""

    set: str
    rule: str
    text: str
    op: str
    #: The name of the node; may be empty.
    node: str
    #: The first value that it makes.
    output: str
    #: Of a refusal with ``allow_partial=True``: which rule came nearest, and why it did not fire.
    notes: list[str]
    message: str

    def __str__(self) -> str:
        return self.message


class Unit(NamedTuple):
    """What the integers of an input or output stand for: ``(integer - zero_point) * scale``, with one of each or one for each place along axis 1."""

    scale: list[float]
    zero_point: list[float]
    #: The least integer and the largest; numbers beyond them are those at the ends.
    lo: float
    hi: float


class Report:
    """What rule sets did to a model. ``print(report)`` shows the table that the command prints."""

    def __init__(self, core: _core.Report, page: Callable[[], str] | None = None) -> None:
        self._core = core
        self._page = page
        #: Paths of the files that were written, the model's first; of a model in memory that of the page alone, if there is one.
        self.written: list[str] = []

    @property
    def sets(self) -> list[str]:
        """The rule sets that ran, in order."""
        return self._core.sets()

    @cached_property
    def rules(self) -> list[RuleCount]:
        """The rules that changed something, in the order of the phases."""
        return [RuleCount(*rule) for rule in self._core.rules()]

    @cached_property
    def warnings(self) -> list[RewriteWarning]:
        """What rules warned of, each at a node, and replacements that did not fit what a function made."""
        return [RewriteWarning(*warning) for warning in self._core.warnings()]

    @cached_property
    def units(self) -> dict[str, Unit]:
        """By input and output that rules gave another type, where they recorded what the integers stand for (``retype:``, ``record:``)."""
        return {name: Unit(*unit) for name, *unit in self._core.units()}

    @property
    def counts(self) -> dict[str, int]:
        """Each counter over all rules."""
        counts: dict[str, int] = {}
        for rule in self.rules:
            for name, count in rule.counters.items():
                counts[name] = counts.get(name, 0) + count
        return counts

    @property
    def rewrites(self) -> int:
        """Changes by rules."""
        return self._core.rewrites

    @property
    def folded(self) -> int:
        """Nodes replaced by constants."""
        return self._core.folded

    @property
    def removed(self) -> int:
        """Nodes and initializers removed that were unused before."""
        return self._core.removed

    @property
    def edits(self) -> int:
        """Attributes, shapes, names and imports that phases changed."""
        return self._core.edits

    @property
    def kept(self) -> int:
        """Nodes that `keep_ops` and `keep_nodes` protect."""
        return self._core.kept

    @property
    def nodes(self) -> tuple[int, int]:
        """How many nodes there were, and are."""
        return self._core.nodes_before, self._core.nodes_after

    @property
    def bytes(self) -> tuple[int, int]:
        """How many bytes the initializers had, and have."""
        return self._core.bytes_before, self._core.bytes_after

    @property
    def changed(self) -> bool:
        """Whether the model changed."""
        return self._core.changed

    @property
    def stopped(self) -> bool:
        """Whether `stop_after` or an observer ended the run before its end."""
        return self._core.stopped

    @property
    def files(self) -> dict[str, _Bytes]:
        """Files that the rule sets made beside the model, by path; written where the model is written."""
        from os import fsdecode
        return {fsdecode(path): data for path, data, _ in self._core.files()}

    def to_dict(self) -> dict[str, Any]:
        """The report with the keys of the command's JSON (docs/exit_codes.md)."""
        from json import loads
        report: dict[str, Any] = loads(self._core.json())
        return report

    def html(self) -> str:
        """A page to walk through the run, with both graphs side by side; it needs no other file, and no network.

        :class:`UsageError`: the run was not recorded, for which :func:`rewrite` has the option `html`.
        """
        if self._page is None:
            raise usage("the run was not recorded: rewrite(..., html=True)")
        return self._page()

    def __reduce__(self) -> tuple[Any, ...]:  # what it tells, into another process
        values = {name: getattr(self._core, name) for name in _VALUES}
        told = {name: getattr(self._core, name)() for name in _TOLD}
        return _rebuild, (values, told, None if self._page is None else self._page(), self.written)

    def __str__(self) -> str:
        return self._core.text()

    def __repr__(self) -> str:
        return f"<qrewrite.Report of {', '.join(self.sets)}: {str(self).splitlines()[-1]}>"

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr><td>{escape(r.set)}</td><td>{escape(r.rule)}</td><td>{r.count}</td></tr>" for r in self.rules)
        warnings = "".join(f"<li>{escape(str(w))}</li>" for w in self.warnings)
        table = f"<table><tr><th>set</th><th>rule</th><th>fired</th></tr>{rows}</table>" if rows else ""
        page = f'<iframe srcdoc="{escape(self._page())}" width="100%" height="600"></iframe>' if self._page else ""
        return (f"<div>{table}{f'<ul>{warnings}</ul>' if warnings else ''}"
                f"<p>{escape(str(self).splitlines()[-1])}</p>{page}</div>")


def _rebuild(values: dict[str, Any], told: dict[str, Any], page: str | None, written: list[str]) -> Report:
    def says(what: Any) -> Callable[[], Any]:
        return lambda: what
    core: Any = SimpleNamespace(**values, **{name: says(what) for name, what in told.items()})
    report = Report(core, None if page is None else says(page))
    report.written = written
    return report
