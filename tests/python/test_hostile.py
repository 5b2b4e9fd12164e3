"""Models that are small but want much, and large ones: neither memory nor time nor stack runs out."""
import resource
import subprocess
from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from cli import PROGRAM, folder, listing, ops, run  # noqa: F401

MEMORY = 3 << 30


def limit_memory():
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def model(nodes, inputs=("x",), initializers=(), opset=17):
    values = [helper.make_tensor_value_info(i, TensorProto.FLOAT, [4]) for i in inputs]
    outputs = [helper.make_tensor_value_info("y", TensorProto.UNDEFINED, None)]
    outputs[0].ClearField("type")
    graph = helper.make_graph(nodes, "g", values, outputs, list(initializers))
    return helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", opset)])


def rules(text):
    Path("my.yaml").write_text(f"qrewrite: 1\nname: my\nsummary: a test\n{text}")
    return "./my.yaml"


@pytest.mark.parametrize("graph", [
    "<int64 n = {2147483640}, int64 o = {0}, int64 i = {1}> { t = Range(o, n, i) y = Neg(t) }",
    "<int64[1] a = {1}, int64 n = {2147483640}, int8[2] v = {0, 1}>"
    " { t = OneHot(a, n, v) y = Neg(t) }",
    "<int8[1] a = {1}, int64[2] p = {0, 2147483640}> { t = Pad(a, p) y = Neg(t) }",
    "<int8[1] a = {1}, int64[2] p = {-9223372036854775808, 9223372036854775807}>"
    " { t = Pad(a, p) y = Neg(t) }",
    "<int64[2] m = {46000, 1}, int64[2] n = {1, 46000}>"
    " { a = ConstantOfShape(m) b = ConstantOfShape(n) t = MatMul(a, b) y = Neg(t) }",
    "<int64[2] m = {46000, 1}, int64[2] n = {1, 46000}>"
    " { a = ConstantOfShape(m) b = ConstantOfShape<value = int64[1] {2}>(n)"
    " c = Cast<to = 7>(a) t = Div(c, b) y = Neg(t) }",
    "<int64[2] m = {1, 4000000}, int64[2] n = {400, 1}>"
    " { a = ConstantOfShape(m) b = ConstantOfShape<value = int64[1] {0}>(n)"
    " t = GatherND(a, b) y = Neg(t) }",
])
def test_constants_that_would_be_large(graph):
    text = f'<ir_version: 8, opset_import: ["" : 17]> g (float x) => (float y) {graph}'
    onnx.save(onnx.parser.parse_model(text), "m.onnx")
    run("--rules", "optimize", "m.onnx", "-o", "o.onnx", preexec_fn=limit_memory)
    assert ops("o.onnx")[-1] == "Neg"  # and not a constant


def test_memory_that_runs_out():
    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (64 << 20, 64 << 20))
    onnx.save(onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 17]> g (float x) => (float[N] y)'
        " <int64[1] n = {16000000}> { y = ConstantOfShape(n) }"), "m.onnx")
    before = listing()
    _, err = run("--rules", "optimize", "m.onnx", "-o", "o.onnx", code=7, preexec_fn=limit)
    assert "memory" in err
    assert listing() == before


def test_nodes_with_very_many_inputs():
    onnx.save(model([helper.make_node("Max", ["x"] * 100_000, ["y"])]), "m.onnx")
    path = rules("""rules:
  - name: names
    match: y = Max(xs...)
    where: [len(xs) == 100000]
    replace: y = Sum(xs...)
""")
    run("--rules", path, "m.onnx", "-o", "o.onnx")
    assert ops("o.onnx") == ["Sum"]
    assert len(onnx.load("o.onnx").graph.node[0].input) == 100_000
    reads = [helper.make_node("Relu", ["x"], [f"r{i}"]) for i in range(20_000)]
    total = helper.make_node("Sum", [n.output[0] for n in reads], ["y"])
    onnx.save(model([*reads, total]), "m.onnx")
    path = rules("""rules:
  - {name: calls, match: 'y = Sum(Relu(xs)...)', replace: 'y = Sum(xs...)'}
""")
    run("--rules", path, "m.onnx", "-o", "o.onnx")
    assert ops("o.onnx") == ["Sum"]


