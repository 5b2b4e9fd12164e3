"""find(): where rules match, without rewriting."""
from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from typing import Any, Iterable, Iterator, KeysView, Literal, Mapping, NamedTuple

from . import _arguments, _core
from ._errors import usage
from ._kinds import look
from ._model import Constant
from ._observe import NodeView
from ._rewrite import RuleSource, load_one, settings_of
from ._rules import Rule, Rules, _OfSet

Kind = Literal["absent", "value", "constant", "text", "type", "symbol", "node", "chain", "attributes", "graph", "list", "unknown"]
_CONDITIONS = {"require": 0, "ignore": 1, "report": 2}


class Binding(NamedTuple):
    """What a name of a rule stands for in a match."""

    #: "" of a member of a list.
    name: str
    kind: Kind
    #: The name of a value, a text, a type ("float16"), a symbolic size, or why it is unknown.
    text: str
    #: What a value holds, if that is known; a number, a shape, a tensor.
    constant: Constant | None
    #: Of a label; of a chain from the first step to the last one.
    nodes: list[NodeView]
    #: Of a list, or of attributes.
    items: list[Binding]

    @property
    def value(self) -> Any:
        """The plain thing: an array of a number or tensor that was computed, the name of a value (also of a constant, whose array is
        ``constant.numpy()``), a text, nodes, a list, a dict of attributes; None of what is absent or unknown."""
        if self.constant is not None and self.kind == "constant":
            return self.constant.numpy()
        if self.kind in ("node", "chain"):
            return self.nodes[0] if self.kind == "node" else self.nodes
        if self.kind == "list":
            return [item.value for item in self.items]
        if self.kind == "attributes":
            return {item.name: item.value for item in self.items}
        return None if self.kind in ("absent", "unknown") else self.text


class Condition(NamedTuple):
    """A condition of a rule at a match."""

    #: "rank(x) == 4"
    text: str
    #: Of the rule's file.
    line: int
    #: None: a fact is missing, and `why` says which.
    holds: bool | None
    why: str


@dataclass(frozen=True)
class Match:
    """A place where a rule matches. ``match["x"]`` is what the name `x` of the rule stands for."""

    set: str
    rule: str
    #: Where the rule stands.
    file: str
    line: int
    #: In the order of the search.
    nodes: list[NodeView]
    bindings: dict[str, Binding]
    #: If they are reported.
    conditions: list[Condition]

    def __getitem__(self, name: str) -> Binding:
        return self.bindings[name]

    def __iter__(self) -> Iterator[str]:
        """The names that it binds."""
        return iter(self.bindings)

    def __contains__(self, name: object) -> bool:
        return name in self.bindings

    def keys(self) -> KeysView[str]:
        """The names that it binds: ``dict(match)`` has the bindings by name."""
        return self.bindings.keys()

    def __str__(self) -> str:
        nodes = ", ".join(f"{n.op} `{n.name or next(iter(n.outputs), '')}`" for n in self.nodes)
        return f"{self.rule}: {nodes}"


class Matches(list[Match]):
    """Matches in the order in which :func:`rewrite` looks: nodes with producers first, then rules as in the file."""

    #: There are more than `max_matches`.
    more: bool = False


def _binding(plain: tuple[Any, ...]) -> Binding:
    name, kind, text, constant, nodes, items = plain
    return Binding(name, kind, text, None if constant is None else Constant(constant, text if kind == "value" else ""),
                   [NodeView(*n) for n in nodes], [_binding(i) for i in items])


def find(model: Any, rules: RuleSource | Rule | None = None, *, pattern: str | None = None, where: str | Iterable[str] = (),
         rule: str | Iterable[str] = (), conditions: Literal["require", "ignore", "report"] = "require",
         max_matches: int = 1000, folder: str | PathLike[str] = "", params: Mapping[str, Any] | None = None,
         **parameters: Any) -> Matches:
    """Where rules, or a pattern, match a model as it is; nothing is rewritten.

        >>> for match in qrewrite.find("model.onnx", pattern="w = DequantizeLinear(q, s, _?)", where="const(q) and rank(q) == 4"):
        ...     print(match, match["q"].constant.shape)
        pattern: DequantizeLinear `conv1.weight_DequantizeLinear` (8, 3, 3, 3)
        pattern: DequantizeLinear `conv2.weight_DequantizeLinear` (8, 8, 3, 3)

    rules: as :func:`rewrite` takes them, or one of :attr:`Rules.rules`, which is then looked for alone.
    pattern, where: as ``match:`` and ``where:`` of a rule have them, instead of `rules`.
    rule: the names of the rules to look for; none: all.
    conditions: "require": matches that meet the conditions of the rule; "ignore": all, and names of ``let:`` are not
        computed; "report": all, and each says which conditions hold, fail or cannot be known.
    max_matches: ends the search; `more` of the result says whether there are others.

    Operands of commutative operators are tried in both orders, and each that fits is a match: ``y = Add(a, b)`` is found twice at a node,
    with `a` and `b` swapped. Raises as :func:`rewrite` does. A match may be one that rewrite() rejects, as what a replacement needs is not looked at.
    """
    if (rules is None) == (pattern is None):
        raise usage("find() takes rules or a pattern")
    if not isinstance(conditions, str) or conditions not in _CONDITIONS:
        raise usage(f"conditions are required (\"require\"), ignored or reported, not {conditions!r}")
    asked = [] if isinstance(where, str) and not where else _arguments.one_or_more("`where`", where)
    if asked and pattern is None:
        raise usage("`where` goes with `pattern`; rules have conditions of their own")
    if pattern is not None:
        one: dict[str, Any] = {"name": "pattern", "match": _arguments.text("`pattern`", pattern), "warn": "found"}
        if asked:
            one["where"] = asked
        loaded = Rules.from_dict({"name": "find", "rules": [one]})
    elif isinstance(rules, _OfSet):
        if rule != ():
            raise usage("find() takes a rule, or rules and names of theirs")
        loaded, rule = rules.rule_set, rules.name
    else:
        loaded = load_one("find", rules)  # type: ignore[arg-type]
    settings = settings_of([loaded], params, parameters)
    names = _arguments.one_or_more("`rule`", rule)
    found, more = _core.find(look(model, folder), loaded._core, settings, names, _CONDITIONS[conditions],
                             _arguments.count("`max_matches`", max_matches))
    matches = Matches()
    matches.more = more
    for set_name, rule_name, file, line, nodes, bindings, checked in found:
        matches.append(Match(set_name, rule_name, file, line, [NodeView(*n) for n in nodes],
                             {b[0]: _binding(b) for b in bindings}, [Condition(*c) for c in checked]))
    return matches
