"""qrewrite among the passes of onnx_ir: rule files in the pipelines of onnxscript, Olive and torch's exporter.

    from onnx_ir import passes
    from qrewrite.onnx_ir import RewritePass

    pipeline = passes.Sequential(RewritePass("optimize"), RewritePass("rules/mine.yaml", threshold=0.5))
    model = pipeline(model).model
"""
from __future__ import annotations

import gc
from bisect import bisect_right
from contextlib import contextmanager
from functools import lru_cache
from mmap import ACCESS_READ, mmap
from os import fstat
from os.path import isabs
from pathlib import Path
from typing import AbstractSet as Set
from typing import Any, Iterator, NamedTuple, Sequence

import onnx
import onnx_ir as ir
from onnx_ir import passes, serde

from . import _core
from ._errors import CallbackError, Error, FileError, InvalidModel, LimitError, usage, without_place
from ._ir import THRESHOLD, Clonable, Message, copy_meta, in_words, nodes_of, numpy_of, other_tensor
from ._ir import Unusual as Seldom
from ._ir_build import Builder
from ._ir_make import samples
from ._ir_update import Graph as GraphUpdate
from ._ir_update import Unusual
from ._proto import serialized
from ._report import Report

_GRAPH = onnx.ModelProto.GRAPH_FIELD_NUMBER
# A tensor of the caller, and the bytes that the library reads of it.
Original = tuple[ir.TensorProtocol, Any]


class Read(NamedTuple):
    """What was read of a model."""

    message: Any
    originals: list[Original]
    locations: list[str]  # of the originals, in the message
    nodes: list[ir.Node]
    calls: int  # of users' functions, before it


def to_core(model: ir.Model) -> tuple[_core.Model, list[Original]]:
    """The model in the library, and its large tensors. These are not copied into a message: there is no limit of 2 GB."""
    core, read = read_model(model)
    return core, read.originals


def read_model(model: ir.Model) -> tuple[_core.Model, Read]:
    try:
        return _read(model)
    except InvalidModel as e:
        for name in _without_data(model):
            if f"`{name}`" in str(e):
                fault = f"{e}: it is an initializer without data (its const_value is None)"
                raise without_place(InvalidModel, fault) from None
        raise


def _without_data(model: ir.Model) -> list[str | None]:
    """Initializers that onnx_ir has, and does not write."""
    return [value.name for graph in _graphs(model) for value in graph.initializers.values() if value.const_value is None]


def _read(model: ir.Model) -> tuple[_core.Model, Read]:
    message, tensors, nodes = _message(model)
    at_hand = {location: data for location, (_, data) in tensors.items() if data is not None}
    originals = [(tensor, data) for tensor, data in tensors.values() if data is not None]
    read = Read(message, originals, list(at_hand), nodes, _core.calls_of_users())

    asked: list[Any] = []  # of whom data was asked for last

    def external(location: str) -> Any:
        tensor = tensors[location][0] if location in tensors else None
        asked[:] = [tensor]
        if tensor is None:
            return _file(model, location)
        read.originals.append((tensor, _bytes(tensor)))
        read.locations.append(location)
        return read.originals[-1][1]

    try:
        return _core.Model.parse(message, b"", external, at_hand), read
    except CallbackError as e:
        if not asked:
            raise
        if isinstance(e.__cause__, InvalidModel):
            raise e.__cause__ from None
        raise _unreadable(e, asked[0]) from e.__cause__
    except InvalidModel:
        if not tensors:
            raise
        try:  # said again of the whole, in whose words it is understood
            whole = _whole(model)
        except LimitError:
            whole = None
        if whole is None:
            raise
    return _core.Model.parse(whole, b"", lambda location: _file(model, location)), Read(whole, [], [], read.nodes, read.calls)


def _unreadable(error: CallbackError, tensor: Any) -> Error:
    """What it means that a tensor of onnx_ir raised: of a file, or a model; a LazyTensor calls a function of the user."""
    asked = "the function for external data"
    kind: type[Error]
    if isinstance(tensor, (ir.ExternalTensor, serde.TensorProtoTensor, type(None))):
        kind = FileError if isinstance(error.__cause__, OSError) else InvalidModel
        fault = str(error).replace(f"{asked} threw an exception: ", "")
    else:
        kind, fault = CallbackError, str(error).replace(asked, "its function")
    return without_place(kind, fault)


