"""Whether rules keep their promise: Rules.prove()."""
from __future__ import annotations

from html import escape
from typing import Any, Literal, NamedTuple

Outcome = Literal["held", "refuted", "unknown", "silent"]
_COLUMNS = ("rule", "outcome", "graphs", "fired", "compared", "equivalence")


class ProveProgress(NamedTuple):
    """How far :meth:`Rules.prove` is: comes where a rule begins its turn, then ten times a second at most."""

    #: Which has its turn.
    rule: str
    #: Of this rule, so far: graphs that it was tried on, and those on which it fired.
    graphs: int
    fired: int
    #: With a budget rules take turns, and are done at the end.
    rules_done: int
    rules: int


class ProveReport:
    """What :meth:`Rules.prove` found. ``print(report)`` shows a table, and below it what was refuted."""

    def __init__(self, json: str, text: str, why: str) -> None:
        from json import loads
        self._json: dict[str, Any] = loads(json)
        self._text = text
        self._why = why

    def __bool__(self) -> bool:
        """Whether no rule was refuted."""
        return self._json["refuted"] == 0  # type: ignore[no-any-return]

    @property
    def rules(self) -> list[dict[str, Any]]:
        """What was found of each rule, with the keys of docs/prove.md: ``rule``, ``outcome``, ``fired``, ``margin``, ``counterexample``, ..."""
        return self._json["rules"]  # type: ignore[no-any-return]

    @property
    def outcomes(self) -> dict[str, Outcome]:
        """By rule: "held", "refuted", "unknown" (nothing could be compared) or "silent" (it never fired)."""
        return {rule["rule"]: rule["outcome"] for rule in self.rules}

    @property
    def counterexamples(self) -> dict[str, str]:
        """By rule that was refuted: the smallest graph on which it breaks its promise, as a test to paste into its file, or the test of its own that fails."""
        return {rule["rule"]: rule["counterexample"] or rule["failed_test"] for rule in self.rules if rule["outcome"] == "refuted"}

    def text(self, why: bool = False) -> str:
        """The table of ``qrewrite prove``; with `why` also what each condition of a rule is needed for, as a graph that goes wrong without it."""
        return self._why if why else self._text

    def to_dict(self) -> dict[str, Any]:
        """The report with the keys of docs/prove.md."""
        return self._json

    def __str__(self) -> str:
        return self._text

    def _repr_html_(self) -> str:
        heads = "".join(f"<th>{'promise' if column == 'equivalence' else column}</th>" for column in _COLUMNS)
        rows = "".join("<tr>" + "".join(f"<td>{escape(str(rule[column]))}</td>" for column in _COLUMNS) + "</tr>" for rule in self.rules)
        faults = "".join(f"<p>{escape(rule['rule'])}: {escape(rule['why'])}</p><pre>{escape(self.counterexamples[rule['rule']])}</pre>"
                         for rule in self.rules if rule["outcome"] == "refuted")
        return f"<div><table><tr>{heads}</tr>{rows}</table>{faults}<p>{escape(self._text.splitlines()[-1])}</p></div>"

    def __repr__(self) -> str:
        return f"<qrewrite.ProveReport {len(self.rules)} rules, {self._json['refuted']} refuted>"
