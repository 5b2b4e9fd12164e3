"""Lists and dicts of what is to be looked at only: who changes one believes that the model changes."""
from __future__ import annotations

from typing import Any, NoReturn, TypeVar

T = TypeVar("T")
K = TypeVar("K")


def _refuse(self: object, *_: Any, **__: Any) -> NoReturn:
    raise TypeError("what a Model consists of cannot be changed: a Model is read-only, rules change it")


class FrozenList(list[T]):
    """A list that does not change. `list(...)` makes one that does."""

    __slots__ = ()
    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse
    append = extend = insert = pop = remove = clear = sort = reverse = _refuse

    def __reduce__(self) -> tuple[Any, ...]:
        return FrozenList, (list(self),)


class FrozenDict(dict[K, T]):
    """A dict that does not change. `dict(...)` makes one that does."""

    __slots__ = ()
    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __reduce__(self) -> tuple[Any, ...]:
        return FrozenDict, (dict(self),)
