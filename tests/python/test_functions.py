"""Local functions: those that nothing calls go; what all calls agree on is known inside."""
import numpy as np
import onnx
import onnx.parser
import onnxruntime
import pytest
from onnx import numpy_helper

from cli import folder, run  # noqa: F401

HEAD = '<ir_version: 8, opset_import: ["" : 17, "local" : 1]>\n'
NESTED = """<domain: "local", opset_import: ["" : 17, "local" : 1]> f (a) => (b) { t = local.g(a) b = Neg(t) }
<domain: "local", opset_import: ["" : 17]> g (a) => (b) { b = Relu(a) }
<domain: "local", opset_import: ["" : 17, "local" : 1]> idle (a) => (b) { b = local.used_by_idle(a) }
<domain: "local", opset_import: ["" : 17]> used_by_idle (a) => (b) { c = Identity(a) b = Relu(c) }
<domain: "other", opset_import: ["" : 17]> also (a) => (b) { b = Relu(a) }
"""


def write(text, path="m.onnx"):
    onnx.save(onnx.parser.parse_model(HEAD + text), path)


def functions(path):
    return sorted(f.name for f in onnx.load(path).functions)


def session(path):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


@pytest.mark.parametrize("call", ["y = local.f(x)", """c = Constant<value = bool {1}>() y = If(x_is)
  <then_branch = t () => (float[N] o) { o = local.f(x) }, else_branch = e () => (float[N] p) { p = Neg(x) }>"""])
def test_functions_that_nothing_calls(call):
    write(f"g (float[N] x, bool x_is) => (float[N] y) {{ {call} }}\n" + NESTED)
    out, _ = run("--rules", "optimize", "m.onnx", "-o", "o.onnx", "--check-graph")
    assert "unused removed" in out
    assert functions("o.onnx") == ["f", "g"]
    onnx.checker.check_model("o.onnx", full_check=True)
    out, _ = run("--rules", "optimize", "o.onnx", "--check")
    assert "0 rewrites" in out


def test_a_library_of_functions_stays():
    write("g () => () { }\n" + NESTED)
    run("--rules", "optimize", "m.onnx", "-o", "o.onnx")
    assert functions("o.onnx") == ["also", "f", "g", "idle", "used_by_idle"]


def test_functions_stay_as_long_as_nothing_changes():
    write("g (float[N] x) => (float[N] y) { y = local.f(x) }\n" + NESTED)
    out, _ = run("--rules", "strip_qdq", "m.onnx", "-o", "o.onnx")
    assert "nothing changed" in out
    with open("m.onnx", "rb") as before, open("o.onnx", "rb") as after:
        assert before.read() == after.read()


DYNAMIC = """<domain: "local", opset_import: ["" : 17]> product (a, w) => (b) {
  q, s, z = DynamicQuantizeLinear(a)  n = MatMulInteger(q, w, z)  f = Cast<to = 1>(n)
  k = Constant<value = float {0.5}>()  m = Mul(k, s)  b = Mul(f, m) }
"""


@pytest.mark.parametrize("functions, products", [("keep", 1), ("inline", 2)])
def test_types_come_from_the_calls(functions, products):
    """A product of integers is dequantized to the type of the data, which the function does not say."""
    weights = ", ".join(str(i % 7 - 3) for i in range(16))
    write(f"g (float[2, 4] x) => (float[2, 4] y) <int8[4, 4] w = {{{weights}}}>"
          " { u = local.product(x, w)  t = Tanh(u)  y = local.product(t, w) }\n" + DYNAMIC)
    run("--rules", "ezkl_dequant", "--set", f"functions={functions}", "m.onnx", "-o", "o.onnx")
    model = onnx.load("o.onnx")
    kinds = [node.op_type for node in [*model.graph.node, *(n for f in model.functions for n in f.node)]]
    assert kinds.count("MatMul") == products and not {"MatMulInteger", "DynamicQuantizeLinear"} & set(kinds)
    x = np.random.default_rng(1).normal(size=(2, 4)).astype(np.float32)
    before, after = (session(path).run(None, {"x": x})[0] for path in ("m.onnx", "o.onnx"))
    assert np.abs(before - after).max() < 0.05 * np.abs(before).max()


@pytest.mark.parametrize("calls,known", [("u = local.up(x)  y = local.up(u)", True),
                                         ("h = Cast<to = 10>(x)  v = local.up(h)  u = Cast<to = 1>(v)  w = local.up(x)  y = Add(u, w)", False),
                                         ("u = local.up(x)  d = Cast<to = 11>(u)  v = local.up(d)  y = Cast<to = 1>(v)", False),
                                         ("u = local.outer(x)  y = Neg(u)", True)])
