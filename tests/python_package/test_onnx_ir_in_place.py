"""A pass that changes the model that it is given: what differs is put in, and all else stays."""
import sys

import numpy as np
import onnx_ir as ir
import pytest
from conftest import RULES, SOURCE, parse
from onnx import TensorProto, helper
from test_onnx_ir import everything, inside, ops
from test_onnx_ir_build import branches_that_return_what_is_around_them

import qrewrite
from qrewrite import onnx_ir
from qrewrite._ir_update import Graph as GraphUpdate
from qrewrite.onnx_ir import RewritePass


def is_whole(model):
    """What nodes and values know of each other is so from both sides, and nothing that is gone is known."""
    graphs = [model.graph, *model.graph.subgraphs()]
    nodes = {id(node): node for graph in graphs for node in graph}
    values = {id(value): value for graph in graphs for value in (*graph.inputs, *graph.outputs, *graph.initializers.values())}
    for graph in graphs:
        assert all(value.graph is graph for value in (*graph.inputs, *graph.outputs, *graph.initializers.values()))
        for node in graph:
            assert node.graph is graph
            for i, value in enumerate(node.outputs):
                assert value.producer() is node and value.index() == i
                values[id(value)] = value
            for i, value in enumerate(node.inputs):
                assert value is None or (node, i) in value.uses() and (value.producer() is None or id(value.producer()) in nodes)
                if value is not None:
                    values[id(value)] = value
    assert all(id(use.node) in nodes and use.node.inputs[use.idx] is value for value in values.values() for use in value.uses())
    return True


def test_in_place_changes_nothing_else():
    """Objects, what no file has, and what was captured by subgraphs stay."""
    proto = everything()
    proto.graph.node.extend([helper.make_node("Abs", ["x"], ["a"]), helper.make_node("Gather", ["large", "large"], ["l"]), helper.make_node("Relu", ["a"], ["r"]), helper.make_node("Relu", ["r"], ["rr"]),
                             helper.make_node("Neg", ["rr"], ["n"]), helper.make_node("If", ["b"], ["c"], then_branch=parse("p () => (float z3) { z3 = Neg(rr) }").graph,
                                              else_branch=parse("q () => (float z4) { i = Relu(rr)  z4 = Relu(i) }").graph)])
    for node in proto.graph.node[-1].attribute:
        node.g.output[0].type.ClearField("tensor_type")
    proto.graph.output.extend([helper.make_tensor_value_info("n", 1, ["N", "M"]), helper.make_tensor_value_info("c", 1, ["N", "M"]),
                               helper.make_tensor_value_info("o", TensorProto.INT4, None), helper.make_tensor_value_info("l", 7, [1000]), helper.make_tensor_value_info("k", 1, [3])])
    model = ir.from_proto(proto)
    model.meta["mine"], model.graph.meta["mine"] = 1, 2
    for i, node in enumerate(model.graph):
        node.meta["mine"] = i
        node.outputs[0].meta["mine"] = i
    graph, nodes = model.graph, {node.outputs[0].name: node for node in model.graph}
    values = {value.name: value for node in model.graph for value in node.outputs}
    tensors = {name: value.const_value for name, value in model.graph.initializers.items()}
    branches = {name: attribute.value for name, attribute in nodes["c"].attributes.items()}
    functions = dict(model.functions)
    expected = ir.to_proto(qrewrite.rewrite(model, RULES)[0])
    report = RewritePass(RULES, in_place=True)
    assert report(model).model is model and report.report.rewrites == 3
    assert model.graph is graph and is_whole(model)
    now = {node.outputs[0].name: node for node in graph}
    assert set(nodes) - set(now) == {"rr", "v"} and set(now) <= set(nodes) and all(node is nodes[name] for name, node in now.items())
    assert all(node.meta["mine"] == nodes[name].meta["mine"] for name, node in now.items())
    assert all(value is values[value.name] and "mine" in value.meta or value.index() for node in graph for value in node.outputs)
    assert all(value.const_value is tensors[name] for name, value in graph.initializers.items()) and "large" in graph.initializers
    assert all(nodes["c"].attributes[name].value is branch for name, branch in branches.items())
    assert [n.op_type for n in branches["else_branch"]] == ["Relu"] and branches["then_branch"][0].inputs[0] is now["r"].outputs[0]
    assert now["n"].inputs[0] is now["r"].outputs[0] and (model.meta["mine"], graph.meta["mine"]) == (1, 2)
    assert all(model.functions[key] is function for key, function in functions.items())
    assert inside(ir.to_proto(model).SerializeToString(), {}) == inside(expected.SerializeToString(), {})
    assert not RewritePass(RULES, in_place=True)(model).modified


