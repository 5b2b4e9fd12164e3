"""diff(): what two models have in common as graphs, and what not."""
from __future__ import annotations

from os import PathLike, fsdecode
from typing import Any

from . import _arguments, _core
from ._kinds import look
from ._model import Model


class Diff:
    """How two models differ. It is true if they do; ``print(diff)`` shows what ``qrewrite diff`` prints."""

    def __init__(self, core: _core.Diff, page: tuple[Any, ...]) -> None:
        self._core = core
        self._page = page

    @property
    def equal(self) -> bool:
        """Whether nothing differs."""
        return self._core.equal

    def __bool__(self) -> bool:
        """Whether anything differs."""
        return not self._core.equal

    def text(self, most: int = 20) -> str:
        """For people; of each list at most `most` entries."""
        return self._core.text(_arguments.count("`most`", most))

    def to_dict(self) -> dict[str, Any]:
        """All of it, with the keys of docs/diff.md."""
        from json import loads
        diff: dict[str, Any] = loads(self._core.json())
        return diff

    def html(self) -> str:
        """A page with both graphs side by side; it needs no other file, and no network."""
        return _core.diff_page(*self._page)

    def __reduce__(self) -> tuple[Any, ...]:  # compared again in another process
        before, after, *others = self._page
        return _compared, (Model(before), Model(after), *others)

    def __str__(self) -> str:
        return self.text().rstrip("\n")

    def __repr__(self) -> str:
        return f"<qrewrite.Diff: {str(self).splitlines()[-1]}>"

    def _repr_html_(self) -> str:
        from html import escape
        return f'<iframe srcdoc="{escape(self.html())}" width="100%" height="600"></iframe>'


def diff(before: Any, after: Any, *, names: bool = True, folder: str | PathLike[str] = "") -> Diff:
    """What differs between two models as graphs; nothing is run (:func:`verify` compares numbers).

        >>> floats, report = qrewrite.rewrite("model.onnx", "ezkl_dequant")
        >>> diff = qrewrite.diff("model.onnx", floats)
        >>> diff.equal, str(diff).splitlines()[-1]
        (False, 'nodes 26 -> 9: 20 removed, 3 added, 4 changed; constants: 32 removed, 10 added, 0 changed')

    names: names of nodes and inner values count. Without them the structure alone: for models that an exporter numbered anew.
    folder: where a model in memory has its external data.

    :class:`InvalidModel`: one of them has a cycle.
    """
    names = _arguments.flag("`names`", names)
    a, b = look(before, folder), look(after, folder)
    return Diff(_core.diff(a, b, names), (a, b, _called(before, "before"), _called(after, "after"), names))


def _compared(before: Model, after: Model, before_name: str, after_name: str, names: bool) -> Diff:
    return Diff(_core.diff(before._core, after._core, names), (before._core, after._core, before_name, after_name, names))


def _called(model: Any, other: str) -> str:
    return fsdecode(model).encode("utf-8", "replace").decode() if isinstance(model, (str, PathLike)) else other
