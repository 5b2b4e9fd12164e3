"""Whether rules keep their promise: Rules.prove()."""
from __future__ import annotations

from typing import Any, Literal

Outcome = Literal["held", "refuted", "unknown", "silent"]


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

    def __repr__(self) -> str:
        return f"<qrewrite.ProveReport {len(self.rules)} rules, {self._json['refuted']} refuted>"