@pytest.mark.parametrize("rules", [
    {"match": "y = Split<**a>(x)", "replace": ["y = Relu(x)"]},
    {"match": "y = Mul(x, w)", "where": "const(w)", "replace": ["t = Neg(x)", "y = Sub(t, w + 1)"]},
    {"match": "y = Relu(x)", "replace": ["y = Mul(x, [2.0])"]},
    {"match": "y = Add(Mul(x, w), v)", "replace": ["y = Add(x, v)"]},
    {"match": "y = Neg(x)", "replace": ["y = Identity(x)"]},
    {"match": "y = If<**a>(c)", "where": "const(c)", "replace": ["y = Identity(c)"]},
])
@pytest.mark.parametrize("known", [True, False], ids=["known", "another onnx_ir"])
def test_in_place_makes_what_a_new_model_has(rules, known, monkeypatch):
    if not known:
        monkeypatch.setattr(onnx_ir, "samples", lambda: None)
    proto = parse("""g (float[4] x, float[4] v, bool b) => (float[4] y, float[4] u, float[4] o) <float[4] w = {1, 2, 3, 4}> {
      a = Relu(x)  m = Mul(a, w)  y = Add(m, v)  n = Neg(a)  s, t = Split(n)  k = Constant<value = float[2] {1, 2}> ()
      p = Concat<axis = 0>(s, k)  u = Mul(p, w)
      o = If (b) <then_branch = f () => (float[4] z) { i = Relu(a)  z = Mul(i, w) }, else_branch = g () => (float[4] z2) { z2 = Neg(m) }>
    }""")
    rules = {"name": "some", "rules": [{"name": "r", **rules}]}
    model = ir.from_proto(proto)
    expected, report = qrewrite.rewrite(model, rules)
    RewritePass(rules, in_place=True)(model)
    assert is_whole(model)
    assert form(model) == form(expected)


def test_nodes_of_other_classes_are_asked():
    """Those that go, and those whose inputs change."""
    asked = []

    class Mine(ir.Node):
        def replace_input_with(self, index, value):
            asked.append((self.name, index, value and value.name))
            super().replace_input_with(index, value)

    def node(name, *inputs):
        return Mine("", "Add", inputs, outputs=[ir.Value(name=name, type=x.type, shape=x.shape)], name=name)
    x, w = (ir.Value(name=name, type=ir.TensorType(ir.DataType.FLOAT), shape=ir.Shape((2,))) for name in "xw")
    w.const_value = ir.tensor(np.array([1, 2], np.float32), name="w")
    a = node("a", x, x)
    b = node("b", a.outputs[0], w)
    y = node("y", b.outputs[0], x)
    model = ir.Model(ir.Graph([x], y.outputs, nodes=[a, b, y], initializers=[w], opset_imports={"": 17}), ir_version=8)
    RewritePass({"rules": [{"name": "r", "match": "y = Add(Add(Add(x, x), w), x)", "replace": "y = Add(x, w)"}]}, in_place=True)(model)
    assert list(model.graph) == [y] and y.inputs == (x, w) and is_whole(model)
    assert x.uses() == ((y, 0),) and w.uses() == ((y, 1),) and a.inputs == (None, None)
    assert asked == [("a", 0, None), ("a", 1, None), ("b", 1, None), ("y", 0, "x"), ("y", 1, "w")]


