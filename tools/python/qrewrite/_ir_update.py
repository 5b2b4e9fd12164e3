"""What a run changed, put into the onnx_ir.Model that was read: all else stays the very objects that it was.

Nodes are the same ones if their outputs have the same names, and values if their names and makers are the same. First everything is
prepared (`Graph.__init__`), which changes nothing and may fail; then it is done (`Graph.commit`), which nothing but an interrupt stops.
"""
from __future__ import annotations

from typing import AbstractSet as Set
from typing import Any, Iterator

import onnx
import onnx_ir as ir
from onnx_ir import serde

from . import _core
from ._ir import ANNOTATION, Maker
from ._ir_build import Builder

_ATTRIBUTE = onnx.NodeProto.ATTRIBUTE_FIELD_NUMBER
_DEVICES = onnx.NodeProto.DESCRIPTOR.fields_by_name.get("device_configurations")
_METADATA = Maker.metadata_props
_GRAPHS = {ir.AttributeType.GRAPH: onnx.AttributeProto.G_FIELD_NUMBER, ir.AttributeType.GRAPHS: onnx.AttributeProto.GRAPHS_FIELD_NUMBER}


# A node, the number of its inputs, (number, name) of those that change; what it says of itself, and its attributes, if that changes.
_Update = tuple[ir.Node, int, list[tuple[int, str]], onnx.NodeProto | None, list[ir.Attr] | None]


class Unusual(Exception):
    """The difference is of a kind that is not put into a model: it gets a new graph."""


