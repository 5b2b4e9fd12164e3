"""Functions in Python that rule files call.

    @qrewrite.function
    def half(w):
        return w / 2

A rule then writes ``let: {v: half(w)}``. Arguments are read-only numpy arrays, of constants only: with an argument that is
not constant the rule does not fire. What a function raises ends the run with :class:`CallbackError`; the model that
was given stays as it was. Functions must be pure; they are called by each thread that rewrites, which holds the interpreter lock then.
"""
from __future__ import annotations

from typing import Any, Callable, Iterable, Iterator, Mapping, Sequence, TypeVar, overload
from weakref import ref

from . import _arguments, _core
from ._errors import usage
from ._tensors import from_numpy, to_numpy

F = TypeVar("F", bound=Callable[..., Any])
Hook = Callable[..., Any]


def _arrays(tensors: list[Any]) -> list[Any]:
    return [None if t is None else to_numpy(t) for t in tensors]


def _fold(name: str, call: Hook) -> Hook:
    return lambda tensors: from_numpy(call(*_arrays(tensors)), f"what {name} returned")


def _predicate(name: str, call: Hook) -> Hook:
    def adapter(tensors: list[Any]) -> bool:
        result = call(*_arrays(tensors))
        kind = getattr(result, "dtype", type(result))
        if kind == bool and getattr(result, "shape", ()) == ():  # of Python, of numpy, or an array without axes
            return bool(result)
        hint = "; .all() or .any() makes one of it" if kind == bool else ""
        raise TypeError(f"what {name} returned is {type(result).__name__}, not a bool{hint}")
    return adapter


def _operator(name: str, call: Hook) -> Hook:
    def adapter(tensors: list[Any], attributes: dict[str, Any], num_outputs: int) -> list[Any]:
        attributes = {key: to_numpy(value) if isinstance(value, tuple) else value for key, value in attributes.items()}
        inputs = _arrays(tensors)
        result = call(*inputs, **attributes)
        # Numbers in a list are one array; arrays are outputs, as in `return y,`.
        several = isinstance(result, (tuple, list)) and (num_outputs > 1 or result == () or _holds_arrays(result))
        results = result if several else [result]
        if len(results) != num_outputs:
            raise TypeError(f"operator {name} returned {len(results)} outputs, not {num_outputs}")
        return [from_numpy(r, f"what operator {name} returned") for r in results]
    return adapter


def _holds_arrays(results: Sequence[Any]) -> bool:
    """Several numbers of numpy are numbers, too; one alone in a tuple is an array without axes, as in `return y,`."""
    alone = len(results) == 1 and hasattr(results[0], "dtype") and isinstance(results, tuple)
    return alone or any(getattr(r, "ndim", 0) > 0 for r in results)


def _weak(held: list[Hook], call: Hook) -> Hook:
    """What the library holds of a function: nothing. A function may hold the rules that call it, and Python's collector does not see into the library."""
    held.append(call)
    reference = ref(call)
    return lambda *arguments: reference()(*arguments)  # type: ignore[misc]