def _message(model: ir.Model) -> tuple[Any, dict[str, Any], list[ir.Node]]:
    """The message, tensors by the location that it has for them, and the nodes of the graph."""
    with _no_collections():
        try:
            writer = Message(model.ir_version)
            return writer.model(model), writer.tensors, writer.nodes
        except (InvalidModel, CallbackError):
            raise
        except Exception:  # said again by onnx_ir, in whose words it is understood
            return _whole(model), {}, list(model.graph)


def _whole(model: ir.Model) -> bytes:
    try:
        proto = ir.to_proto(model)
    except Exception as e:  # onnx_ir has many
        fault = f"onnx_ir cannot serialize the model: {_innermost(e)}"
        raise without_place(InvalidModel, fault) from e
    return serialized(proto)


def _innermost(error: BaseException) -> str:
    """onnx_ir says of each object around it that it failed, and of which fields; what went wrong is the first cause."""
    around = None
    while isinstance(error.__cause__, Exception):
        around, error = error, error.__cause__
    return in_words(error) if around is None else f"{in_words(error)} ({str(around)[:300]})"


def from_core(core: _core.Model, originals: Sequence[Original] = ()) -> ir.Model:
    """The library's model as an onnx_ir.Model. Its large tensors are those of `originals` that are still there, and views of memory."""
    message, parts = core.serialize_apart("qrewrite", THRESHOLD, [data for _, data in originals])
    data = _Data(parts, originals)
    with _no_collections():
        try:
            return _build(message, data)
        except Exception:  # what is seldom, or said in onnx_ir's words
            model = _deserialized(onnx.ModelProto.FromString(message))
            data.resolve(model)
            return model


def _deserialized(proto: onnx.ModelProto) -> ir.Model:
    model = serde.deserialize_model(proto)
    for written in proto.functions:  # onnx_ir does not read what is said of a function's inputs, though it writes it
        inputs = {value.name: value for value in model.functions[written.domain, written.name, getattr(written, "overload", "")].inputs}
        for info in getattr(written, "value_info", ()):
            if info.name in inputs:
                serde.deserialize_value_info_proto(info, inputs[info.name])
    return model


def _build(message: bytes, data: _Data) -> ir.Model:
    around = onnx.ModelProto.FromString(_core.without(message, _GRAPH))
    if len(getattr(around, "configuration", ())) or len(around.functions) and around.ir_version < 10:
        raise Seldom  # of which the nodes and values of the graph say something
    model = _deserialized(around)
    data.resolve(model)
    opsets = model.graph.opset_imports
    (graph,) = _core.fields(message, _GRAPH)
    built: Any = _core.ir_build(graph, Builder(data, samples()))
    model.graph = built
    model.graph.opset_imports.update(opsets)
    return model


def clone(model: ir.Model, core: _core.Model, originals: Sequence[Original] = ()) -> ir.Model:
    """A model like `model`, which no rewrite changed; it shares the weights, and keeps what no file has (`meta`)."""
    with _no_collections():
        for like in (Clonable(model), model):
            try:
                made = ir.Model.clone(like)  # type: ignore[arg-type]
                copy_meta(model, made)
                return made
            except Exception:  # an onnx_ir before 0.1.10, or nodes before their producers, which the library has sorted
                pass
    return from_core(core, originals)


@contextmanager
def _no_collections() -> Iterator[None]:
    """Making many objects, none of which is garbage: Python's collector would look through all of them, again and again."""
    if not gc.isenabled():
        yield
        return
    _Old.collect()
    try:  # whatever comes between, a Ctrl-C too
        gc.disable()
        yield
    finally:
        try:
            _Old.put()
        finally:
            gc.enable()


