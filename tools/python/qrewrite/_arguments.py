"""What callers give: each function returns the plain thing, or raises a UsageError that names the argument.

The extension module takes what these return, so that nobody reads of its types.
"""
from __future__ import annotations

from collections.abc import Mapping
from operator import index
from os import fsencode, fspath
from typing import Any

from ._errors import usage


def path(what: str, value: Any) -> bytes:
    """What the file system calls it."""
    given = None
    try:
        given = None if isinstance(value, bytes) else fspath(value)
        encoded = None if given is None else fsencode(given)
    except UnicodeEncodeError:
        raise usage(f"{what}: {given!r} cannot be a path") from None
    except TypeError:
        encoded = None
    if encoded is None:
        raise usage(f"{what} is a path, not {type(value).__name__}")
    if b"\0" in encoded:
        raise usage(f"{what}: {given!r} cannot be a path")
    return encoded


def text(what: str, value: Any) -> str:
    if not isinstance(value, str):
        raise usage(f"{what}: {value!r} is no text")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise usage(f"{what}: {value!r} is no valid Unicode") from None
    return value


def items(what: str, values: Any, of: str) -> list[Any]:
    """A list of any iterable but those that are taken for one by mistake."""
    try:
        given = None if isinstance(values, (str, bytes, bytearray, Mapping)) else iter(values)
    except TypeError:
        given = None
    if given is None:
        raise usage(f"{what} is a list of {of}, not {'one text' if isinstance(values, str) else type(values).__name__}")
    return list(given)


def names(what: str, values: Any) -> list[str]:
    return [text(what, name) for name in items(what, values, "names")]


def one_or_more(what: str, values: Any) -> list[str]:
    return names(what, [values] if isinstance(values, str) else values)


def count(what: str, value: Any, below: int = 2**62) -> int:
    try:
        number = -1 if isinstance(value, bool) else index(value)
    except TypeError:
        number = -1
    if not 0 <= number < below:
        raise usage(f"{what} is a count, not {value!r}")
    return number


def number(what: str, value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise usage(f"{what} is a number, not {value!r}") from None


def flag(what: str, value: Any) -> bool:
    try:
        return bool(value)
    except ValueError:  # of several numbers
        raise usage(f"{what} is true or false, not {type(value).__name__}") from None


def mapping(what: str, value: Any) -> Mapping[str, Any]:
    """A dict by names; an empty one for None."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise usage(f"{what} is a dict by name, not {type(value).__name__}")
    for name in value:
        text(f"{what}", name)
    return value


def shapes(what: str, value: Any) -> dict[str, list[int]]:
    """Sizes by input."""
    return {name: [count(f"a size of `{name}` in {what}", size) for size in items(f"`{name}` in {what}", sizes, "sizes")] for name, sizes in mapping(what, value).items()}
