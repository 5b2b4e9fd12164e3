"""qrewrite among the passes of onnx_ir: rule files in the pipelines of onnxscript, Olive and torch's exporter.

    from onnx_ir import passes
    from qrewrite.onnx_ir import RewritePass

    pipeline = passes.Sequential(RewritePass("optimize"), RewritePass("rules/mine.yaml", threshold=0.5))
    model = pipeline(model).model
"""
from __future__ import annotations

from mmap import ACCESS_READ, mmap
from os import fstat
from typing import Any, Iterator, Sequence

import onnx_ir as ir
from onnx_ir import passes, serde

from . import _core
from ._report import Report

_THRESHOLD = 1024  # bytes, from which tensors pass beside the message

_INSIDE = (ir.DataType.STRING, ir.DataType.UNDEFINED)


def to_core(model: ir.Model) -> _core.Model:
    """The model in the library. Its large tensors are not copied into a message: there is no limit of 2 GB."""
    data: dict[str, Any] = {}
    replaced: list[tuple[ir.Value, Any]] = []
    for graph in _graphs(model):
        for value in graph.initializers.values():
            tensor = value.const_value
            if tensor is None or tensor.dtype in _INSIDE or tensor.nbytes < _THRESHOLD:
                continue
            location = f"qrewrite-{len(data)}"
            data[location] = tensor
            replaced.append((value, tensor))
            value.const_value = ir.ExternalTensor(location, 0, tensor.nbytes, tensor.dtype, shape=tensor.shape,
                                                  name=value.name or "", doc_string=tensor.doc_string,
                                                  metadata_props=tensor.metadata_props)
    try:
        message = ir.to_proto(model).SerializeToString()
    finally:
        for value, tensor in replaced:
            value.const_value = tensor

    def external(location: str) -> Any:
        tensor = data.get(location)
        return _file(model, location) if tensor is None else _bytes(tensor)

    return _core.Model.parse(message, b"", external)


def from_core(core: _core.Model) -> ir.Model:
    """The library's model as an onnx_ir.Model, whose large tensors are views of one piece of memory."""
    message, data = core.serialize_apart("qrewrite", _THRESHOLD)
    import onnx
    model = serde.deserialize_model(onnx.ModelProto.FromString(message))
    whole = memoryview(data)
    for graph in _graphs(model):
        for value in graph.initializers.values():
            tensor = value.const_value
            if isinstance(tensor, ir.ExternalTensor):
                value.const_value = _view(tensor, whole, value.name)
        for node in graph:
            for attribute in node.attributes.values():
                if attribute.type == ir.AttributeType.TENSOR and isinstance(attribute.value, ir.ExternalTensor):
                    node.attributes[attribute.name] = ir.AttrTensor(attribute.name, _view(attribute.value, whole, None))
    return model


def clone(model: ir.Model, core: _core.Model) -> ir.Model:
    """A model like `model`, which no rewrite changed; it shares the weights, and keeps what no file has (`meta`)."""
    return model.clone() if hasattr(model, "clone") else from_core(core)


def _graphs(model: ir.Model) -> Iterator[Any]:
    yield model.graph
    yield from model.graph.subgraphs()
    for function in model.functions.values():
        yield from function.graph.subgraphs()


def _file(model: ir.Model, location: str) -> Any:
    """The file that tensors of the model call so: onnx_ir knows the folder of each."""
    for tensor in _constants(model):
        if isinstance(tensor, ir.ExternalTensor) and str(tensor.location) == location:
            with open(tensor.path, "rb") as file:
                return mmap(file.fileno(), 0, access=ACCESS_READ) if fstat(file.fileno()).st_size else b""
    return None


def _constants(model: ir.Model) -> Iterator[Any]:
    for graph in _graphs(model):
        for value in graph.initializers.values():
            yield value.const_value
    for nodes in (*_graphs(model), *model.functions.values()):
        for node in nodes:
            for attribute in node.attributes.values():
                if attribute.type == ir.AttributeType.TENSOR:
                    yield attribute.value
                elif attribute.type == ir.AttributeType.TENSORS:
                    yield from attribute.value


def _bytes(tensor: Any) -> Any:
    # Elements of 8 bit and more lie in their arrays as in the file; those below are packed by tobytes().
    import numpy as np
    array = tensor.numpy() if tensor.dtype.itemsize >= 1 else None
    if array is None or not array.flags.c_contiguous or array.dtype.byteorder == ">":
        return tensor.tobytes()
    return array.reshape(-1).view(np.uint8)


def _view(tensor: ir.ExternalTensor, whole: memoryview, name: str | None) -> ir.TensorProtocol:
    import numpy as np
    begin = tensor.offset or 0
    size = tensor.length if tensor.length is not None else len(whole) - begin
    raw = np.frombuffer(whole[begin:begin + size], np.uint8)
    shape = tensor.shape.numpy()
    if tensor.dtype.itemsize < 1:
        array, kind = raw, ir.PackedTensor
    else:
        array, kind = raw.view(tensor.dtype.numpy()).reshape(shape), ir.Tensor  # type: ignore[assignment]
    return kind(array, dtype=tensor.dtype, shape=tensor.shape, name=name or tensor.name, doc_string=tensor.doc_string,
                metadata_props=tensor.metadata_props)


class RewritePass(passes.FunctionalPass):
    """Applies rule sets, with the options and parameters of :func:`qrewrite.rewrite`.

    The given model does not change. `report` is the report of the last run.
    """

    def __init__(self, rules: Any, **options: Any) -> None:
        super().__init__()
        from ._rewrite import load_all
        self.rules: Sequence[Any] = load_all(rules)
        self.options = options
        self.report: Report | None = None

    def call(self, model: ir.Model) -> passes.PassResult:
        from ._rewrite import rewrite
        rewritten, self.report = rewrite(model, self.rules, **self.options)
        return passes.PassResult(rewritten, modified=self.report.changed)