class _Old:
    """Objects that are old at once, unlooked at. Python's collector counts only what gets old by itself, and would never look for garbage among these."""

    put_since = 0  # the last full collection
    others = 0  # how many there were then
    collections = -1
    callers = False  # the caller has frozen objects, which are to stay so; counting them is slow

    @classmethod
    def put(cls) -> None:
        if cls.callers:
            return
        if gc.get_freeze_count() > 0:
            cls.callers = True
            return
        young = gc.get_count()
        try:
            gc.freeze()
            if (collections := gc.get_stats()[-1]["collections"]) != cls.collections:
                cls.collections, cls.put_since, cls.others = collections, 0, gc.get_freeze_count()
        finally:
            gc.unfreeze()
        cls.put_since += young[0] + young[1] * gc.get_threshold()[0]

    @classmethod
    def collect(cls) -> None:
        """When as many were made as there are others: so what the garbage takes, and the search for it, stay in proportion."""
        if cls.put_since > cls.others and gc.get_threshold()[0] > 0 and gc.get_stats()[-1]["collections"] == cls.collections:
            gc.collect()


class _Data:
    """The file "qrewrite" of a model, which consists of parts: tensors of the caller, and memory."""

    def __init__(self, parts: list[tuple[int, Any]], originals: Sequence[Original]) -> None:
        self._offsets = [offset for offset, _ in parts]
        self._parts = [part for _, part in parts]
        self._originals = originals
        self._shapes: dict[tuple[int, ...], ir.Shape] = {}

    def _at(self, offset: int) -> tuple[Any, int]:
        """The part, and where in it that is."""
        number = bisect_right(self._offsets, offset) - 1
        return self._parts[number], offset - self._offsets[number]

    def tensor(self, reference: ir.ExternalTensor, name: str | None) -> ir.TensorProtocol:
        offset, size = reference.offset or 0, reference.length or 0
        part, begin = self._at(offset)
        if isinstance(part, int):
            tensor, part = self._originals[part]
            if tensor.dtype == reference.dtype and tensor.shape == reference.shape and tensor.name == name:
                return tensor
        return _view(reference, memoryview(part).cast("B")[begin:begin + size], name)

    def resolve(self, model: ir.Model) -> None:
        """Puts tensors in the place of what only refers to them."""
        for graph in _graphs(model):
            for value in graph.initializers.values():
                if isinstance(value.const_value, ir.ExternalTensor):
                    value.const_value = self.tensor(value.const_value, value.name)
            for node in graph:
                for attribute in list(node.attributes.values()):
                    if attribute.type in (ir.AttributeType.TENSOR, ir.AttributeType.TENSORS) and not attribute.is_ref():
                        self._resolve_attribute(node, attribute)

    def _resolve_attribute(self, node: ir.Node, attribute: ir.Attr) -> None:
        one = attribute.type == ir.AttributeType.TENSOR
        tensors: Any = [attribute.value] if one else attribute.value
        if any(isinstance(tensor, ir.ExternalTensor) for tensor in tensors):
            tensors = [self.tensor(tensor, tensor.name) if isinstance(tensor, ir.ExternalTensor) else tensor for tensor in tensors]
            node.attributes[attribute.name] = ir.Attr(attribute.name, attribute.type, tensors[0] if one else tensors, doc_string=attribute.doc_string)

    def apart(self, name: str, dtype: ir.DataType, dims: tuple[int, ...], offset: int, length: int) -> Any:
        """The tensor of that name, type and shape whose data is there."""
        part, begin = self._at(offset)
        if isinstance(part, int):
            tensor, part = self._originals[part]
            if tensor.name == name and tensor.dtype == dtype and tensor.shape.dims == dims:
                return tensor
        if (shape := self._shapes.get(dims)) is None:
            shape = self._shapes[dims] = ir.Shape(dims, frozen=True)  # which nobody changes
        if (element := _element(dtype)) is None:
            return _view(_Kind(dtype, shape, None, {}), memoryview(part).cast("B")[begin:begin + length], name)
        return ir.Tensor(element.array(part, length, begin).reshape(dims), dtype, shape=shape, name=name, metadata_props={})

    def of(self, proto: onnx.TensorProto) -> Any:
        """The tensor that the message stands for."""
        if proto.data_location == onnx.TensorProto.EXTERNAL and not len(proto.metadata_props):
            place = {entry.key: entry.value for entry in proto.external_data}
            part, begin = self._at(int(place.get("offset", 0)))
            if not isinstance(part, int):  # what is new needs no reference first
                kind = _Kind(ir.DataType(proto.data_type), ir.Shape(proto.dims, frozen=True),
                             proto.doc_string if proto.HasField("doc_string") else None, {})
                return _view(kind, memoryview(part).cast("B")[begin:begin + int(place["length"])], proto.name)
        tensor = serde.deserialize_tensor(proto)
        return self.tensor(tensor, proto.name) if isinstance(tensor, ir.ExternalTensor) else tensor


