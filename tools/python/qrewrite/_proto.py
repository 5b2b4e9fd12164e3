"""onnx.ModelProto as the library takes it, and back.

protobuf hands out bytes as copies only, and its own SerializeToString makes three of a large model. So a message goes
piece by piece: large tensors beside it, each copied once, and into the result likewise. No piece passes 2 GB, so the
whole may. Only the public interface of messages is used, which all implementations of protobuf have.
"""
from __future__ import annotations

from functools import cache
from importlib import import_module
from operator import attrgetter
from typing import Any, Callable, NamedTuple

from . import _core
from ._errors import Error, LimitError

# Bytes from which a tensor goes beside the message: what a reference costs is what it costs to copy so much.
_LARGE = 1 << 16
# Up to so many bytes in so many tensors go with it.
_SMALL, _MANY = 1 << 24, 500
# What else a tensor beside the message may have.
_CARRIED = ("dims", "data_type", "name", "doc_string", "metadata_props")


def is_proto(model: Any) -> bool:
    return type(model).__name__ == "ModelProto" and hasattr(model, "SerializeToString")


class Parts(NamedTuple):
    """A message without its large tensors, and these by the location that it has for them."""

    message: _core.Buffer | bytes
    data: dict[str, bytes]


def to_core(proto: Any, folder: bytes) -> tuple[_core.Model, Callable[[_core.Model], Any]]:
    """The model in the library, and the way back. `proto` is read only."""
    kind = type(proto)
    calls = _core.calls_of_users()
    parts = Parts(serialized(proto), {}) if _is_small(proto) else _parts(proto)
    if parts is not None:
        others: list[str] = []  # locations that are the caller's own

        def external(location: str) -> None:
            others.append(location)
            return None

        try:
            core = _core.Model.parse(parts.message, folder, external, parts.data)
            return core, lambda core: _from_core(core, proto if calls == _core.calls_of_users() else None, kind, parts, bool(others))
        except Error:
            pass  # said again of the whole, in whose words it is understood
    return _core.Model.parse(serialized(proto), folder, None), lambda core: _filled(core, kind, {})


def _from_core(core: _core.Model, proto: Any, kind: Any, parts: Parts, has_files: bool) -> Any:
    """`proto`: what was read; None: a function of the user may have changed it since."""
    # What did not change is what it was, to the order of its nodes, unless it gets the data of files.
    if core.changed or has_files:
        return _filled(core, kind, parts.data)
    if proto is None:
        return _joined(kind, parts)
    copy = kind()
    copy.CopyFrom(proto)
    return copy


def _filled(core: _core.Model, kind: Any, data: dict[str, bytes]) -> Any:
    """The library's model as a new message. `data`: what it may still hold as it is."""
    proto = kind()
    _core.fill(core, proto, list(data.values()))
    return proto


def _joined(kind: Any, parts: Parts) -> Any:
    proto = kind()
    _core.merge(proto, parts.message)
    for tensor in proto.graph.initializer if parts.data else ():
        location = tensor.external_data[0].value if len(tensor.external_data) else ""
        if location in parts.data:
            tensor.ClearField("external_data")
            tensor.ClearField("data_location")
            tensor.raw_data = parts.data[location]
    return proto


def serialized(proto: Any) -> bytes:
    try:
        data: bytes = proto.SerializeToString()
        return data
    except Exception as e:  # protobuf has one of its own for each of its implementations
        raise LimitError(f"the ModelProto cannot be serialized: {e}") from e


def _is_small(proto: Any) -> bool:
    """Many small tensors are serialized faster as a whole than one by one."""
    tensors = proto.graph.initializer
    if len(tensors) < _MANY:
        return False
    left = _SMALL
    for size in map(len, map(attrgetter("raw_data"), tensors)):
        left -= size
        if left < 0:
            return False
    return True


def _parts(proto: Any) -> Parts | None:
    """None: it has what only protobuf itself can carry."""
    if not proto.HasField("graph") or _has_unknown(proto) or _has_unknown(proto.graph):
        return None
    around, repeated = _shallow(proto, "graph")
    for field, value in repeated:
        getattr(around, field.name).extend(value)
    message = _core.Joiner(around.SerializeToString())
    graph, repeated = _shallow(proto.graph)
    message.add(graph.SerializeToString())
    data: dict[str, bytes] = {}
    for field, value in repeated:
        if field.name == "initializer":
            message.extend(field.number, (_tensor(t, data) for t in value))
        else:
            message.extend(field.number, map(type(value[0]).SerializeToString, value))  # tens of thousands: no step of Python for each
    return Parts(message.finish(proto.DESCRIPTOR.fields_by_name["graph"].number), data)


def _shallow(message: Any, but: str = "") -> tuple[Any, list[tuple[Any, Any]]]:
    """A message with the texts and numbers of this one, and its other fields."""
    shallow, others = type(message)(), []
    for field, value in message.ListFields():
        if isinstance(value, (str, int)):
            setattr(shallow, field.name, value)
        elif field.name != but:
            others.append((field, value))
    return shallow, others


def _tensor(tensor: Any, data: dict[str, bytes]) -> bytes:
    raw = _core.raw_data(tensor)
    if len(raw) < _LARGE or _has_more(tensor):
        whole: bytes = tensor.SerializeToString()
        return whole
    apart = type(tensor)()
    apart.dims.extend(tensor.dims)
    apart.data_type = tensor.data_type
    apart.name = tensor.name
    if tensor.HasField("doc_string"):
        apart.doc_string = tensor.doc_string
    if hasattr(tensor, "metadata_props"):
        apart.metadata_props.extend(tensor.metadata_props)
    location = f"\0{len(data)}"  # what no file is called
    data[location] = raw
    apart.external_data.add(key="location", value=location)
    apart.external_data.add(key="length", value=str(len(raw)))
    apart.data_location = 1  # EXTERNAL
    header: bytes = apart.SerializeToString()
    return header


def _has_more(tensor: Any) -> bool:
    """Whether the tensor has a field beside its raw data and those that are carried."""
    single, repeated = _other_fields(tensor.DESCRIPTOR)
    return any(map(tensor.HasField, single)) or any(len(getattr(tensor, name)) for name in repeated) or _has_unknown(tensor)


@cache
def _other_fields(descriptor: Any) -> tuple[list[str], list[str]]:
    others = [f for f in descriptor.fields if f.name not in (*_CARRIED, "raw_data")]
    single = [f.name for f in others if f.has_presence]
    return single, [f.name for f in others if f.name not in single]


def _has_unknown(message: Any) -> bool:
    fields = _unknown_fields()
    return fields is None or len(fields(message)) > 0


@cache
def _unknown_fields() -> Any:
    try:
        return import_module("google.protobuf.unknown_fields").UnknownFieldSet
    except ImportError:  # of before protobuf 4.22
        return None