class Graph:
    """What is to be done with one graph, and with those in its nodes."""

    def __init__(self, graph: Any, nodes: list[ir.Node], before: Any, after: Any, locations: dict[int, str], builder: Builder,
                 outer: Graph | None = None, editor: _core.IrEditor | None = None) -> None:
        """`before`, `after`: the messages. `locations`: see GraphDifference. `builder`: makes tensors of `after`."""
        self._graph, self._nodes, self._outer, self._locations, self._builder = graph, nodes, outer, locations, builder
        self._editor = editor or _core.IrEditor(builder)
        self._difference = _core.GraphDifference(before, after, locations)
        if self._difference.count() != len(self._nodes):
            raise Unusual
        self._inputs = {value.name: value for value in graph.inputs}
        self._made: dict[str, ir.Value] = {}  # by name: values that were not there, or were made by something else
        self._formers: dict[str, ir.Value] = {}  # by name: those that had the names before these
        self._subgraphs: list[Graph] = []
        self._prepare_initializers()
        self._inserted = [(anchor, [item if isinstance(item, int) else self._new(item) for item in items])
                          for anchor, items in self._difference.inserted()]
        self._updated = [self._update(*update) for update in self._difference.updated()]
        self._prepare_inputs()
        infos, self._silent = self._difference.infos()
        self._infos = [onnx.ValueInfoProto.FromString(info) for info in infos]
        annotations, self._plain = self._difference.annotations()
        self._annotations = [onnx.TensorAnnotation.FromString(annotation) for annotation in annotations]

    # --- preparing

    def _prepare_initializers(self) -> None:
        self._tensors: list[tuple[ir.Value, Any]] = []
        changed, gone = self._difference.initializers(self._builder)
        self._gone = set(gone)
        known: dict[str, ir.Value] = dict(self._graph.initializers.items()) if changed else {}
        for name, tensor in changed:
            old = known.get(name) or self._inputs.get(name)
            if old is None:
                self._make(name)
                self._tensors.append((self._made[name], tensor))
            elif tensor is not old.const_value or name not in known:
                self._tensors.append((old, tensor))

    def _make(self, name: str) -> ir.Value:
        """A new value, like the one of this name that something else made."""
        value = ir.Value(name=name)
        if name:
            self._made[name] = value
            if (old := self._former(name)) is not None:
                self._formers[name] = old
                value.type, value.shape, value.doc_string = old.type, old.shape, old.doc_string
                value.metadata_props.update(old.metadata_props)
                value.meta.update(old.meta)
        return value

    def _former(self, name: str) -> ir.Value | None:
        if (maker := self._difference.maker(name)) is not None:
            made: ir.Value = self._nodes[maker[0]].outputs[maker[1]]
            return made
        return self._graph.initializers.get(name) or self._inputs.get(name)

    def _new(self, message: bytes) -> tuple[onnx.NodeProto, list[ir.Value], list[ir.Attr]]:
        proto = onnx.NodeProto.FromString(message)
        if len(getattr(proto, "device_configurations", ())):
            raise Unusual
        outputs = [self._make(name) for name in proto.output]
        return proto, outputs, [self._attribute(attribute, b"", None) for attribute in _core.fields(message, _ATTRIBUTE)]

    def _update(self, index: int, before: bytes | None, after: bytes | None, changed: list[tuple[str, Any, Any, bool]] | None, count: int,
                inputs: list[tuple[int, str]]) -> _Update:
        node = self._nodes[index]
        proto = None
        if before is not None and after is not None:
            proto = onnx.NodeProto.FromString(after)
            if _devices(before) != _devices(after) and not _loses_values(onnx.NodeProto.FromString(before), proto):
                raise Unusual
        if changed is None:
            return node, count, inputs, proto, None
        old = dict(node.attributes)
        attributes = []
        for name, had, now, same in changed:
            known = old.get(name)
            attributes.append(known if known is not None and same else self._attribute(now, b"" if had is None else had, known))
        stay = len(old) == len(attributes) and all(a is b for a, b in zip(old.values(), attributes))
        return node, count, inputs, proto, None if stay else attributes

    def _attribute(self, message: Any, before: Any, known: ir.Attr | None) -> ir.Attr:
        """`before`, `known`: the attribute of this name as it was."""
        if known is not None and known.type in _GRAPHS and not known.is_ref() and self._graphs_stay(message, before, known):
            return known
        proto = onnx.AttributeProto.FromString(bytes(memoryview(message)))
        kind = ir.AttributeType(proto.type)
        if proto.ref_attr_name or kind not in _GRAPHS:
            if proto.ref_attr_name or kind not in (ir.AttributeType.TENSOR, ir.AttributeType.TENSORS):
                return serde.deserialize_attribute(proto)
            tensors = [self._builder.tensor_of(tensor) for tensor in (proto.tensors if kind == ir.AttributeType.TENSORS else [proto.t])]
            if known is not None and kind == known.type == ir.AttributeType.TENSOR and tensors[0] is known.value:
                return known
            return ir.Attr(proto.name, kind, tensors if kind == ir.AttributeType.TENSORS else tensors[0], doc_string=_text(proto, "doc_string"))
        bodies = _core.fields(message, _GRAPHS[kind])
        graphs = [ir.Graph((), (), nodes=()) for _ in bodies]
        self._prepare_graphs(graphs, [b""] * len(bodies), bodies)
        return ir.Attr(proto.name, kind, graphs[0] if kind == ir.AttributeType.GRAPH else graphs, doc_string=_text(proto, "doc_string"))

    def _graphs_stay(self, message: Any, before: Any, known: ir.Attr) -> bool:
        """As many of them are there as there were: what differs in them is put in."""
        field = _GRAPHS[known.type]
        graphs, olds, bodies = [known.value] if known.type == ir.AttributeType.GRAPH else list(known.value), _core.fields(before, field), _core.fields(message, field)
        if not bodies or not len(graphs) == len(olds) == len(bodies):
            return False
        self._prepare_graphs(graphs, olds, bodies)
        return True

    def _prepare_graphs(self, graphs: list[Any], before: list[Any], after: list[Any]) -> None:
        for graph, old, now in zip(graphs, before, after):
            if not _core.same(old, now):
                self._subgraphs.append(Graph(graph, self._editor.nodes(graph), old, now, self._locations, self._builder, self, self._editor))

    def _prepare_inputs(self) -> None:
        names = self._difference.inputs()
        self._new_inputs = None if names is None else [self._made.get(name) or self._graph.initializers.get(name) or self._inputs.get(name)
                                                       or self._make(name) for name in names]

    # --- doing

    def commit(self) -> None:
        moved = {item for _, items in self._inserted for item in items if isinstance(item, int)}
        removed = self._difference.removed()
        gone = [self._nodes[i] for i in removed if i not in moved]
        if removed:
            self._graph.remove([self._nodes[i] for i in removed])
        if gone:
            for node in self._editor.forget(gone, self._gone):
                for inner in _inside(node):
                    _forget(inner)
        for name in self._gone:
            self._graph.initializers.pop(name)
        if self._formers:
            self._pass_on(gone)
        for anchor, items in self._inserted:
            nodes = [self._nodes[item] if isinstance(item, int) else self._node(*item) for item in items]
            if anchor >= 0:
                self._graph.insert_after(self._nodes[anchor], nodes)
            elif len(self._graph) > 0:
                self._graph.insert_before(self._graph[0], nodes)
            else:
                self._graph.extend(nodes)
        if self._updated:
            self._change_inputs()
        for node, _, _, proto, attributes in self._updated:
            if proto is not None:
                self._change(node, proto)
            if attributes is not None:
                self._change_attributes(node, attributes)
        for subgraph in self._subgraphs:
            subgraph.commit()
        self._settle()

    def _pass_on(self, gone: list[ir.Node]) -> None:
        """Who used the value of a name uses the one that has it now."""
        dead = set(map(id, gone))
        for name, old in self._formers.items():
            for use in old.uses():
                if id(use.node) not in dead:
                    use.node.replace_input_with(use.idx, self._made[name])

    def _node(self, proto: onnx.NodeProto, outputs: list[ir.Value], attributes: list[ir.Attr]) -> ir.Node:
        return ir.Node(proto.domain, proto.op_type, self._values(proto.input), attributes, overload=getattr(proto, "overload", ""), outputs=outputs,
                       name=proto.name, doc_string=_text(proto, "doc_string"), metadata_props=_map(proto.metadata_props))

    def _change_inputs(self) -> None:
        for node, count, _, _, _ in self._updated:
            if len(node.inputs) != count:
                node.resize_inputs(count)
        # Who else has a name was taken care of.
        self._editor.replace_inputs([(node, [(i, self._find(name) if name else None) for i, name in inputs])
                                     for node, _, inputs, _, _ in self._updated if inputs])

    def _change(self, node: ir.Node, proto: onnx.NodeProto) -> None:
        if (node.domain, node.op_type) != (proto.domain, proto.op_type):
            node.domain, node.op_type = proto.domain, proto.op_type
            node.meta.clear()  # of another operator
        if node.overload != getattr(proto, "overload", ""):
            node.overload = proto.overload
        if (node.name or "") != proto.name:
            node.name = proto.name
        node.doc_string = _text(proto, "doc_string")
        if len(proto.metadata_props) or getattr(node, _METADATA):
            _set_map(node.metadata_props, proto.metadata_props)

    def _change_attributes(self, node: ir.Node, attributes: list[ir.Attr]) -> None:
        for inner in _inside(node, set(map(id, attributes))):
            _forget(inner)
        node.attributes.clear()
        for attribute in attributes:
            node.attributes[attribute.name] = attribute

    def _values(self, names: Any) -> list[ir.Value | None]:
        return [self._find(name) if name else None for name in names]

    def _find(self, name: str) -> ir.Value:
        value = self._own(name)
        if value is not None:
            return value
        if self._outer is None:
            raise Unusual(name)
        return self._outer._find(name)

    def _own(self, name: str) -> ir.Value | None:
        if (value := self._made.get(name)) is not None:
            return value
        if (producer := self._difference.producer(name)) is not None:
            made: ir.Value = self._nodes[producer[0]].outputs[producer[1]]
            return made
        value = self._graph.initializers.get(name)
        return self._inputs.get(name) if value is None else value

    def _returned(self, name: str) -> ir.Value:
        if (own := self._own(name)) is not None:
            return own
        outer = self._find(name)  # of a graph around this one: either itself, or a value of its own of that name, as onnx_ir reads it
        value: ir.Value
        for value in self._graph.outputs:
            if value is outer or value.name == name and value.producer() is None:
                return value
        return ir.Value(name=name)

    def _settle(self) -> None:
        """What is said of the graph and its values."""
        graph = self._graph
        if self._new_inputs is not None:
            graph.inputs[:] = self._new_inputs
        for value, tensor in self._tensors:
            value.const_value = tensor
            if value.type is None:
                value.type, value.shape = _kind(tensor)
            if not value.is_initializer():
                graph.initializers.add(value)
        names = self._difference.outputs()
        outputs = [self._returned(name) for name in ([value.name for value in graph.outputs] if names is None else names)]
        returned = {value.name: value for value in outputs}
        if any(a is not b for a, b in zip(outputs, graph.outputs)) or len(outputs) != len(graph.outputs):
            graph.outputs[:] = outputs
        for info in self._infos:
            if (said := self._own(info.name) or returned.get(info.name)) is not None:
                said.metadata_props.clear()
                serde.deserialize_value_info_proto(info, said)
        for name in self._silent:
            if (said := self._own(name)) is not None:
                tensor = said.const_value if said.is_initializer() else None
                said.type, said.shape = (None, None) if tensor is None else _kind(tensor)
                said.doc_string = None
                said.metadata_props.clear()
        for annotation in self._annotations:
            if (said := self._own(annotation.tensor_name)) is not None:
                said.meta[ANNOTATION] = _map(annotation.quant_parameter_tensor_names) or {}
        for name in self._plain:
            if (said := self._own(name)) is not None:
                said.meta.pop(ANNOTATION, None)
        if (others := self._difference.others()) is not None:
            proto = onnx.GraphProto.FromString(others)
            graph.name, graph.doc_string = _text(proto, "name"), _text(proto, "doc_string")
            _set_map(graph.metadata_props, proto.metadata_props)


