"""Two models on the same numbers: verify() and debug(); run() runs one."""
from __future__ import annotations

import math
from os import PathLike, fsencode
from typing import TYPE_CHECKING, Any, Callable, Iterable, Literal, Mapping, Sequence

from . import _arguments, _core
from ._errors import io, usage
from ._hooks import Functions, registry
from ._kinds import look
from ._report import Unit
from ._tensors import from_numpy, to_numpy

if TYPE_CHECKING:
    import numpy as np

    from ._rewrite import RuleSource

Arrays = Mapping[str, Any]
# "onnxruntime" (or "ort"), "builtin", or from a serialized model and the names of its outputs to a function from inputs to outputs.
Runtime = str | PathLike[str] | Callable[[bytes, list[str]], Callable[[dict[str, Any]], Mapping[str, Any]]]


def _plain(arrays: Arrays) -> dict[str, Any]:
    return {name: from_numpy(value, f"`{name}`") for name, value in arrays.items()}


def _given(what: str, arrays: Any) -> dict[str, Any]:
    """The same of an argument."""
    arrays = _arguments.mapping(what, arrays)
    try:
        return _plain(arrays)
    except (TypeError, ValueError) as error:
        raise usage(f"{what}: {error}") from error


def _arrays(tensors: dict[str, Any]) -> dict[str, np.ndarray]:
    return {name: to_numpy(tensor) for name, tensor in tensors.items()}


def evaluator(runtime: Runtime, functions: Functions | None = None, *, optimize: bool = False, threads: int = 0) -> _core.Evaluator:
    if callable(runtime):
        def load(model: bytes, outputs: list[str]) -> Callable[[dict[str, Any]], dict[str, Any]]:
            run = runtime(model, outputs)

            def outputs_of(inputs: dict[str, Any]) -> dict[str, Any]:
                made = run(_arrays(inputs))
                if not isinstance(made, Mapping):
                    raise TypeError(f"the runtime returned {type(made).__name__}, not a dict of arrays by the names of the outputs")
                return _plain(made)
            return outputs_of
        return _core.host_evaluator(getattr(runtime, "__name__", "a function"), load)
    if isinstance(runtime, str) and runtime == "builtin":
        return _core.builtin_kernels(registry(functions))
    if isinstance(runtime, str) and runtime in ("onnxruntime", "ort"):  # as the command calls it, too
        from importlib.util import find_spec
        from os import listdir
        from os.path import isdir, join
        spec = find_spec("onnxruntime")  # of this Python; without one the library looks elsewhere
        folders = spec.submodule_search_locations if spec else None
        folder = join(folders[0], "capi") if folders else ""
        if folder and isdir(folder) and not any(name.startswith("libonnxruntime.so") for name in listdir(folder)):
            raise io(f"the onnxruntime in `{folder}` has no library beside its module, as version 1.19 and later ones have")
        return _core.onnx_runtime(fsencode(folder), optimize, threads)
    return _core.onnx_runtime(_arguments.path("`runtime`", runtime), optimize, threads)


class VerifyReport:
    """Whether two models compute the same. ``print(report)`` shows a table with the verdict in the last line."""

    def __init__(self, json: str, text: str, inputs: dict[str, Any], a: dict[str, Any], b: dict[str, Any]) -> None:
        from json import loads
        self._json: dict[str, Any] = loads(json)
        self._text = text
        self._worst = inputs, a, b

    @property
    def verdict(self) -> Literal["EXACT", "WITHIN", "DIVERGED", "INCONCLUSIVE"]:
        """The worst of the outputs'."""
        return self._json["verdict"]  # type: ignore[no-any-return]

    def __bool__(self) -> bool:
        """Whether nothing differs by more than the tolerance, and something was compared."""
        return self.verdict in ("EXACT", "WITHIN")

    @property
    def outputs(self) -> list[dict[str, Any]]:
        """What was measured of each output, with the keys of docs/verify.md."""
        return self._json["outputs"]  # type: ignore[no-any-return]

    @property
    def worst_inputs(self) -> dict[str, np.ndarray]:
        """The inputs of the sample with the largest difference: what a bug report needs."""
        return _arrays(self._worst[0])

    @property
    def worst_outputs(self) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
        """What both models made of them."""
        return _arrays(self._worst[1]), _arrays(self._worst[2])

    def to_dict(self) -> dict[str, Any]:
        """The report with the keys of docs/verify.md."""
        return self._json

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"<qrewrite.VerifyReport {self.verdict}>"


