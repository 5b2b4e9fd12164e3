"""Models of onnx_ir with many subgraphs: these cost what nodes cost, and are written and made without onnx_ir's constructors."""
import sys

import onnx_ir as ir
import pytest
from conftest import parse
from test_onnx_ir_in_place import form, is_whole

import qrewrite
from qrewrite.onnx_ir import RewritePass

RULES = {"name": "some", "rules": [{"name": "r", "match": "y = Relu(Relu(x))", "replace": "y = Relu(x)", "equivalence": "exact"}]}


def branches(count):
    """Nodes with two branches each, of which one changes."""
    nodes = "".join(f"""v{i + 1} = If (b) <then_branch = t{i} () => (float[2] z{i}) {{ r{i} = Relu(v{i})  z{i} = Relu(r{i}) }},
                                          else_branch = e{i} () => (float[2] y{i}) {{ y{i} = Neg(v{i}) }}>""" for i in range(count))
    return parse(f"g (float[2] v0, bool b) => (float[2] v{count}) {{ {nodes} }}")


def calls_of(action):
    calls = 0

    def count(frame, event, argument):
        nonlocal calls
        calls += event == "call"
    sys.setprofile(count)
    try:
        action()
    finally:
        sys.setprofile(None)
    return calls


@pytest.mark.parametrize("in_place,most", [(False, 1), (True, 100)])
def test_a_subgraph_costs_few_calls(in_place, most):
    """Calls of functions in Python, by node: onnx_ir's serializer and constructors take some hundred."""
    def of(count):
        model, rewrite = ir.from_proto(branches(count)), RewritePass(RULES, in_place=in_place)
        calls = calls_of(lambda: rewrite(model))
        assert rewrite.report.rewrites == count
        return calls
    of(2)
    first, second, third = of(20), of(40), of(80)
    assert second - first <= 20 * most and third - second <= 40 * most


def test_what_stays_in_a_node_that_changes():
    model = ir.from_proto(branches(5))
    kept = [[attribute.value for attribute in node.attributes.values()] for node in model.graph]
    nodes = [graph[-1] for graphs in kept for graph in graphs]
    for i, node in enumerate(nodes):
        node.meta["mine"] = i
    expected, _ = qrewrite.rewrite(model, RULES)
    RewritePass(RULES, in_place=True)(model)
    assert [[attribute.value for attribute in node.attributes.values()] for node in model.graph] == kept
    assert [graph[-1] for graphs in kept for graph in graphs] == nodes and [node.meta["mine"] for node in nodes] == list(range(10))
    assert is_whole(model) and form(model) == form(expected) and [len(graph) for graphs in kept for graph in graphs] == [1] * 10


def test_the_message_of_a_subgraph_has_all_that_is_said_of_it():
    """Of its inputs and outputs, too, which onnx_ir wrote."""
    proto = parse("""g (float[2] x, int64 n, bool c) => (float[2] y) {
      y = Loop (n, c, x) <body = b (int64 i, bool go, float[2] v) => (bool stay, float[2] w) { stay = Identity(go)  k = Constant<value_float = 2.0> ()  w = Mul(v, k) }>
    }""")
    body = proto.graph.node[0].attribute[0].g
    body.doc_string = "the body"
    body.metadata_props.add(key="k", value="v")
    body.input[2].doc_string = "a value"
    body.output[1].metadata_props.add(key="of", value="output")
    body.output[0].type.tensor_type.shape.Clear()
    result, report = qrewrite.rewrite(ir.from_proto(proto), {"rules": [{"name": "r", "match": "y = Mul(x, k)", "replace": "y = Mul(k, x)"}, ]}, stop_after=1)
    made = ir.to_proto(result).graph.node[0].attribute[0].g
    assert report.rewrites == 1 and (made.doc_string, made.metadata_props) == (body.doc_string, body.metadata_props)
    assert list(made.input) == list(body.input) and list(made.output) == list(body.output)
