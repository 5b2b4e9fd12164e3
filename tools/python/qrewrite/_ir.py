"""onnx_ir.Model as a message: what to_core of onnx_ir.py reads.

The objects are read by the extension module; what is seldom is asked of onnx_ir's own serializer. Nothing of the model is changed.
"""
from __future__ import annotations

from typing import Any

import onnx
import onnx_ir as ir
from onnx_ir import serde

from . import _core
from ._errors import CallbackError, Error, InvalidModel, without_place
from ._ir_make import Samples, samples

# Bytes from which tensors pass beside the message.
THRESHOLD = 1024

_INSIDE = (ir.DataType.STRING, ir.DataType.UNDEFINED)
ANNOTATION = "quant_parameter_tensor_names"


class _Reader:
    """What the extension module reads of onnx_ir's objects."""

    graph_type, tensor_type, node_type, value_type, attribute_type, shape_type = ir.Graph, ir.TensorType, ir.Node, ir.Value, ir.Attr, ir.Shape
    # Reading the public names makes an empty dict in each object.
    meta = "_metadata" if hasattr(ir.Value, "_metadata") and hasattr(ir.Node, "_metadata") else "meta"
    metadata_props = "_metadata_props" if hasattr(ir.Value, "_metadata_props") and hasattr(ir.Node, "_metadata_props") else "metadata_props"
    # In a list, not one by one from a method.
    denotations = "_denotations" if isinstance(getattr(ir.Shape(()), "_denotations", None), list) else None
    devices = "device_configurations" if hasattr(ir.Node, "device_configurations") else None


class Unusual(Exception):
    """This is left to onnx_ir's own clone(), or its own deserializer."""


class Maker(_Reader):
    """What the extension module calls for what it does not make itself."""

    def __init__(self, samples: Samples | None) -> None:
        #: Like these, objects are made without their constructors.
        self.samples = samples

    def copy_of_attribute(self, attribute: ir.Attr) -> ir.Attr:
        return ir.Attr(attribute.name, attribute.type, attribute.value, attribute.ref_attr_name, doc_string=attribute.doc_string)

    def new_attribute(self, name: str, kind: ir.AttributeType, value: Any, doc_string: str | None) -> ir.Attr:
        return ir.Attr(name, kind, value, doc_string=doc_string)

    def new_graph(self, inputs: list[ir.Value], outputs: list[ir.Value], initializers: list[ir.Value], name: str | None, doc_string: str | None,
                  metadata_props: dict[str, str] | None, opset_imports: dict[str, int]) -> ir.Graph:
        """Without its nodes."""
        return ir.Graph(inputs, outputs, nodes=(), initializers=initializers, doc_string=doc_string, opset_imports=opset_imports, name=name,
                        metadata_props=metadata_props)

    def unusual(self) -> None:
        raise Unusual


