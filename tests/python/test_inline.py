"""`inline: all`: calls of local functions give way to what the functions compute."""
import os
import subprocess

import numpy as np
import onnx
import onnx.parser
import onnxruntime
import pytest
from onnx import helper, numpy_helper

from cli import PROGRAM, SOURCE

HEADER = '<ir_version: 8, opset_import: ["": 17, "own": 1]>\n'
FUNCTION = '<domain: "own", opset_import: ["": 17, "own": 1]>\n'

# Each: main graph, functions. All have the inputs x and c.
MODELS = {
    "twice": ("a = own.Twice(x)  y = own.Twice(a)", "Twice (v) => (w) { w = Add(v, v) }"),
    "nested": ("y = own.Outer(x)", "Outer (v) => (w) { a = own.Inner(v)  w = own.Inner(a) }", "Inner (v) => (w) { a = Exp(v)  w = Neg(a) }"),
    "attribute": ("a = own.Leak<slope = 0.5>(x)  y = own.Leak<slope = 0.25>(a)", "Leak <slope> (v) => (w) { w = LeakyRelu<alpha: float = @slope>(v) }"),
    "default": ("a = own.Leak(x)  y = own.Leak<slope = 0.25>(a)", "Leak <slope: float = 0.75> (v) => (w) { w = LeakyRelu<alpha: float = @slope>(v) }"),
    "left-out": ("y = own.Leak(x)", "Leak <slope> (v) => (w) { w = LeakyRelu<alpha: float = @slope>(v) }"),
    "attribute-of-attribute": ("y = own.Outer<s = 0.5>(x)", "Outer <s> (v) => (w) { w = own.Leak<slope: float = @s>(v) }",
                               "Leak <slope> (v) => (w) { w = LeakyRelu<alpha: float = @slope>(v) }"),
    "absent-input": ("y = own.Bound(x)", "Bound (v, lo, hi) => (w) { w = Clip(v, lo, hi) }"),
    "absent-inside": ('k = Constant<value = float {0.5}>()  y = own.Bound(x, "", k)', "Bound (v, lo, hi) => (w) { w = Clip(v, lo, hi) }"),
    "through": ("a, b = own.Both(x)  y = Sub(a, b)", "Both (v) => (v, w) { w = Exp(v) }"),
    "same-output": ("a, b = own.Both(x)  y = Sub(a, b)", "Both (v) => (w, w) { w = Exp(v) }"),
    "unread-output": ("a, b = own.Both(x)  y = Neg(a)", "Both (v) => (w, u) { w = Exp(v)  u = Abs(w) }"),
    "in-a-branch": ("""k = Constant<value = float {2}>()
        y = If(c) <then_branch = t () => (float[N] t) { t = own.Twice(x) }, else_branch = e () => (float[N] e) { a = own.Twice(k)  e = Add(a, x) }>""",
                    "Twice (v) => (w) { w = Add(v, v) }"),
    "branch-inside": ("y = own.Choose<s = 0.5>(c, x)", """Choose <s> (c, v) => (w) {
        k = Exp(v)
        w = If(c) <then_branch = t () => (t) { t = LeakyRelu<alpha: float = @s>(k) }, else_branch = e () => (e) { a = own.Twice(k)  e = Neg(a) }> }""",
                      "Twice (v) => (w) { w = Add(v, v) }"),
    "graph-attribute": ("y = own.Choose<b = t () => (float[N] t) { t = Sin(x) }>(c, x)",
                        "Choose <b> (c, v) => (w) { w = If(c) <then_branch: graph = @b, else_branch = e () => (e) { e = Exp(v) }> }"),
    "names": ("w = Neg(x)  a = own.Twice(w)  y = Add(a, w)", "Twice (v) => (w) { y = Exp(v)  w = Add(y, v) }"),
}
# Of those that ONNX Runtime does not load.
EXPECTED = {
    "through": lambda x, c: x - np.exp(x),
    "same-output": lambda x, c: 0 * x,
    "graph-attribute": lambda x, c: np.sin(x) if c else np.exp(x),
}
X = np.array([-2, -0.5, 0, 0.75, 3], np.float32)
RULES = "qrewrite: 1\nname: flat\nphases:\n  - {name: functions, inline: all}\n"


def model(main, *functions, header=HEADER, function=FUNCTION):
    text = header + "g (float[N] x, bool c) => (float[N] y) { " + main + " }\n" + "".join(function + f + "\n" for f in functions)
    return onnx.parser.parse_model(text)