def test_many_nodes_without_names():
    nodes = [helper.make_node("Relu", ["x"], ["v0"])]
    nodes += [helper.make_node("Relu", [f"v{i}"], [f"v{i + 1}"]) for i in range(40_000)]
    nodes.append(helper.make_node("Neg", [nodes[-1].output[0]], ["y"]))
    onnx.save(model(nodes), "m.onnx")
    run("--rules", rules("phases: [{name: names, rename: A-Za-z0-9_}]\n"), "m.onnx", "-o", "o.onnx")
    graph = onnx.load("o.onnx").graph
    assert [n.name for n in graph.node[:3]] == ["Relu", "Relu_1", "Relu_2"]
    assert len({n.name for n in graph.node}) == len(graph.node) == 40_002


def test_subgraph_with_a_sparse_tensor_is_not_put_in_place():
    sparse = onnx.SparseTensorProto(dims=[4])
    sparse.values.CopyFrom(numpy_helper.from_array(np.array([2.0], np.float32), "sparse"))
    sparse.indices.CopyFrom(numpy_helper.from_array(np.array([1]), "indices"))
    output = [helper.make_tensor_value_info("o", TensorProto.FLOAT, [4])]
    there = helper.make_graph([helper.make_node("Add", ["x", "sparse"], ["o"])], "then", [],
                              output, sparse_initializer=[sparse])
    other = helper.make_graph([helper.make_node("Neg", ["x"], ["o"])], "else", [], output)
    node = helper.make_node("If", ["c"], ["y"], then_branch=there, else_branch=other)
    for value, expected in [(True, ["If"]), (False, ["Neg"])]:
        condition = numpy_helper.from_array(np.array(value), "c")
        onnx.save(model([node], initializers=[condition]), "m.onnx")
        run("--rules", "optimize", "m.onnx", "-o", "o.onnx")
        assert ops("o.onnx") == expected
        run("show", "o.onnx")


def small_stack():
    resource.setrlimit(resource.RLIMIT_STACK, (512 << 10, 512 << 10))


