"""Whether objects of onnx_ir may be made without their constructors, as ir_make.h does it: looked up once, on a small graph.

The constructors of onnx_ir are functions of Python, which take most of the time of making a graph. What they set are fields of the objects; those
of one version of onnx_ir are known here. Where a graph that is made field by field is not, to the last field, the graph that
the constructors make, they are called.
"""
from __future__ import annotations

from functools import lru_cache
from typing import Any

import onnx
import onnx_ir as ir
from onnx_ir import serde

from . import _core


_NEVER_CHANGE = (bool, int, float, str, bytes, type, ir.SymbolicDim)


class Samples:
    """Objects as the constructors make them."""

    def __init__(self) -> None:
        self.value = ir.Value()
        self.node = ir.Node("", "", (), outputs=())
        self.attributes = self.node.attributes
        self.shape = ir.Shape(())
        self.tensor_type = ir.TensorType(ir.DataType.FLOAT)
        self.attribute = ir.AttrInt64("", 0)
        graph: Any = ir.Graph((), (), nodes=())
        self.graph = graph
        self.graph_inputs, self.graph_outputs, self.graph_initializers = graph._inputs, graph._outputs, graph._initializers
        self.node_list, self.authority, self.counter = graph._nodes, graph._name_authority, graph._inputs._ref_counter
        self.box = graph._nodes._root
        used: Any = ir.Value()
        ir.Node("", "", (used,), outputs=())
        (self.usage,) = used._uses


@lru_cache(maxsize=None)
def samples() -> Samples | None:
    """What objects are made like; None: by their constructors."""
    from ._ir import Cloner
    from ._ir_build import Builder
    try:
        found = Samples()
        graph = _graph()
        message = serde.serialize_graph(graph).SerializeToString()

        def made(like: Samples | None) -> list[list[Any]]:
            clone: Any = _core.ir_clone(graph, Cloner(like))
            changed: Any = _core.ir_clone(graph, Cloner(like))
            first = list(changed)[:2]
            editor = _core.IrEditor(Cloner(like))
            editor.forget(first, ("w",))
            editor.replace_inputs([(node, [(1, changed.inputs[0])]) for node in first])
            changed.remove(changed[0])
            return list(map(fields_of, (clone, changed, [node.name for node in editor.nodes(changed)], _core.ir_build(message, Builder(_Tensors(), like)))))
        same = made(None) == made(found)
    except Exception:  # an onnx_ir that is made otherwise
        return None
    return found if same else None


class _Tensors:
    """Of a message that has its tensors in it."""

    def of(self, proto: onnx.TensorProto) -> Any:
        return serde.deserialize_tensor(proto)

    def apart(self, name: str, dtype: ir.DataType, dims: tuple[int, ...], offset: int, length: int) -> Any:
        raise NotImplementedError


def _graph() -> ir.Graph:
    """One of all that is made so: values that are used twice, by no node, as outputs, and as inputs with a default; attributes; shapes; graphs."""
    def value(name: str, *dims: Any) -> ir.Value:
        return ir.Value(name=name, type=ir.TensorType(ir.DataType.FLOAT), shape=ir.Shape(dims), doc_string="text" if dims else None)

    x, w, t, y, z, u = value("x", 2, "N"), value("w", 2), value("t", "N", None), value("y"), value("z", 1, 2), value("u", 2)
    w.const_value, u.const_value = ir.tensor([1.0, 2.0], name="w"), ir.tensor([1.0, 2.0], name="u")
    t.shape = None
    v = value("v", 2)
    inside = [ir.Graph([], [v], nodes=[ir.Node("", "Neg", [t], outputs=[v], name="d")], name="f", doc_string="text", metadata_props={"k": "v"}),
              ir.Graph([], [], nodes=[])]
    nodes = [ir.Node("", "Split", [x, None, x], [ir.AttrInt64("axis", 1)], outputs=[t, y], name="a", doc_string="text", metadata_props={"k": "v"}),
             ir.Node("here", "Op", [t, w], [ir.AttrInt64("axis", 1)], outputs=[z], name="b", overload="o", version=3),
             ir.Node("", "Last", [], [ir.AttrGraph("one", inside[0], doc_string="text"), ir.AttrGraphs("some", inside[1:])], outputs=[], name="c")]
    return ir.Graph([x, u], [z, t, z], nodes=nodes, initializers=[w, u], name="g", opset_imports={"": 20})


def fields_of(root: Any) -> list[Any]:
    """Everything that is reached from an object, in words: objects by the order in which they are met."""
    seen: dict[int, int] = {}
    kept: list[Any] = []  # so that no number comes twice

    def describe(thing: Any) -> Any:
        if thing is None or isinstance(thing, _NEVER_CHANGE) or callable(thing) or type(thing) is tuple and all(isinstance(i, _NEVER_CHANGE) for i in thing):
            return (type(thing).__name__, repr(thing))
        if isinstance(thing, ir.Shape) and thing.frozen:
            return ("Shape", repr(thing), [thing.get_denotation(i) for i in range(len(thing))])
        if id(thing) in seen:
            return seen[id(thing)]
        seen[id(thing)] = len(seen)
        kept.append(thing)
        inside: list[Any] = [type(thing).__qualname__]
        if isinstance(thing, dict):  # the keys may be numbers of objects
            inside += [(seen.get(key, "?") if isinstance(key, int) else describe(key), describe(item)) for key, item in thing.items()]
        elif isinstance(thing, (tuple, list)):
            inside += map(describe, thing)
        elif isinstance(thing, (set, frozenset)):
            inside += sorted(map(repr, thing))
        if type(thing).__module__.partition(".")[0] in ("onnx_ir", "collections"):
            inside += [(name, describe(getattr(thing, name, "unset"))) for name in _fields(thing)]
        return inside

    return [describe(root)]


def _fields(thing: Any) -> list[str]:
    slots = [name for cls in type(thing).__mro__ for name, what in vars(cls).items() if type(what).__name__ == "member_descriptor"]
    return [*slots, *getattr(thing, "__dict__", ())]