def run(folder, *args):
    environment = {**os.environ, "NO_COLOR": "1", "QREWRITE_RULES_DIR": str(SOURCE / "rules")}
    done = subprocess.run([PROGRAM, *args], cwd=folder, capture_output=True, text=True, timeout=120, env=environment)
    return done.returncode, done.stdout, done.stderr


def results(path):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    given = {i.name for i in session.get_inputs()}
    feeds = [{"x": X, "c": np.array(c)} for c in (False, True)]
    return [session.run(None, {name: v for name, v in f.items() if name in given})[0] for f in feeds]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("inline")
    (path / "flat.yaml").write_text(RULES)
    for name, texts in MODELS.items():
        onnx.save(model(*texts), path / f"{name}.onnx")
    return path


@pytest.mark.parametrize("name", MODELS)
def test_the_same_without_functions(folder, name):
    code, out, err = run(folder, "--rules", "flat.yaml", f"{name}.onnx", "-o", "flat.onnx")
    assert code == 0, out + err
    flat = onnx.load(folder / "flat.onnx")
    onnx.checker.check_model(flat, full_check=True)
    assert not flat.functions and [o.domain for o in flat.opset_import] == [""], flat
    wanted = [EXPECTED[name](X, c) for c in (False, True)] if name in EXPECTED else results(folder / f"{name}.onnx")
    for before, after in zip(wanted, results(folder / "flat.onnx")):
        assert np.allclose(before, after, rtol=1e-6, atol=0) if name in EXPECTED else np.array_equal(before, after), (before, after)
    code, out, err = run(folder, "--rules", "flat.yaml", "flat.onnx", "-o", "again.onnx")
    assert "nothing changed" in out and (folder / "again.onnx").read_bytes() == (folder / "flat.onnx").read_bytes()


def test_names_say_which_call(folder):
    named = model("a = own.Twice(x)  y = own.Twice(a)", "Twice (v) => (w) { t = Exp(v)  w = Add(t, v) }")
    for i, n in enumerate(named.graph.node):
        n.name = f"call{i}"
    named.functions[0].node[0].name = "exp"
    onnx.save(named, folder / "named.onnx")
    assert run(folder, "--rules", "flat.yaml", "named.onnx", "-o", "flat.onnx")[0] == 0
    nodes = onnx.load(folder / "flat.onnx").graph.node
    assert [(n.op_type, n.name, n.output[0]) for n in nodes] == [("Exp", "call0/exp", "call0/t"), ("Add", "", "a"), ("Exp", "call1/exp", "call1/t"), ("Add", "", "y")]


@pytest.mark.parametrize("texts, options, why", [
    (("y = own.F(x)", 'F (v) => (w) { w = Exp(v) }'), [], "it imports ai.onnx 13, the model 17"),
    (("y = own.F(x)", "F (v) => (w) { w = Exp(v) }"), ["--keep-op", "Exp"], "in it is kept"),
])
def test_calls_that_stay_say_why(folder, texts, options, why):
    kept = model(*texts, function=FUNCTION.replace("17", "13") if not options else FUNCTION)
    for n in kept.functions[0].node:
        n.name = "inside"
    onnx.save(kept, folder / "kept.onnx")
    keep = ["--keep-node", "inside"] if options else []
    code, out, err = run(folder, "--rules", "flat.yaml", *keep, "kept.onnx", "-o", "stays.onnx")
    assert code == 0 and "calls of the local function `own.F` stay: " in err + out and why in err + out, out + err
    assert (folder / "stays.onnx").read_bytes() == (folder / "kept.onnx").read_bytes()


def test_functions_that_double_end_in_an_error(folder):
    depth = 40
    functions = [f"F{k} (v) => (w) {{ a = own.F{k + 1}(v)  w = own.F{k + 1}(a) }}" for k in range(depth)]
    onnx.save(model("y = own.F0(x)", *functions, f"F{depth} (v) => (w) {{ w = Neg(v) }}"), folder / "doubles.onnx")
    code, out, err = run(folder, "--rules", "flat.yaml", "doubles.onnx", "-o", "much.onnx")
    assert code == 7 and "inlined, functions make more than" in err and not (folder / "much.onnx").exists(), out + err