class Message(Maker):
    """Writes graphs; the extension module calls it for what it does not write itself."""

    #: By location: the tensors that pass beside the message, and their bytes, if these are at hand.
    tensors: dict[str, tuple[ir.TensorProtocol, bytes | None]]

    #: Of the model's graph.
    nodes: list[ir.Node]

    threshold = THRESHOLD
    proto_tensor_type = serde.TensorProtoTensor

    def __init__(self, ir_version: int) -> None:
        super().__init__(samples())
        self.tensors = {}
        self._ir_version = ir_version

    def model(self, model: ir.Model) -> _core.Buffer:
        self.nodes = nodes = _core.IrEditor(self).nodes(model.graph)
        around = serde.serialize_model(_Around(model))  # type: ignore[arg-type]
        around.ClearField("graph")
        message = _core.Joiner(around.SerializeToString())
        message.add(_core.ir_graph(model.graph, nodes, self, message.add))
        return message.finish(onnx.ModelProto.GRAPH_FIELD_NUMBER)

    def initializer(self, name: str | None, tensor: Any) -> bytes:
        name = name or ""
        small = tensor.dtype in _INSIDE or tensor.nbytes < THRESHOLD and not isinstance(tensor, ir.ExternalTensor)
        if not small and not tensor.metadata_props:
            return _core.tensor_apart(name, tensor.dtype.value, tensor.shape.dims, tensor.doc_string, self._apart(tensor), tensor.nbytes)
        if small and type(tensor) is ir.Tensor and tensor.dtype not in _INSIDE and not tensor.metadata_props:
            return _core.tensor_inside(name, tensor.dtype.value, tensor.shape.dims, tensor.doc_string, tensor.tobytes())
        proto = onnx.TensorProto()
        if small:
            _check(tensor)
            serde.serialize_tensor_into(proto, tensor)
        else:
            self._reference(proto, tensor)
        proto.name = name
        message: bytes = proto.SerializeToString()
        return message

    def _reference(self, proto: onnx.TensorProto, tensor: Any) -> None:
        serde.serialize_tensor_into(proto, ir.ExternalTensor(
            self._apart(tensor), None, tensor.nbytes, tensor.dtype, shape=ir.Shape(tensor.shape), name=tensor.name or "",
            doc_string=tensor.doc_string, metadata_props=tensor.metadata_props))

    def _apart(self, tensor: Any) -> str:
        location = f"\0{len(self.tensors)}"  # what no file is called
        self.tensors[location] = tensor, None
        return location

    def node(self, node: ir.Node) -> bytes:
        proto = onnx.NodeProto()
        serde.serialize_node_into(proto, node, model_ir_version=self._ir_version)
        message: bytes = proto.SerializeToString()
        return message

    def attribute(self, attribute: ir.Attr) -> bytes:
        tensors = [attribute.value] if attribute.type == ir.AttributeType.TENSOR else attribute.value if attribute.type == ir.AttributeType.TENSORS else ()
        for tensor in tensors:
            _check(tensor)
        proto = serde.serialize_attribute(attribute)
        for inside, tensor in zip([proto.t] if attribute.type == ir.AttributeType.TENSOR else proto.tensors, tensors):
            if isinstance(tensor, ir.ExternalTensor):  # it knows its folder, and who may be read
                inside.Clear()
                self._reference(inside, tensor)
        message: bytes = proto.SerializeToString()
        return message

    def value(self, value: ir.Value) -> bytes:
        message: bytes = serde.serialize_value(value).SerializeToString()
        return message

    def annotation(self, value: ir.Value) -> bytes | None:
        if not (names := value.meta.get(ANNOTATION)):
            return None
        entries = [onnx.StringStringEntryProto(key=key, value=names[key]) for key in sorted(names)]
        message: bytes = onnx.TensorAnnotation(tensor_name=value.name, quant_parameter_tensor_names=entries).SerializeToString()
        return message


def nodes_of(graph: Any) -> list[ir.Node]:
    return _core.IrEditor(Maker(samples())).nodes(graph)


def copy_meta(old: Any, new: Any) -> None:
    new.meta.update(old.meta)
    for key in old.meta:
        if not old.meta.is_valid(key):
            new.meta.invalidate(key)


class Cloner(Maker):
    """Makes graphs like others."""

    copy_meta = staticmethod(copy_meta)


def numpy_of(tensor: Any) -> Any:
    """Its array, of the type that it declares: what a function made (ir.LazyTensor), or an object of another package, may be of another one."""
    array, declared = tensor.numpy(), tensor.dtype.numpy()
    is_bits = array.dtype.kind in "uV" and array.dtype.itemsize == declared.itemsize and declared.kind == "V"  # of a type that numpy has not
    if array.dtype.newbyteorder("=") != declared and not is_bits:
        raise other_tensor(tensor, array.dtype, declared)
    return array


def _check(tensor: Any) -> None:
    """Before onnx_ir writes what a function makes: it does not look at it."""
    if isinstance(tensor, ir.LazyTensor) and tensor.dtype not in _INSIDE and tensor.dtype.itemsize >= 1:
        try:
            size = numpy_of(tensor).nbytes
        except Error:
            raise
        except Exception as e:
            fault = f"tensor `{tensor.name}` cannot be read: its function threw an exception: {in_words(e)}"
            raise without_place(CallbackError, fault) from e
        if size != tensor.nbytes:
            raise other_tensor(tensor, f"{size} bytes", f"{tensor.nbytes} bytes")


def in_words(error: BaseException) -> str:
    try:
        text = str(error)
    except Exception:
        text = ""
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def other_tensor(tensor: Any, given: object, declared: object) -> InvalidModel:
    fault = f"tensor `{tensor.name}` declares {declared} and gives {given}"
    return without_place(InvalidModel, fault)


class _Like:
    """An object, but for some of its attributes."""

    def __init__(self, original: Any) -> None:
        self._original = original

    def __getattr__(self, name: str) -> Any:
        return getattr(self._original, name)


class _Around(_Like):
    """A model whose graph has nothing in it."""

    @property
    def graph(self) -> ir.Graph:
        return ir.Graph((), (), nodes=(), opset_imports=self._original.graph.opset_imports)


class Clonable(_Like):
    """A model whose graph is cloned here, and all else by ir.Model.clone()."""

    @property
    def graph(self) -> Any:
        return _ClonableGraph(self._original.graph)


class _ClonableGraph(_Like):
    def clone(self, **options: Any) -> Any:
        return _core.ir_clone(self._original, Cloner(samples()))