def _graphs(model: ir.Model) -> Iterator[Any]:
    yield model.graph
    yield from model.graph.subgraphs()
    for function in model.functions.values():
        yield function.graph
        yield from function.graph.subgraphs()


def _file(model: ir.Model, location: str) -> Any:
    """The file that constants in functions of the model call so: onnx_ir knows the folder of each."""
    for function in model.functions.values():
        for node in function.all_nodes():
            for attribute in node.attributes.values():
                tensors = [attribute.value] if attribute.type == ir.AttributeType.TENSOR else \
                    attribute.value if attribute.type == ir.AttributeType.TENSORS else []
                for tensor in tensors:
                    if isinstance(tensor, ir.ExternalTensor) and str(tensor.location) == location:
                        if not tensor.base_dir and (isabs(location) or ".." in Path(location).parts):  # onnx_ir.load() forgets it
                            raise ValueError(f"External data location '{location}' is outside the base directory")
                        tensor.tobytes()  # refuses what is outside of its folder
                        with open(tensor.path, "rb") as file:
                            return mmap(file.fileno(), 0, access=ACCESS_READ) if fstat(file.fileno()).st_size else b""
    return None


def _bytes(tensor: Any) -> Any:
    # Elements of 8 bit and more lie in their arrays as in the file; those below are packed by tobytes().
    import numpy as np
    array = numpy_of(tensor) if tensor.dtype.itemsize >= 1 else None
    if array is None or not array.flags.c_contiguous or array.dtype.byteorder == ">":
        data = tensor.tobytes()
    else:
        data = array.reshape(-1).view(np.uint8)
    if len(data) != tensor.nbytes:
        raise other_tensor(tensor, f"{len(data)} bytes", f"{tensor.nbytes} bytes")
    return data


class _Kind(NamedTuple):
    dtype: ir.DataType
    shape: ir.Shape
    doc_string: str | None
    metadata_props: dict[str, str]


def _view(reference: ir.ExternalTensor | _Kind, data: memoryview, name: str | None) -> ir.TensorProtocol:
    import numpy as np
    raw = np.frombuffer(data, np.uint8)
    if reference.dtype.itemsize < 1:
        array, kind = raw, ir.PackedTensor
    else:
        array, kind = raw.view(reference.dtype.numpy()).reshape(reference.shape.numpy()), ir.Tensor  # type: ignore[assignment]
    return kind(array, dtype=reference.dtype, shape=reference.shape, name=name, doc_string=reference.doc_string,
                metadata_props=reference.metadata_props)