class DebugReport:
    """Where a quantized model loses precision; docs/debug.md explains the keys of `to_dict()`."""

    def __init__(self, json: str, html: str) -> None:
        from json import loads
        self._json: dict[str, Any] = loads(json)
        self._html = html

    def to_dict(self) -> dict[str, Any]:
        """The report with the keys of docs/debug.md."""
        return self._json

    def html(self) -> str:
        """A page that needs nothing else: tables, and the errors along the graph as a picture."""
        return self._html

    def _repr_html_(self) -> str:
        from html import escape
        return f'<iframe srcdoc="{escape(self._html)}" width="100%" height="600"></iframe>'


def verify(a: Any, b: Any, *, tolerance: str = "close", runtime: Runtime = "onnxruntime", samples: int = 5, seed: int = 0,
           inputs: Sequence[Arrays] | None = None, shapes: Mapping[str, Sequence[int]] | None = None,
           ranges: Mapping[str, tuple[float, float]] | None = None, names: Mapping[str, str] | None = None,
           scales: Mapping[str, float] | None = None, units: Mapping[str, Unit | Sequence[Any]] | None = None,
           rules: RuleSource | Sequence[RuleSource] = (), functions: Functions | None = None) -> VerifyReport:
    """Runs two models on the same numbers and compares their outputs, element by element.

        >>> floats, _ = qrewrite.rewrite("model.onnx", "ezkl_dequant")
        >>> optimized, _ = qrewrite.rewrite(floats, "optimize")
        >>> report = qrewrite.verify(floats, optimized, tolerance="sqnr:60")
        >>> report.verdict, report.outputs[0]["output"], report.outputs[0]["unequal"]
        ('EXACT', 'logits', 0)

    tolerance: "exact", "ulp:N", "lsb:N", "RTOL,ATOL", "close" (1e-4,1e-5) or "sqnr:DB" (docs/verify.md).
    runtime: "onnxruntime" (or "ort"), the path of its library, "builtin" (the library's own kernels), or a function that gets a serialized model and the
        names of its outputs and returns a function from inputs to outputs, dicts of arrays by name.
    inputs: of the first model, a dict of arrays for each sample; without it `samples` are made from `seed`.
    shapes, ranges: by input: sizes that the model leaves open, and the range of its numbers.
    names: of the first model's inputs and outputs in the second one, where they differ.
    scales: by output of the first model: its numbers times this are the second one's.
    units: by input or output of the first model, where the second one has integers in place of its floats: a :class:`Unit`, as
        :attr:`Report.units` has them, or ``(scale, zero_point)``. Both models get the same numbers, and results are compared as numbers.
    rules: that `b` was made with: operators of a back end run as what the rules' ``signatures:`` say that they compute.
    functions: whose operators (:func:`operator`) the built-in kernels run; without it those that the decorators of the package registered.

    :class:`UsageError`: the models' interfaces are not the same; :class:`Unsupported`: the runtime does not take one.
    """
    def by_name(what: str, values: Any, one: Callable[[Any], Any]) -> dict[str, Any]:
        return {name: one(value) for name, value in _arguments.mapping(what, values).items()}

    def span(value: Any) -> tuple[float, float]:
        ends = _arguments.items("`ranges`", value, "two numbers")
        if len(ends) != 2:
            raise usage(f"`ranges` has two numbers for an input, not {len(ends)}")
        return _arguments.number("`ranges`", ends[0]), _arguments.number("`ranges`", ends[1])

    options = {"tolerance": _arguments.text("`tolerance`", tolerance), "samples": _arguments.count("`samples`", samples, 2**31),
               "seed": _arguments.count("`seed`", seed, 2**64),
               "shapes": _arguments.shapes("`shapes`", shapes),
               "ranges": by_name("`ranges`", ranges, span),
               "names": by_name("`names`", names, lambda v: _arguments.text("`names`", v)),
               "scales": by_name("`scales`", scales, lambda v: _arguments.number("`scales`", v)),
               "units": by_name("`units`", units, _unit)}
    from ._rewrite import load_all
    sets = [] if isinstance(rules, (list, tuple)) and not rules else [each._core for each in load_all(rules, tests=True)]
    given = None if inputs is None else _samples(inputs)
    if given is not None and not given:
        raise usage("`inputs` has no samples: at least one is needed, or None for samples that are made")
    second = _core.builtin_kernels(registry(functions)) if not isinstance(runtime, str) or runtime != "builtin" else None
    return VerifyReport(*_core.verify(look(a), look(b), evaluator(runtime, functions), second, options, sets, given))