def _forget(node: ir.Node) -> None:
    for i, value in enumerate(node.inputs):
        if value is not None:
            node.replace_input_with(i, None)


def _inside(node: ir.Node, but: Set[int] = frozenset()) -> Iterator[ir.Node]:
    """The nodes in graphs of its attributes. `but`: not in these."""
    for attribute in node.attributes.values():
        if id(attribute) not in but and not attribute.is_ref() and attribute.type in _GRAPHS:
            for graph in [attribute.value] if attribute.type == ir.AttributeType.GRAPH else attribute.value:
                yield from graph.all_nodes()


def _kind(tensor: Any) -> tuple[ir.TensorType, ir.Shape]:
    return ir.TensorType(tensor.dtype), tensor.shape


def _devices(message: Any) -> list[bytes]:
    """What a node says of devices, in a message."""
    return [] if _DEVICES is None else [bytes(memoryview(field)) for field in _core.fields(message, _DEVICES.number)]


def _loses_values(before: onnx.NodeProto, after: onnx.NodeProto) -> bool:
    """Whether less is said of devices, and nothing else: of values that the node has no more, which onnx_ir forgets by itself."""
    for devices, left in zip(before.device_configurations, after.device_configurations):
        kept = [spec for spec in devices.sharding_spec if spec in left.sharding_spec]
        del devices.sharding_spec[:]
        devices.sharding_spec.extend(kept)
    return list(before.device_configurations) == list(after.device_configurations)


def _text(proto: Any, field: str) -> str | None:
    return getattr(proto, field) if proto.HasField(field) else None


def _map(entries: Any) -> dict[str, str] | None:
    return {entry.key: entry.value for entry in entries} or None


def _set_map(target: Any, entries: Any) -> None:
    new = _map(entries) or {}
    if new != target:
        target.clear()
        target.update(new)
