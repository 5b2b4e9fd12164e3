"""Doc strings and metadata of nodes, where rules replace them."""
import json

import onnx
import onnx.parser
import pytest
from onnx import helper

from cli import folder, run, save  # noqa: F401


def mark(nodes):
    """Each says which it is."""
    for node in nodes:
        node.doc_string = f"doc of {node.output[0]}"
        node.metadata_props.add(key="pkg.torch.onnx.stack_trace", value=f"line of {node.output[0]}")


def noted(path, graph):
    model = onnx.load(save(path, graph))
    mark(model.graph.node)
    onnx.save(model, path)
    return model


def notes(path):
    """By operator: what nodes say."""
    found = []
    for node in onnx.load(path).graph.node:
        trace = {p.key: p.value for p in node.metadata_props}.get("pkg.torch.onnx.stack_trace", "")
        assert node.doc_string.removeprefix("doc of ") == trace.removeprefix("line of ")
        found.append((node.op_type, node.doc_string.removeprefix("doc of ")))
    return found


def rewrite(rules, *args, model="m.onnx"):
    with open("r.json", "w") as f:
        json.dump({"qrewrite": 1, "name": "r", "rules": [{"name": f"r{i}", **rule} for i, rule in enumerate(rules)]}, f)
    run("--rules", "r.json", model, "-o", "out.onnx", *args)
    return notes("out.onnx")


def test_a_node_has_those_of_the_one_whose_place_it_took():
    noted("m.onnx", "g (float[2] x) => (float[2] y) { a = Neg(x)  b = Softplus(a)  y = Sigmoid(b) }")
    assert rewrite([{"match": "y = Softplus(x)", "replace": "y = Log(Add(Exp(x), 1))"}]) == [
        ("Neg", "a"), ("Exp", "b"), ("Add", "b"), ("Log", "b"), ("Sigmoid", "y")]


def test_one_for_several_has_those_of_the_last():
    noted("m.onnx", "g (float[2] x) => (float[2] y, float[2] a) { a = Neg(x)  b = Abs(a)  y = Sigmoid(b) }")
    assert rewrite([{"match": "y = Sigmoid(Abs(Neg(x)))", "replace": "y = Cos(x)"}]) == [("Cos", "y"), ("Neg", "a")]


def test_they_are_passed_on():
    noted("m.onnx", "g (float[2] x) => (float[2] y) { a = Neg(x)  y = Abs(a) }")
    assert rewrite([{"match": "y = Neg(x)", "replace": "y = Sin(Cos(x))"}, {"match": "y = Cos(x)", "replace": "y = Tan(x)"},
                    {"match": "y = Sin(Tan(x))", "replace": "y = Exp(x)"}]) == [("Exp", "a"), ("Abs", "y")]


def test_a_node_that_stays_takes_none():
    noted("m.onnx", "g (float[2] x) => (float[2] y) { a = Neg(x)  y = Identity(a) }")
    assert rewrite([{"match": "y = Identity(x)", "replace": "y = x"}]) == [("Neg", "a")]


def test_several_outputs():
    noted("m.onnx", "g (float[4] x, int64[2] s) => (float[2] y) { a, b = Split(x, s)  c = Neg(a)  y = Add(b, c) }")
    assert rewrite([{"match": "a, b = Split(x, s)", "replace": "a = Slice(x, [0], [2])\nb = Slice(x, [2], [4])"}]) == [
        ("Slice", "a"), ("Slice", "a"), ("Neg", "c"), ("Add", "y")]


@pytest.mark.parametrize("calls", [1, 2])
def test_functions_in_the_place_of_their_calls(calls):
    function = helper.make_function("acme", "f", ["v"], ["w"], [helper.make_node("Neg", ["v"], ["m"]), helper.make_node("Abs", ["m"], ["w"])],
                                    [helper.make_opsetid("", 17)])
    text = "a = acme.f(x)  y = Sin(a)" if calls == 1 else "a = acme.f(x)  y = acme.f(a)"
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 17, "acme": 1]>\ng (float[2] x) => (float[2] y) {{ {text} }}')
    model.functions.append(function)
    mark(model.functions[0].node)
    onnx.save(model, "m.onnx")
    run("--rules", "inline", "m.onnx", "-o", "out.onnx", env={})
    assert notes("out.onnx") == [("Neg", "m"), ("Abs", "w")] * calls + [("Sin", "")] * (calls == 1)