@pytest.mark.skipif(not hasattr(ir.Node, "shard"), reason="this onnx_ir knows no devices")
def test_what_is_said_of_devices_goes_with_an_input():
    model = ir.from_proto(parse("g (float[2] x) => (float[2] y) { a = Neg(x)  b = Relu(a)  y = Add(b, x) }"))
    model.ir_version = 11
    devices = model.add_device_configuration("c", num_devices=2)
    last = model.graph[-1]
    for value in last.inputs:
        last.shard(value, configuration=devices, axis=0, num_shards=2)
    RewritePass({"rules": [{"name": "r", "match": "b = Relu(Neg(x))", "replace": "b = Abs(x)"}]}, in_place=True)(model)
    assert list(model.graph)[-1] is last and [spec.value.name for spec in last.device_configurations[0].sharding_specs] == ["b", "x"]
    RewritePass({"rules": [{"name": "r", "match": "b = Abs(x)", "replace": "b = x"}]}, in_place=True)(model)
    (node,) = model.graph
    assert node is last and [value.name for value in node.inputs] == ["x", "x"] and is_whole(model)
    assert [spec.value.name for spec in node.device_configurations[0].sharding_specs] == ["x"]


def form(model):
    proto = ir.to_proto(model)
    for field in (proto.graph.initializer, proto.graph.value_info):
        ordered = sorted((type(item).FromString(item.SerializeToString()) for item in field), key=lambda item: item.name)
        del field[:]
        field.extend(ordered)
    return proto


@pytest.mark.parametrize("rules", [
    {"match": "y = Abs(x)", "replace": ["y = Relu(x)"]},  # in a branch
    {"match": "y = Neg(x)", "replace": ["y = Abs(x)"]},  # what a branch returns
    {"match": "y = Neg(x)", "replace": ["t = Abs(x)", "y = Sqrt(t)"]},
    {"match": "y = Relu(x)", "replace": ["y = Identity(x)"]},  # a branch returns more of what is around it
    {"match": "y = Softmax(x)", "replace": ["y = Identity(x)"]},  # nothing
])
def test_branches_that_return_what_is_around_them(rules):
    model = ir.from_proto(branches_that_return_what_is_around_them())
    graph, branches = model.graph, [a.value for a in model.graph[1].attributes.values()]
    rules = {"name": "some", "rules": [{"name": "r", **rules}, {"name": "i", "match": "y = Identity(x)", "replace": "y = x"}]}
    expected, report = qrewrite.rewrite(model, rules)
    assert (report.rewrites > 0) == ("Softmax" not in str(rules))
    assert [v.name for v in expected.graph[-1].attributes["then_branch"].value.outputs] == ["x", "w", "n", "n"]
    RewritePass(rules, in_place=True)(model)
    assert is_whole(model) and form(model) == form(expected)
    assert model.graph is graph and [a.value for a in model.graph[-1].attributes.values()] == branches


def test_in_place_on_recorded_models():
    kept = 0
    for path in sorted((SOURCE / "fixtures" / "models").glob("*.onnx")):
        model = ir.load(path)
        for rules in ("optimize", "ezkl_dequant"):
            try:
                expected, report = qrewrite.rewrite(model, rules, allow_partial=True)
            except qrewrite.Error:
                continue
            before = set(map(id, nodes := list(model.graph)))
            RewritePass(rules, in_place=True, allow_partial=True)(model)
            kept += report.changed and sum(id(node) in before for node in model.graph)
            assert is_whole(model) and qrewrite.diff(model, expected).equal, path
            del nodes
    assert kept > 50


def test_an_interrupt_in_the_middle_of_it_loses_nothing(chain, monkeypatch):
    model = ir.from_proto(chain)
    before = ir.to_proto(model)
    for count in range(0, 1000, 3):
        left = count

        def interrupted(frame, event, argument):
            nonlocal left
            left -= frame.f_code.co_filename.endswith("_core.py")
            if left < 0:
                sys.setprofile(None)
                raise KeyboardInterrupt

        commit = GraphUpdate.commit
        monkeypatch.setattr(GraphUpdate, "commit", lambda self: (sys.setprofile(interrupted), commit(self), sys.setprofile(None)))
        try:
            RewritePass(RULES, in_place=True)(model)
        except KeyboardInterrupt:
            assert count < 999 and ir.to_proto(model) == before and is_whole(model)
        else:
            break
        finally:
            sys.setprofile(None)
            monkeypatch.undo()
    assert count > 30 and ops(model) == ["Relu", "Mul", "Identity"] and is_whole(model)