class _Element(NamedTuple):
    dtype: Any  # of numpy
    size: int

    def array(self, data: Any, length: int, begin: int) -> Any:
        """A view of so many bytes."""
        import numpy as np
        return np.frombuffer(data, self.dtype, length // self.size, begin)


@lru_cache(maxsize=None)
def _element(dtype: ir.DataType) -> _Element | None:
    """None: smaller than a byte."""
    return _Element(dtype.numpy(), int(dtype.itemsize)) if dtype.itemsize >= 1 else None


class InPlace:
    """A model that rewrite() changes, instead of making another one."""

    def __init__(self, model: ir.Model) -> None:
        self.model = model

    def take(self, core: _core.Model, read: Read) -> ir.Model:
        if core.changed:
            with _no_collections():
                try:
                    self._update(core, read)
                except Unusual:
                    self._replace(from_core(core, read.originals))
        return self.model

    def _update(self, core: _core.Model, read: Read) -> None:
        """Puts in what differs."""
        if nodes_of(self.model.graph) != read.nodes or _core.calls_of_users() != read.calls and not _is_still(self.model, read):
            raise Unusual  # a function that was called meanwhile has changed it
        message, parts = core.serialize_apart("qrewrite", THRESHOLD, [data for _, data in read.originals])
        data = _Data(parts, read.originals)
        locations = {offset: read.locations[part] for offset, part in parts if isinstance(part, int)}
        (before,), (after,) = _core.fields(read.message, _GRAPH), _core.fields(message, _GRAPH)
        update = GraphUpdate(self.model.graph, read.nodes, before, after, locations, Builder(data, samples()))
        around = _core.without(message, _GRAPH)
        rest = None
        if around != _core.without(read.message, _GRAPH):
            rest = _deserialized(onnx.ModelProto.FromString(around))
            data.resolve(rest)
        try:
            update.commit()
            if rest is not None:
                self._take_rest(rest, _same_functions(read.message, message))
        except Exception as e:
            raise Unusual from e
        except BaseException:  # Ctrl-C in the middle of it: what was read, of new objects
            self._replace(self._again(read))
            raise

    def _again(self, read: Read) -> ir.Model:
        """The model that was read."""
        data = dict(zip(read.locations, (data for _, data in read.originals)))
        core = _core.Model.parse(read.message, b"", lambda location: data[location] if location in data else _file(self.model, location))
        return from_core(core, read.originals)

    def _replace(self, made: ir.Model) -> None:
        self.model.graph = made.graph
        if hasattr(made, "device_configurations"):
            self.model.device_configurations = made.device_configurations  # which the nodes refer to
        self._take_rest(made)

    def _take_rest(self, made: ir.Model, stay: Set[Any] = frozenset()) -> None:
        """All but the graph. `stay`: functions that do not change."""
        for name in ("ir_version", "producer_name", "producer_version", "domain", "model_version", "doc_string"):
            setattr(self.model, name, getattr(made, name))
        functions = {key: self.model.functions[key] if key in stay else function for key, function in made.functions.items()}
        opsets = dict(made.graph.opset_imports)  # which may be those of this graph
        tables: Any = ((self.model.functions, functions), (self.model.metadata_props, made.metadata_props), (self.model.graph.opset_imports, opsets))
        for table, new in tables:
            table.clear()
            table.update(new)


def _is_still(model: ir.Model, read: Read) -> bool:
    return bytes(memoryview(_message(model)[0])) == bytes(memoryview(read.message))


def _same_functions(before: Any, after: Any) -> set[Any]:
    """Identifiers of functions that both messages have."""
    def functions(message: Any) -> dict[Any, onnx.FunctionProto]:
        protos = [onnx.FunctionProto.FromString(bytes(memoryview(field))) for field in _core.fields(message, onnx.ModelProto.FUNCTIONS_FIELD_NUMBER)]
        return {(proto.domain, proto.name, getattr(proto, "overload", "")): proto for proto in protos}
    old, now = functions(before), functions(after)
    return {key for key, proto in now.items() if old.get(key) == proto}


class RewritePass(passes.PassBase):
    """Applies rule sets, with the options and parameters of :func:`qrewrite.rewrite`.

    The given model does not change; with ``in_place=True`` it does, as onnx_ir's own passes do it: what differs is put in, and all else
    stays the same objects. That costs as much as changes, and reading the model. `report` is the report of the last run.
    """

    def __init__(self, rules: Any, *, in_place: bool = False, **options: Any) -> None:
        super().__init__()
        from ._arguments import flag
        from ._rewrite import check_options, load_all
        self.rules: Sequence[Any] = load_all(rules)
        check_options(self.rules, options)
        self.options = options
        self.report: Report | None = None
        self._in_place = flag("`in_place`", in_place)

    @property
    def in_place(self) -> bool:
        return self._in_place

    @property
    def changes_input(self) -> bool:
        return self._in_place

    def call(self, model: ir.Model) -> passes.PassResult:
        from ._rewrite import rewrite
        if not isinstance(model, ir.Model):
            raise usage(f"a RewritePass takes an onnx_ir.Model, not {type(model).__name__}")
        given: Any = InPlace(model) if self._in_place else model
        rewritten, self.report = rewrite(given, self.rules, **self.options)
        return passes.PassResult(rewritten, modified=self.report.changed)