def sums(length):
    """Quantized numbers, `length` sums of them, a range of the last: facts look up all the way."""
    scale = [numpy_helper.from_array(np.float32(0.5), "s"), numpy_helper.from_array(np.uint8(3), "z")]
    pair = [helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"]), helper.make_node("DequantizeLinear", ["q", "s", "z"], ["v0"])]
    adds = [helper.make_node("Add", [f"v{i}", "v0"], [f"v{i + 1}"]) for i in range(length)]
    end = [helper.make_node("Relu", [f"v{length}"], ["r"]), helper.make_node("QuantizeLinear", ["r", "s", "z"], ["qr"]),
           helper.make_node("DequantizeLinear", ["qr", "s", "z"], ["y"])]
    return model([*pair, *adds, *end], initializers=scale)


@pytest.mark.parametrize("rules", ["ezkl_dequant", "ezkl_finish", "deeploy", "optimize", "qdq_to_qop", "aidge_export_qdq", "strip_qdq"])
def test_shipped_rules_on_a_small_stack(rules):
    onnx.save(sums(2000), "m.onnx")
    done = subprocess.run([PROGRAM, "--rules", rules, "m.onnx", "-o", "o.onnx"], capture_output=True, timeout=60, preexec_fn=small_stack)
    assert done.returncode in (0, 3), done.stderr  # done, or refused


def test_folded_outputs_of_branches_have_types():
    text = """<ir_version: 8, opset_import: ["" : 17]> g (bool c) => (float[2] y) <float[2] k = {1, 2}> {
  y = If(c) <then_branch = t () => (float[2] o) { o = Add(k, k) }, else_branch = e () => (float[2] p) { p = Neg(k) }> }"""
    source = onnx.parser.parse_model(text)
    for attribute in source.graph.node[0].attribute:
        for output in attribute.g.output:
            output.ClearField("type")  # they may be left out
    onnx.save(source, "m.onnx")
    run("--rules", "optimize", "m.onnx", "-o", "o.onnx")
    out = onnx.load("o.onnx")
    assert all(not attribute.g.node for attribute in out.graph.node[0].attribute)  # both are constants now
    onnx.checker.check_model(out)
    onnx.shape_inference.infer_shapes(out, strict_mode=True, data_prop=True)


def test_what_rules_make_at_the_ends_of_branches_has_types():
    """onnx knows no type of ONNX Runtime's operators, and QLinearConv behind the If wants one."""
    source = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["" : 17]>
      g (float[1, 2, 4, 4] x, bool c) => (float[1, 2, 4, 4] y) <float s = {0.1}, uint8 z = {3}, float t = {0.2}, uint8[2, 2, 1, 1] w = {1, 2, 3, 4}> {
        q = QuantizeLinear(x, s, z)
        a = If(c) <then_branch = f () => (uint8[1, 2, 4, 4] o) { d = DequantizeLinear(q, s, z) m = Add(d, d) o = QuantizeLinear(m, t, z) },
                   else_branch = e () => (uint8[1, 2, 4, 4] p) { h = DequantizeLinear(q, s, z) n = Mul(h, h) p = QuantizeLinear(n, t, z) }>
        b = DequantizeLinear(a, t, z)
        v = DequantizeLinear(w, s, z)
        k = Conv(b, v)
        r = QuantizeLinear(k, s, z)
        y = DequantizeLinear(r, s, z) }""")
    for attribute in source.graph.node[1].attribute:
        attribute.g.output[0].ClearField("type")
    onnx.save(source, "m.onnx")
    run("--rules", "qdq_to_qop", "m.onnx", "-o", "o.onnx")
    out = onnx.load("o.onnx")
    assert [node.op_type for node in out.graph.node] == ["QuantizeLinear", "If", "QLinearConv", "DequantizeLinear"]
    onnx.checker.check_model(out, full_check=True)


def branches(inner, outer="k"):
    """Both use constants; the branch has one of its own that is named `inner`."""
    return onnx.parser.parse_model(f"""<ir_version: 8, opset_import: ["" : 17]>
      g (float[2] x, bool c) => (float[2] y) <float {outer} = {{6}}> {{
        a = Mul(x, {outer})
        y = If(c) <then_branch = t () => (float[2] o) <float {inner} = {{5}}, float p = {{2}}, float q = {{3}}>
          {{ u = Add(a, {inner}) v = Mul(u, p) o = Mul(v, q) }}, else_branch = e () => (float[2] n) {{ n = Add(a, {outer}) }}> }}""")


@pytest.mark.parametrize("inner,shared", [("other", True), ("k", False)])
def test_constants_of_the_graph_around_a_body(inner, shared):
    """A body reads the constant that is there, unless a name of its own hides it."""
    onnx.save(branches(inner), "m.onnx")
    path = rules("""rules:
  - {name: factors, match: 'y = Mul(Mul(x, a), b)', where: const(a) and const(b), let: {k: a * b}, replace: 'y = Mul(x, k)'}
""")
    run("--rules", path, "m.onnx", "-o", "o.onnx", "--check-graph")
    (then,) = [a.g for n in onnx.load("o.onnx").graph.node for a in n.attribute if a.name == "then_branch"]
    assert then.node[-1].op_type == "Mul" and (then.node[-1].input[1] == "k") == shared
    x = np.array([1, -2], np.float32)
    results = [onnxruntime.InferenceSession(p, providers=["CPUExecutionProvider"]).run(None, {"x": x, "c": np.array(True)})[0]
               for p in ("m.onnx", "o.onnx")]
    np.testing.assert_allclose(*results, rtol=1e-6)


def test_constants_that_a_body_captures_are_not_copied():
    onnx.save(branches("other"), "m.onnx")
    run("--rules", "optimize", "m.onnx", "-o", "o.onnx")
    (branch,) = [a.g for n in onnx.load("o.onnx").graph.node for a in n.attribute if a.name == "else_branch"]
    assert not branch.initializer and list(branch.node[0].input) == ["a", "k"]


@pytest.mark.parametrize("versions, message", [
    ([], "Relu `n_y` of the model is an operator of ai.onnx, which is not imported there"),
    ([0], "imports ai.onnx opset 0, which does not exist"),
])
def test_opsets_that_make_no_sense(versions, message):
    m = onnx.load("plain.onnx")
    del m.opset_import[:]
    m.opset_import.extend(helper.make_opsetid("", v) for v in versions)
    onnx.save(m, "m.onnx")
    _, err = run("--rules", "optimize", "m.onnx", "-o", "o.onnx", code=5)
    assert message in err
    assert not Path("o.onnx").exists()
    _, err = run("verify", "plain.onnx", "m.onnx", code=5)
    assert message.replace("the model", "the second model") in err


@pytest.mark.parametrize("domain", ["", "ai.onnx"])
@pytest.mark.parametrize("versions", [[17, 12], [9, 12], [12, 12]])
def test_of_two_imports_the_last_counts(versions, domain):
    """As for onnx and ONNX Runtime: Squeeze has an attribute before opset 13."""
    m = onnx.parser.parse_model('<ir_version: 7, opset_import: ["": 17]> g (float[1,3] x) => (float[3] y) { a = Identity(x) y = Squeeze<axes = [0]>(a) }')
    del m.opset_import[:]
    m.opset_import.extend(helper.make_opsetid(d, v) for d, v in zip(["", domain], versions))
    onnx.save(m, "m.onnx")
    run("--rules", "optimize", "m.onnx", "-o", "o.onnx")
    out = onnx.load("o.onnx")
    assert [i.version for i in out.opset_import] == [12] and [n.op_type for n in out.graph.node] == ["Squeeze"]
    onnx.checker.check_model(out, full_check=True)


def test_functions_without_ai_onnx_beside_them():
    """What imports ai.onnx is the function; the graph itself has operators of another domain alone."""
    text = """<ir_version: 8, opset_import: ["me" : 1]>
      g (float[4] x) => (float[4] y) { y = me.F(x) }
      <domain: "me", opset_import: ["" : 17]> F (a) => (b) { c = Identity(a) b = Relu(c) }"""
    m = onnx.parser.parse_model(text)
    onnx.save(m, "m.onnx")
    run("--rules", "optimize", "m.onnx", "-o", "o.onnx")
    del m.functions[0].opset_import[:]
    m.opset_import.append(helper.make_opsetid("", 17))  # which does not count inside of a function
    onnx.save(m, "m.onnx")
    _, err = run("--rules", "optimize", "m.onnx", "-o", "p.onnx", code=5)
    assert "Identity `c` of the model is an operator of ai.onnx" in err


def test_a_graph_without_outputs_is_not_emptied():
    m = onnx.load("plain.onnx")
    del m.graph.output[:]
    onnx.save(m, "m.onnx")
    _, err = run("--rules", "optimize", "m.onnx", "-o", "o.onnx", code=5)
    assert "the graph has no outputs: nothing would be left of Relu `n_y`" in err
    assert not Path("o.onnx").exists()
    run("show", "m.onnx")


@pytest.mark.parametrize("version, code", [(-1, 5), (0, 0), (999, 0)])
def test_ir_versions_that_make_no_sense(version, code):
    """Newer ones are taken as they are; what has none is as old as can be."""
    m = onnx.load("plain.onnx")
    m.ir_version = version
    onnx.save(m, "m.onnx")
    _, err = run("--rules", "optimize", "m.onnx", "-o", "o.onnx", code=code)
    assert code == 0 or f"the model has IR version {version}, which does not exist" in err
    assert code != 0 or onnx.load("o.onnx").ir_version == version


def test_the_graph_is_checked_beside_sparse_tensors():
    """`--check-graph`: what only the file holds is made by nothing in the graph, and is no fault of it."""
    sparse = onnx.SparseTensorProto(dims=[4])
    sparse.values.CopyFrom(numpy_helper.from_array(np.float32([1, 2]), "w"))
    sparse.indices.CopyFrom(numpy_helper.from_array(np.int64([0, 3]), "i"))
    m = model([helper.make_node("Relu", ["x"], ["a"]), helper.make_node("Relu", ["a"], ["b"]), helper.make_node("Add", ["b", "w"], ["y"])])
    m.graph.sparse_initializer.append(sparse)
    onnx.save(m, "m.onnx")
    run("--rules", "optimize", "m.onnx", "-o", "o.onnx", "--check-graph")
    assert len(onnx.load("o.onnx").graph.node) == 2


@pytest.mark.parametrize("args, code", [
    (["a" * 5000], 2),
    (["new", "--from", "m.onnx", "--nodes", "y", "-o", "r" * 5000 + ".yaml"], 6),
    (["verify", "m.onnx", "m.onnx", "--inputs", "a" * 5000], 6),
], ids=["command", "output", "samples"])
def test_a_path_that_no_file_can_have(folder, args, code):  # noqa: F811
    onnx.save(model([helper.make_node("Neg", ["x"], ["y"])]), "m.onnx")
    assert "filesystem error" not in run(*args, code=code)[1]