def rename(graph):
    graph[0].outputs[0].name = "another"


@pytest.mark.parametrize("change", [
    lambda graph: graph.remove(graph[-1]),
    lambda graph: graph.remove(list(graph)),
    lambda graph: graph[-1].replace_input_with(0, graph[0].outputs[0]),
    lambda graph: graph.initializers.clear(),
    lambda graph: setattr(graph[-2], "op_type", "Abs"),
    rename,
])
def test_in_place_a_function_changes_the_model(chain, change):
    """What it does to it is not mixed with what the rules do: the result is that of the model that was read."""
    model = ir.from_proto(chain)
    functions = qrewrite.Functions()

    @functions.function
    def doubled(w):
        change(model.graph)
        return w * 2
    rules = qrewrite.Rules.from_dict({"rules": [{"name": "r", "match": "y = Mul(x, w)", "where": "w[0] == 1", "replace": "y = Mul(x, doubled(w))"}]}, functions=functions)
    RewritePass(rules, in_place=True)(model)
    assert ops(model) == ["Relu", "Relu", "Mul", "Neg", "Neg"] and is_whole(model)
    assert any(np.array_equal(value.const_value.numpy(), [2, 4, 6, 8]) for value in model.graph.initializers.values())


def test_what_nodes_say_of_devices_goes_with_them():
    """A node that takes the place of another one under its outputs, by which the other object stays."""
    proto = parse("g (float[4] x) => (float[4] y) { h = Relu(x)  y = Identity(h) }")
    proto.ir_version = 11
    proto.configuration.add(name="two", num_devices=2)
    spec = proto.graph.node[0].device_configurations.add(configuration_id="two").sharding_spec.add(tensor_name="x")
    spec.sharded_dim.add(axis=0).simple_sharding.add(dim_value=4, num_shards=2)
    model, file = ir.from_proto(proto), qrewrite.rewrite(proto, "optimize")[0]
    result = RewritePass("optimize", in_place=True)(model)
    assert result.modified and ops(result.model) == ["Relu"] and is_whole(result.model)
    made, = (configuration for node in result.model.graph for configuration in node.device_configurations)
    assert made.configuration is result.model.device_configurations[0]
    assert ir.to_proto(result.model).graph.node[0].device_configurations == file.graph.node[0].device_configurations


@pytest.mark.parametrize("kind", ["message", "new", "in place"])
def test_what_a_node_says_is_passed_on_to_those_that_take_its_place(kind):
    """As stack traces of an exporter, with which users find the line of their program."""
    proto = parse("g (float[2] x) => (float[2] y, float[2] z) { a = Relu(x)  b = Relu(a)  y = Neg(b)  z = Abs(x) }")
    for node in proto.graph.node:
        node.doc_string = f"doc of {node.output[0]}"
        node.metadata_props.add(key="line", value=node.output[0])
    rules = {"rules": [*RULES["rules"], {"name": "neg", "match": "y = Neg(x)", "replace": "y = Sub(Abs(x), Add(x, Abs(x)))"}]}
    if kind == "message":
        result, _ = qrewrite.rewrite(proto, rules)
    else:
        result = ir.to_proto(RewritePass(rules, in_place=kind == "in place")(ir.from_proto(proto)).model)
    said = {(node.op_type, node.output[0] if node.output[0] in "abyz" else "inner"): node for node in result.graph.node}
    lines = {key: node.metadata_props[0].value for key, node in said.items()}
    assert lines == {("Relu", "a"): "a", ("Abs", "inner"): "y", ("Add", "inner"): "y", ("Sub", "y"): "y", ("Abs", "z"): "z"}
    assert all(node.doc_string == f"doc of {node.metadata_props[0].value}" for node in said.values())