def test_they_do_not_grow_without_bounds():
    """One node of the file may be the origin of many new ones."""
    model = noted("m.onnx", "g (float[2] x) => (float[2] y) { y = Neg(x) }")
    model.graph.node[0].doc_string = "a" * (1 << 20)
    del model.graph.node[0].metadata_props[:]
    onnx.save(model, "m.onnx")
    with open("r.json", "w") as f:
        json.dump({"qrewrite": 1, "name": "r", "rules": [{"name": "r", "match": "y = Neg(x)", "replace": ["a0 = Abs(x)", *[f"a{i} = Abs(a{i - 1})" for i in range(1, 199)], "y = Abs(a198)"]}]}, f)
    run("--rules", "r.json", "m.onnx", "-o", "out.onnx")
    made = onnx.load("out.onnx").graph.node
    assert len(made) == 200 and sum(len(node.doc_string) for node in made) == 63 << 20    # 64 MiB, tags included


# --- what is named beside the nodes

MERGED = [{"match": "y = Relu(Relu(x))", "replace": "y = Relu(x)"}]


def named(path, text, change):
    model = onnx.parser.parse_model(f'<ir_version: 11, opset_import: ["": 21]>\n{text}')
    change(model)
    onnx.save(model, path)


def test_parameters_of_annotations_stay():
    def annotate(model):
        note = model.graph.quantization_annotation.add(tensor_name="a")
        note.quant_parameter_tensor_names.add(key="SCALE_TENSOR", value="s")
        gone = model.graph.quantization_annotation.add(tensor_name="r")  # of what the rule takes away
        gone.quant_parameter_tensor_names.add(key="SCALE_TENSOR", value="t")
    text = """g (float[2] x) => (float[2] y) <float s = {0.5}, float t = {0.25}, float u = {1.0}> {
      a = Neg(x)  r = Relu(a)  y = Relu(r)
    }"""
    named("m.onnx", text, annotate)
    rewrite(MERGED)
    after = onnx.load("out.onnx").graph
    assert [t.name for t in after.initializer] == ["s"]
    assert [(n.tensor_name, n.quant_parameter_tensor_names[0].value) for n in after.quantization_annotation] == [("a", "s")]


def test_what_training_names_stays():
    def train(model):
        info = model.training_info.add()
        info.algorithm.name = "step"
        info.algorithm.node.append(helper.make_node("Neg", ["lr"], ["next"]))
        info.update_binding.add(key="momentum", value="next")
    text = """g (float[2] x) => (float[2] y) <float[2] momentum = {1, 2}, float lr = {0.5}, float unused = {1.0}> {
      r = Relu(x)  y = Relu(r)
    }"""
    named("m.onnx", text, train)
    rewrite(MERGED)
    assert [t.name for t in onnx.load("out.onnx").graph.initializer] == ["momentum", "lr"]


def test_what_is_said_of_devices_goes_with_its_values():
    def shard(model):
        configuration = model.graph.node[2].device_configurations.add(configuration_id="c")
        for name in ("r", "y", "w"):
            configuration.sharding_spec.add(tensor_name=name)
    text = """g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> {
      q = Neg(x)  r = Neg(q)  y = Mul(r, w)
    }"""
    named("m.onnx", text, shard)
    rewrite([{"match": "y = Neg(Neg(x))", "replace": "y = x"}])
    (node,) = onnx.load("out.onnx").graph.node
    assert list(node.input) == ["x", "w"] and [s.tensor_name for s in node.device_configurations[0].sharding_spec] == ["y", "w"]