def _unit(value: Any) -> Unit:
    parts = _arguments.items("`units`", value, "a scale and a zero point")
    if len(parts) not in (2, 4):
        raise usage(f"`units` has a scale and a zero point for a name, not {len(parts)}")

    def numbers(part: Any) -> list[float]:
        several = hasattr(part, "__len__") and not isinstance(part, (str, bytes, Mapping))
        return [_arguments.number("`units`", number) for number in (part if several else [part])]

    lo, hi = (_arguments.number("`units`", part) for part in parts[2:]) if len(parts) == 4 else (-math.inf, math.inf)
    return Unit(numbers(parts[0]), numbers(parts[1]), lo, hi)


def _samples(inputs: Any) -> list[dict[str, Any]]:
    return [_given("`inputs`", sample) for sample in _arguments.items("`inputs`", inputs, "dicts of arrays")]


def debug(float_model: Any, quantized_model: Any, inputs: Sequence[Arrays], *, runtime: Runtime = "onnxruntime",
          map: Mapping[str, str] | None = None, isolate: bool = False, suggest: int = 0, validate: bool = False,
          functions: Functions | None = None) -> DebugReport:
    """Measures where a quantized model loses precision against its float model (docs/debug.md).

        >>> floats, _ = qrewrite.rewrite("model.onnx", "ezkl_dequant")
        >>> sample = {"x": np.random.default_rng(0).standard_normal((1, 3, 12, 12), np.float32)}
        >>> report = qrewrite.debug(floats, "model.onnx", [sample])
        >>> sorted(report.to_dict())
        ['activations', 'model_outputs', 'run', 'summary', 'unmatched', 'weights']

    inputs: a dict of arrays for each sample. map: values of the float model to those of the quantized one. isolate: what
    each operator loses alone. suggest: how many activations to name that should stay in float; `validate` measures what that gains. functions: as of :func:`verify`.

    :class:`Refused`: less than half of the quantized values have a counterpart: the models are not of one origin.
    """
    samples = _samples(inputs)
    if not samples:
        raise usage("debug() needs a sample at least")
    pairs = {name: _arguments.text("`map`", other) for name, other in _arguments.mapping("`map`", map).items()}
    options = {"map": pairs, "isolate": _arguments.flag("`isolate`", isolate), "suggest": _arguments.count("`suggest`", suggest),
               "validate": _arguments.flag("`validate`", validate)}
    return DebugReport(*_core.debug(look(float_model), look(quantized_model), evaluator(runtime, functions), options, samples))


def run(model: Any, inputs: Arrays, *, runtime: Runtime = "onnxruntime", observe: Iterable[str] = (),
        functions: Functions | None = None) -> dict[str, np.ndarray]:
    """The outputs of a model on `inputs`, and the values `observe` inside of it: arrays by name. functions: as of :func:`verify`.

        >>> x = np.zeros((1, 3, 12, 12), np.float32)
        >>> {name: array.shape for name, array in qrewrite.run("model.onnx", {"x": x}, observe=["relu1_out"]).items()}
        {'logits': (1, 10), 'relu1_out': (1, 8, 12, 12)}

    :class:`UsageError`: an input is missing, or there is no such value; :class:`Unsupported`: the runtime does not take the model, or an output is no tensor.
    """
    return _arrays(_core.run(look(model), evaluator(runtime, functions), _given("`inputs`", inputs), _arguments.names("`observe`", observe)))
