"""explain(): why rules fire, or do not fire."""
from __future__ import annotations

from os import PathLike
from typing import Any, Iterable, Mapping

from . import _arguments, _core
from ._kinds import look
from ._rewrite import RuleSource, check_names, load_one, settings_of


class Explanation:
    """Why rules fired, or did not. ``print(explanation)`` shows it as ``qrewrite explain`` does."""

    def __init__(self, json: str, text: str, nearest: str, outcome: str) -> None:
        from json import loads
        self._json: dict[str, Any] = loads(json)
        self._text = text
        #: Of rules that never fired the one that came nearest, and what stopped it; "" if none begins anywhere.
        self.nearest = nearest
        #: With `at`: what became of the node: "it is gone: rule `a` took it (rewrite 3)".
        self.outcome = outcome

    def to_dict(self) -> dict[str, Any]:
        """All of it, with the keys of ``qrewrite explain --json``."""
        return self._json

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"<qrewrite.Explanation: {self.outcome or self.nearest or 'nothing came near'}>"


def explain(model: Any, rules: RuleSource, *, at: str = "", rule: str | Iterable[str] = (), max_attempts: int = 3,
            skip_rules: Iterable[str] = (), keep_ops: Iterable[str] = (), keep_nodes: Iterable[str] = (),
            folder: str | PathLike[str] = "", params: Mapping[str, Any] | None = None, **parameters: Any) -> Explanation:
    """Why rules fire, or do not fire, on a model; the rules are applied to a copy.

        >>> rule = {"name": "no-bias", "match": "y = Conv<**a>(x, w)", "replace": "y = acme.Conv<**a>(x, w)"}
        >>> print(qrewrite.explain("model.onnx", {"rules": [rule]}).nearest)
        rule `no-bias` came nearest, at Conv `conv1`: Conv `conv1` has input 2, which is not in the pattern: `conv1.bias` (rules.json:7:18)

    at: a node or a value, by its name: what each rule says of it, at most `max_attempts` searches, those that came
        furthest. Without it: a table over the model.
    rule: the names of the rules to explain; none: all.

    Other options are those of :func:`rewrite`. :class:`UsageError`: no such node, value, rule or parameter.
    """
    loaded = load_one("explain", rules)
    skipped = _arguments.names("`skip_rules`", skip_rules)
    check_names([loaded], skipped)
    flags = {"skip_rules": skipped, "keep_ops": _arguments.names("`keep_ops`", keep_ops),
             "keep_nodes": _arguments.names("`keep_nodes`", keep_nodes), "rules": _arguments.one_or_more("`rule`", rule),
             "at": _arguments.text("`at`", at), "max_attempts": _arguments.count("`max_attempts`", max_attempts)}
    settings = settings_of([loaded], params, parameters)
    return Explanation(*_core.explain(look(model, folder), loaded._core, settings, flags))