@pytest.mark.parametrize("rules", ["ezkl_dequant", "deeploy"])
def test_quantized_functions(folder, rules):
    """Scales that a function takes from its caller are known when the call is gone."""
    rng = np.random.default_rng(1)
    def tensor(name, value):
        return numpy_helper.from_array(value, name)
    layer = helper.make_function("own", "Layer", ["x", "s", "z", "w", "ws", "wz", "t", "u"], ["y"], [
        helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"]), helper.make_node("DequantizeLinear", ["q", "s", "z"], ["d"]),
        helper.make_node("DequantizeLinear", ["w", "ws", "wz"], ["f"]), helper.make_node("Conv", ["d", "f"], ["c"]),
        helper.make_node("Relu", ["c"], ["r"]), helper.make_node("QuantizeLinear", ["r", "t", "u"], ["p"]),
        helper.make_node("DequantizeLinear", ["p", "t", "u"], ["y"])], [helper.make_opsetid("", 17)])
    constants = [tensor("s", np.float32(0.03125)), tensor("z", np.int8(0)), tensor("ws", np.float32(0.0078125)), tensor("t", np.float32(0.0625)), tensor("u", np.int8(-128)),
                 tensor("w1", rng.integers(-127, 127, (4, 3, 3, 3)).astype(np.int8)), tensor("w2", rng.integers(-127, 127, (2, 4, 3, 3)).astype(np.int8))]
    graph = helper.make_graph([helper.make_node("Layer", ["x", "s", "z", "w1", "ws", "z", "t", "u"], ["a"], domain="own"),
                               helper.make_node("Layer", ["a", "t", "u", "w2", "ws", "z", "t", "u"], ["y"], domain="own")], "g",
                              [helper.make_tensor_value_info("x", 1, [1, 3, 8, 8])], [helper.make_tensor_value_info("y", 1, [1, 2, 4, 4])], constants)
    onnx.save(helper.make_model(graph, functions=[layer], opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("own", 1)], ir_version=8), folder / "layers.onnx")
    code, out, err = run(folder, "--rules", rules, "--verify", "--runtime", "builtin", "layers.onnx", "-o", "done.onnx")
    assert code == 0 and ("EXACT" in err or "WITHIN" in err), out + err
    done = onnx.load(folder / "done.onnx")
    ops = {n.op_type for n in done.graph.node}
    assert not done.functions and not ops & {"QuantizeLinear", "DequantizeLinear"} and "Conv" in ops, ops


def test_verify_sees_quantizers_inside(folder):
    """Samples that leave the range of a quantizer in a function are made smaller, as they are without the function."""
    quantized = model("y = own.Layer(x)", """Layer (v) => (w) {
        s = Constant<value = float {0.05}>()  z = Constant<value = int8 {0}>()  k = Constant<value = float {20}>()
        q = QuantizeLinear(v, s, z)  d = DequantizeLinear(q, s, z)  m = Mul(d, k)
        p = QuantizeLinear(m, s, z)  w = DequantizeLinear(p, s, z) }""")
    onnx.save(quantized, folder / "inside.onnx")
    code, out, err = run(folder, "--rules", "ezkl_dequant", "--set", "saturation=identity", "--verify", "inside.onnx", "-o", "fits.onnx")
    assert code == 0 and "DIVERGED" not in err, out + err


def test_names_of_nodes_differ_where_a_body_takes_the_place_of_a_call(tmp_path):
    """A branch may call a node as the graph around it does; ONNX Runtime wants each name once in a graph."""
    model = onnx.parser.parse_model('<ir_version: 8, opset_import: ["": 17]>\n' + """main (float[2] x) => (float[2] y) <bool yes = {1}> {
        a = Neg(x)
        b = If(yes) <then_branch = t () => (float[2] t) { u = Exp(x)  t = Abs(u) }, else_branch = e () => (float[2] e) { e = Sin(x) }>
        y = Add(a, b)
    }""")
    model.graph.node[0].name = model.graph.node[1].attribute[0].g.node[0].name = "n"
    model.graph.node[1].attribute[0].g.node[1].name = "inner"
    onnx.save(model, tmp_path / "m.onnx")
    for rules in ("optimize", "branches"):
        done = subprocess.run([PROGRAM, "--rules", SOURCE / "rules" / f"{rules}.yaml", "m.onnx", "-o", "out.onnx"], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        names = [node.name for node in onnx.load(tmp_path / "out.onnx").graph.node]
        assert len(set(names)) == len(names) == 4 and "n" in names and "inner" in names
        onnxruntime.InferenceSession(tmp_path / "out.onnx", providers=["CPUExecutionProvider"])