def test_calls_that_agree_and_calls_that_do_not(calls, known):
    """CastLike of a known type is a Cast; the function is called with one element type, or with two."""
    write(f"g (float[3] x) => (float[3] y) {{ {calls} }}\n"
          '<domain: "local", opset_import: ["" : 17]> up (a) => (b) { k = Constant<value = double {2}>()  c = CastLike(k, a)  b = Mul(a, c) }\n'
          '<domain: "local", opset_import: ["" : 17, "local" : 1]> outer (a) => (b) { t = Relu(a)  b = local.up(t) }\n')
    run("--rules", "optimize", "m.onnx", "-o", "o.onnx")
    model = onnx.load("o.onnx")
    (up,) = [f for f in model.functions if f.name == "up"]
    assert ("CastLike" not in [n.op_type for n in up.node]) == known
    x = np.array([1, -2, 3], np.float32)
    np.testing.assert_array_equal(*(session(path).run(None, {"x": x})[0] for path in ("m.onnx", "o.onnx")))


def test_an_upgrade_that_needs_the_type():
    model = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 10, "local" : 1]> g (float16[3] x) => (float16[3] y) { y = local.f(x) }\n'
        '<domain: "local", opset_import: ["" : 10]> f (a) => (b) { b = Clip<min = -1.0, max = 1.0>(a) }')
    onnx.save(model, "m.onnx")
    run("--rules", "opset_upgrade", "--set", "to=13", "m.onnx", "-o", "o.onnx")
    (function,) = onnx.load("o.onnx").functions
    bounds = [numpy_helper.to_array(n.attribute[0].t) for n in function.node if n.op_type == "Constant"]
    assert [b.dtype for b in bounds] == [np.float16, np.float16]
    y = session("o.onnx").run(None, {"x": np.array([-3, 0.5, 2], np.float16)})[0]
    np.testing.assert_array_equal(y, np.array([-1, 0.5, 1], np.float16))


@pytest.mark.parametrize("version", [0, -5])
def test_opsets_that_do_not_exist(version):
    model = onnx.parser.parse_model(HEAD + "g (float[N] x) => (float[N] y) { y = Relu(x) }")
    model.opset_import[0].version = version
    onnx.save(model, "m.onnx")
    _, err = run("--rules", "optimize", "m.onnx", "-o", "o.onnx", code=5)
    assert f"opset {version}" in err


def test_constants_in_functions_stay():
    """A function has no initializers: there is no other form for what a Constant holds."""
    write("""g (float[4] x) => (float[2, 2] y) { y = local.f(x) }
<domain: "local", opset_import: ["" : 17]> f (a) => (b) { s = Constant<value = int64[2] {2, 2}>() b = Reshape(a, s) }""")
    out, _ = run("--rules", "optimize", "m.onnx", "--check")
    assert "nothing changed" in out, out
    run("--rules", "optimize", "m.onnx", "-o", "o.onnx")
    with open("m.onnx", "rb") as before, open("o.onnx", "rb") as after:
        assert before.read() == after.read()


def test_calls_that_nobody_reads_say_nothing_of_types():
    """They go at the end; a second run would know more than the first."""
    write("""g (float[1, 3] x) => (y) { y = local.f(x) dead = local.f(x) }
<domain: "local", opset_import: ["" : 17]> f (x) => (y) { s = Shape(x) y = Cast<to = 1>(s) }""")
    run("--rules", "optimize", "m.onnx", "-o", "o.onnx")
    out, _ = run("--rules", "optimize", "o.onnx", "--check")
    assert "0 rewrites" in out


@pytest.mark.parametrize("body", ["MatMulNBits <K = 16, N = 2, block_size = 16, bits = 4>", "MatMulBnb4 <K = 16, N = 2, block_size = 16, quant_type = 1>"])
def test_packed_weights_of_the_caller(body):
    weights = numpy_helper.from_array(np.arange(16, dtype=np.uint8).reshape((2, 1, 8) if "NBits" in body else 16), "w")
    model = onnx.parser.parse_model(f"""<ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1, "local" : 1]>
      g (float[2, 16] x) => (float[2, 2] y) <float[2] s = {{1, 2}}> {{ y = local.f(x, w, s) }}
      <domain: "local", opset_import: ["" : 17, "com.microsoft" : 1]> f (a, b, c) => (d) {{ d = com.microsoft.{body}(a, b, c) }}""")
    model.graph.initializer.append(weights)
    onnx.save(model, "m.onnx")
    run("--rules", "ezkl_dequant", "--strict", "m.onnx", "-o", "o.onnx")
    assert [node.op_type for node in onnx.load("o.onnx").graph.node] == ["MatMul"]