class Functions:
    """A collection of functions for rules: ``Rules.load(path, functions=mine)``.

    The decorators :func:`function`, :func:`predicate` and :func:`operator` add to a collection of their own, which
    rules get that are loaded without one. Rules keep what the collection had when they were loaded. A second
    function of one name takes the place of the first, so that a cell of a notebook can be run again.
    """

    def __init__(self, others: Functions | None = None) -> None:
        if others is not None and not isinstance(others, Functions):
            raise usage(f"functions come from Functions, not {type(others).__name__}")
        self._entries: dict[tuple[str, str, str], Hook] = dict(list(others._entries.items())) if others else {}

    @overload
    def function(self, call: F, /, *, name: str | None = None) -> F: ...
    @overload
    def function(self, call: None = None, /, *, name: str | None = None) -> Callable[[F], F]: ...

    def function(self, call: F | None = None, /, *, name: str | None = None) -> F | Callable[[F], F]:
        """Registers a function from arrays to an array, under its own name or `name` (a lower-case word).

            >>> @qrewrite.function
            ... def halved(w):
            ...     return w / np.float32(2)
            >>> rule = {"name": "half", "match": "y = Conv<**a>(x, w, b)", "replace": "y = acme.Conv<**a>(x, halved(w), b)"}
            >>> floats, _ = qrewrite.rewrite("model.onnx", "ezkl_dequant")
            >>> qrewrite.rewrite(floats, {"rules": [rule]})[1].rewrites
            2

        Arguments are read-only arrays, of constants only, in the order of the call. Arrays that it returns keep their type and shape;
        Python's numbers become int64, bool and float (32 bit). It returns one array. What it raises ends the run (:class:`CallbackError`).
        Raises :class:`UsageError` if the language has such a function.
        """
        return self._register("fold", "", call, name)

    @overload
    def predicate(self, call: F, /, *, name: str | None = None) -> F: ...
    @overload
    def predicate(self, call: None = None, /, *, name: str | None = None) -> Callable[[F], F]: ...

    def predicate(self, call: F | None = None, /, *, name: str | None = None) -> F | Callable[[F], F]:
        """Registers a function from arrays to a bool, for ``where:``. Anything but a bool is an error.

            >>> @qrewrite.predicate
            ... def is_small(w):
            ...     return np.abs(w).max() < 1
            >>> rule = {"name": "small", "match": "y = Conv<**a>(x, w, b)", "where": "is_small(w)", "replace": "y = acme.SmallConv<**a>(x, w, b)"}
            >>> floats, _ = qrewrite.rewrite("model.onnx", "ezkl_dequant")
            >>> qrewrite.rewrite(floats, {"rules": [rule]})[1].rewrites
            2

        What it raises ends the run (:class:`CallbackError`).
        """
        return self._register("predicate", "", call, name)

    @overload
    def operator(self, call: F, /, *, name: str | None = None, domain: str = "") -> F: ...
    @overload
    def operator(self, call: None = None, /, *, name: str | None = None, domain: str = "") -> Callable[[F], F]: ...

    def operator(self, call: F | None = None, /, *, name: str | None = None, domain: str = "") -> F | Callable[[F], F]:
        """Registers how an operator of ONNX, or of `domain`, is computed on constants, for all versions.

            >>> @qrewrite.operator(name="Scale", domain="acme")
            ... def scale(x, *, by=1.0):
            ...     return x * np.float32(by)
            >>> model = onnx.parser.parse_model('''<ir_version: 8, opset_import: ["": 17, "acme": 1]>
            ...     g (float[2] x) => (float[2] y) { y = acme.Scale <by = 4.0> (x) }''')
            >>> qrewrite.run(model, {"x": np.float32([1, 2])}, runtime="builtin")
            {'y': array([4., 8.], dtype=float32)}

        `call` gets the inputs by position (None: absent) and the attributes that the node has by keyword, without graphs and types; it returns an array, or
        as many as the node has outputs. It takes the place of what the library has. A node with a list of tensors, a sparse tensor or texts in a tensor is not computed.
        """
        return self._register("operator", domain, call, name)

    def _register(self, kind: str, domain: str, call: F | None, name: str | None) -> F | Callable[[F], F]:
        def register(call: F) -> F:
            if not callable(call):
                raise usage(f"{call!r} cannot be called")
            called = getattr(call, "__name__", None) if name is None else name
            key = kind, _arguments.text("the domain", domain), _arguments.text("the name", called)
            Functions._build([(key, call)])  # says what is wrong with the name
            if kind != "operator":
                for other in ("fold", "predicate"):
                    self._entries.pop((other, "", key[2]), None)
            self._entries[key] = call
            return call
        return register if call is None else register(call)

    def __iter__(self) -> Iterator[str]:
        """The names, sorted."""
        return iter(sorted(f"{domain}.{name}" if domain else name for _, domain, name in list(self._entries)))

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, name: str) -> bool:
        return name in list(self)

    def __repr__(self) -> str:
        return f"<qrewrite.Functions: {', '.join(self) or 'none'}>"

    def clear(self) -> None:
        """Forgets all functions."""
        self._entries.clear()

    @staticmethod
    def _build(entries: Iterable[tuple[tuple[str, str, str], Hook]]) -> _core.Functions:
        built = _core.Functions()
        held: list[Hook] = []
        for (kind, domain, name), call in entries:
            if kind == "fold":
                built.add_fold(name, _weak(held, _fold(name, call)))
            elif kind == "predicate":
                built.add_predicate(name, _weak(held, _predicate(name, call)))
            else:
                built.add_operator(domain, name, _weak(held, _operator(name, call)))
        built.held = held  # type: ignore[attr-defined]
        return built

    def _registry(self) -> _core.Functions | None:
        return self._build(list(self._entries.items())) if self._entries else None


#: What the decorators of the package fill.
default = Functions()
function = default.function
predicate = default.predicate
operator = default.operator


def registry(functions: Functions | Mapping[str, Hook] | None) -> _core.Functions | None:
    if functions is None:
        return default._registry()
    if isinstance(functions, Mapping):
        collection = Functions()
        for name, call in functions.items():
            collection.function(name=name)(call)
        functions = collection
    if not isinstance(functions, Functions):
        raise usage(f"`functions` is a dict or qrewrite.Functions, not {type(functions).__name__}")
    return functions._registry()
