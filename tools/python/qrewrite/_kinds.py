"""The kinds of models that the package takes, and gives back."""
from __future__ import annotations

from os import PathLike, fsdecode
from typing import TYPE_CHECKING, Any, Callable

from . import _arguments, _core, _proto
from ._errors import usage
from ._model import Model
from ._proto import is_proto

if TYPE_CHECKING:
    from pathlib import Path

# From the rewritten model to what the caller gets. None: a file.
Back = Callable[[_core.Model], Any] | None


def is_ir(model: Any) -> bool:
    return any(kind.__name__ == "Model" and kind.__module__.partition(".")[0] == "onnx_ir" for kind in type(model).__mro__)


def read(model: Any, folder: str | PathLike[str] = "") -> tuple[_core.Model, Back]:
    """The model, which belongs to the caller and may be changed, and the way back to its kind."""
    if isinstance(model, Model):
        return model._core.clone(), Model
    if isinstance(model, (str, PathLike)):
        return _core.Model.load(_arguments.path("a model", model)), None
    if isinstance(model, (bytes, bytearray, memoryview)):
        kind = next(kind for kind in (bytearray, memoryview, bytes) if isinstance(model, kind))
        return _parse(bytes(model), folder), lambda core: kind(core.serialize())
    if is_proto(model):
        return _proto.to_core(model, _arguments.path("`folder`", folder))
    if type(model).__name__ == "InPlace" and type(model).__module__ == "qrewrite.onnx_ir":
        from . import onnx_ir
        read, what = onnx_ir.read_model(model.model)
        return read, lambda core: model.take(core, what)
    if is_ir(model):
        from . import onnx_ir
        read, originals = onnx_ir.to_core(model)
        return read, lambda core: onnx_ir.from_core(core, originals) if core.changed else onnx_ir.clone(model, core, originals)
    raise usage(f"a model is a path, bytes, an onnx.ModelProto, an onnx_ir.Model or a qrewrite.Model, not {type(model).__name__}")


def look(model: Any, folder: str | PathLike[str] = "") -> _core.Model:
    """The model, to be looked at only."""
    return model._core if isinstance(model, Model) else read(model, folder)[0]


def _parse(data: bytes, folder: str | PathLike[str]) -> _core.Model:
    return _core.Model.parse(data, _arguments.path("`folder`", folder), None)


def default_output(model: str | PathLike[str], names: list[str]) -> str | Path:
    """What the command calls it: "a/model.onnx" and "tidy" make "a/model.tidy.onnx"."""
    from pathlib import Path
    path = Path(fsdecode(model))
    stem = path.stem if path.suffix == ".onnx" else path.name
    named = path.with_name(".".join([stem, *names, "onnx"]))
    return str(named) if isinstance(model, str) else named
