"""What the extension module asks for when it makes graphs of onnx_ir of a message: that which is seldom, and tensors."""
from __future__ import annotations

from typing import Any, Protocol

import onnx
import onnx_ir as ir
from onnx_ir import serde

from ._ir import ANNOTATION, Maker
from ._ir_make import Samples


class Tensors(Protocol):
    """What a message stands for."""

    def of(self, proto: onnx.TensorProto) -> Any: ...

    def apart(self, name: str, dtype: ir.DataType, dims: tuple[int, ...], offset: int, length: int) -> Any: ...


class Builder(Maker):
    symbol = ir.SymbolicDim
    dtype = ir.DataType
    graph_kind, graphs_kind = ir.AttributeType.GRAPH, ir.AttributeType.GRAPHS

    def __init__(self, tensors: Tensors, samples: Samples | None) -> None:
        super().__init__(samples)
        self.tensor_of = tensors.of
        self.tensor_apart = tensors.apart

    def declare(self, value: ir.Value, message: bytes) -> None:
        serde.deserialize_value_info_proto(onnx.ValueInfoProto.FromString(message), value)

    def annotate(self, value: ir.Value, message: bytes) -> None:
        entries = onnx.TensorAnnotation.FromString(message).quant_parameter_tensor_names
        value.meta[ANNOTATION] = {entry.key: entry.value for entry in entries}

    def shape(self, dims: list[int | ir.SymbolicDim]) -> ir.Shape:
        return ir.Shape(dims, frozen=True)

    def tensor(self, message: bytes) -> Any:
        return self.tensor_of(onnx.TensorProto.FromString(message))

    def attribute(self, message: bytes) -> ir.Attr:
        return serde.deserialize_attribute(onnx.AttributeProto.FromString(message))

    def attribute_of_tensors(self, message: bytes) -> ir.Attr:
        proto = onnx.AttributeProto.FromString(message)
        kind = ir.AttributeType(proto.type)
        value: Any = self.tensor_of(proto.t) if kind == ir.AttributeType.TENSOR else [self.tensor_of(tensor) for tensor in proto.tensors]
        return ir.Attr(proto.name, kind, value, doc_string=_text(proto))


def _text(proto: Any) -> str | None:
    return proto.doc_string if proto.HasField("doc_string") else None
