"""Graphs of onnx_ir that are made here, and not by onnx_ir's constructors and its deserializer."""
import onnx
import onnx_ir as ir
import pytest
from conftest import SOURCE, parse
from onnx import helper
from onnx_ir import serde
from test_onnx_ir import everything

import qrewrite
from qrewrite import _ir_make, onnx_ir
from qrewrite._ir import nodes_of
from qrewrite._ir_make import fields_of
from qrewrite.onnx_ir import from_core, to_core


def loops():
    return parse("""g (float[2] x, int64 n, bool c) => (float[2] y) {
      y = Loop (n, c, x) <body = b (int64 i, bool go, float[2] v) => (bool stay, float[2] w) { stay = Identity(go)  k = Constant<value_float = 2.0> ()
        w = Mul(v, k) }>
    }""")


def branches_that_return_what_is_around_them():
    """An input, a constant, what a node makes, and one of them twice."""
    proto = parse("""g (float[2] x, bool c) => (float[2] o, float[2] p, float[2] q, float[2] r) <float[2] w = {1, 2}> {
      n = Neg(x)
      o, p, q, r = If (c) <then_branch = t () => (float[2] x, float[2] w, float[2] n, float[2] n) {},
                           else_branch = e () => (float[2] a, float[2] b, float[2] x, float[2] d) { a = Relu(n)  b = Relu(x)  d = Abs(w) }> }""")
    return proto


MODELS = {"everything": everything, "branches": branches_that_return_what_is_around_them, "loops": loops, "qdq_cnn": lambda: onnx.load(SOURCE / "fixtures/models/qdq_cnn.onnx"),
          "dynamic_mlp": lambda: onnx.load(SOURCE / "fixtures/models/dynamic_mlp.onnx")}


def message_of(proto):
    core, originals = to_core(ir.from_proto(proto))
    message, parts = core.serialize_apart("qrewrite", 64, [data for _, data in originals])
    return message, onnx_ir._Data(parts, originals)


def by_onnx_ir(message, data):
    model = serde.deserialize_model(onnx.ModelProto.FromString(message))
    data.resolve(model)
    return model


@pytest.mark.parametrize("like", [True, False], ids=["field by field", "by constructors"])
@pytest.mark.parametrize("name", MODELS)
def test_a_built_model_is_that_of_onnx_ir(name, like, monkeypatch):
    if not like:
        monkeypatch.setattr(onnx_ir, "samples", lambda: None)
    message, data = message_of(MODELS[name]())
    built, expected = onnx_ir._build(message, data), by_onnx_ir(message, data)
    assert fields_of(built) == fields_of(expected)
    assert ir.to_proto(built) == ir.to_proto(expected)


def test_this_onnx_ir_is_known():
    """Otherwise all is as it should be, but slower."""
    assert _ir_make.samples() is not None


def test_nodes_of_the_same_attribute_have_one_each():
    model = ir.from_proto(parse("g (float[2, 3] x) => (float[3, 2] y) { a = Softmax<axis = 1>(x)  b = Softmax<axis = 1>(a)  y = Transpose(b) }"))
    result, _ = qrewrite.rewrite(model, {"rules": [{"name": "r", "match": "y = Transpose(x)", "replace": "y = Transpose<perm = [1, 0]>(x)"}]})
    first, second, _ = result.graph
    first.attributes["axis"].name = "other"
    assert second.attributes["axis"].name == "axis" and [type(a) for a in second.attributes.values()] == [ir.Attr]


@pytest.mark.parametrize("change", ["a constructor does more", "another input does more", "a field is added", "a field is gone"])
def test_another_onnx_ir_is_left_to_its_constructors(change, monkeypatch):
    """It is found out without being told of it."""
    message, data = message_of(everything())
    if change == "a constructor does more":
        before = ir.Node.__init__

        def count(self, *args, **options):
            before(self, *args, **options)
            self.domain = self.domain + "?"
        monkeypatch.setattr(ir.Node, "__init__", count)
    elif change == "another input does more":
        replace = ir.Node.replace_input_with
        monkeypatch.setattr(ir.Node, "replace_input_with", lambda self, *args: (replace(self, *args), setattr(self, "doc_string", "?")))
        assert _ir_make.samples.__wrapped__() is None
    elif change == "a field is added":
        before = ir.Value.__init__

        def add(self, *args, **options):
            before(self, *args, **options)
            self.many = []
        monkeypatch.setattr(ir.Value, "__init__", add)
    else:
        monkeypatch.delattr(ir.Node, "_version")
        monkeypatch.setattr(ir.Node, "_version", property(lambda self: None, lambda self, value: None), raising=False)
    samples = _ir_make.samples.__wrapped__()
    monkeypatch.setattr(onnx_ir, "samples", lambda: samples)
    assert fields_of(onnx_ir._build(message, data)) == fields_of(by_onnx_ir(message, data))


def functions_of_ir_9():
    proto = parse("g (float[2] x) => (float[2] y) { y = acme.f(x) }")
    proto.functions.append(helper.make_function("acme", "f", ["v"], ["w"], [helper.make_node("Relu", ["v"], ["w"])], [helper.make_opsetid("", 17)]))
    proto.ir_version = 9
    return proto


def values_of_later_nodes():
    proto = parse("g (float[2] x) => (float[2] y) { y = Neg(a) }")
    proto.graph.node.append(helper.make_node("Relu", ["x"], ["a"]))
    return proto


@pytest.mark.parametrize("make", [functions_of_ir_9, values_of_later_nodes])
def test_what_is_not_built_here_is_left_to_onnx_ir(make):
    message = make().SerializeToString()
    data = onnx_ir._Data([], [])
    with pytest.raises(Exception) as raised:
        onnx_ir._build(message, data)
    assert type(raised.value) is onnx_ir.Seldom
    core = qrewrite.Model.parse(message)._core
    assert ir.to_proto(from_core(core)).graph.node[0].op_type in ("f", "Relu")


def test_the_nodes_are_those_that_onnx_ir_has():
    class Backwards(ir.Graph):
        def __iter__(self):
            return reversed(self)

    graph = ir.from_proto(everything()).graph
    made = [ir.Node("", "Relu", [node.outputs[0]]) for node in list(graph)[:3]]
    for change in (lambda: graph.remove(graph[0]), lambda: graph.remove(graph[-1]), lambda: graph.insert_before(graph[0], made[0]),
                   lambda: graph.insert_after(graph[1], made[1:]), lambda: graph.remove(list(graph)), lambda: graph.append(made[2])):
        assert nodes_of(graph) == list(graph)
        change()
    assert nodes_of(graph) == [made[2]]
    some = Backwards([], [], nodes=[ir.Node("", "Relu", [None]), ir.Node("", "Neg", [None])])
    assert [node.op_type for node in nodes_of(some)] == ["Neg", "Relu"]
