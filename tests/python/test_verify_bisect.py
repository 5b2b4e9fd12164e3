"""qrewrite verify --bisect A B: one weight of a model is wrong; which one, and how?"""
import os
import subprocess

import numpy as np
import onnx
import onnx.parser
import pytest
from onnx import TensorProto, helper, numpy_helper

from cli import PROGRAM, SOURCE

QDQ = SOURCE / "fixtures" / "models" / "qdq_cnn.onnx"


def run(folder, *args):
    environment = {**os.environ, "NO_COLOR": "1", "QREWRITE_RULES_DIR": str(SOURCE / "rules")}
    done = subprocess.run([PROGRAM, *map(str, args)], cwd=folder, capture_output=True, text=True, timeout=120, env=environment)
    return done.returncode, done.stdout, done.stderr


def network():
    """Convolutions with BatchNormalization, a residual, a classifier; nothing in it is symmetric."""
    dice = np.random.default_rng(0)
    weights = {"w1": (6, 3, 3, 3), "b1": (6,), "w2": (6, 6, 3, 3), "w3": (8, 6, 1, 1), "fc": (8, 10), "bias": (10,)}
    weights = {name: (dice.standard_normal(shape) * 0.3).astype(np.float32) for name, shape in weights.items()}
    for i in "12":
        weights |= {f"g{i}": 1 + 0.1 * dice.standard_normal(6).astype(np.float32), f"m{i}": 0.1 * dice.standard_normal(6).astype(np.float32),
                    f"o{i}": 0.1 * dice.standard_normal(6).astype(np.float32), f"v{i}": 1 + 0.1 * dice.random(6).astype(np.float32)}
    model = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["": 17]> g (float[N, 3, 8, 8] x) => (float[N, 10] y) {
        c1 = Conv<pads=[1, 1, 1, 1]>(x, w1, b1)
        n1 = BatchNormalization(c1, g1, o1, m1, v1)
        r1 = Relu(n1)
        c2 = Conv<pads=[1, 1, 1, 1]>(r1, w2)
        n2 = BatchNormalization(c2, g2, o2, m2, v2)
        r2 = Relu(n2)
        s = Add(r1, r2)
        c3 = Conv(s, w3)
        p = GlobalAveragePool(c3)
        f = Flatten(p)
        h = MatMul(f, fc)
        y = Add(h, bias)
    }""")
    model.graph.initializer.extend(numpy_helper.from_array(array, name) for name, array in weights.items())
    return model


def sign(w, dice):
    at = np.argsort(np.abs(w.ravel()))[-1 - dice.integers(w.size // 4 or 1)]
    w.ravel()[at] *= -1


def channel(w, dice):
    w[dice.integers(w.shape[0])] *= 1.5


def step(w, dice):
    at = dice.integers(w.size)
    w.ravel()[at] += 1 if w.ravel()[at] < 100 else -1


def spoil(path, result, name, change, seed):
    model = onnx.load(path)
    for tensor in model.graph.initializer:
        if tensor.name == name:
            array = numpy_helper.to_array(tensor).copy()
            change(array, np.random.default_rng(seed))
            tensor.CopyFrom(numpy_helper.from_array(array, name))
    onnx.save(model, result)


def weights_of(path, kinds, least=6):
    return [t.name for t in onnx.load(path).graph.initializer if t.data_type in kinds and np.prod(t.dims) >= least]


@pytest.mark.parametrize("rules", [None, "optimize"])
@pytest.mark.parametrize("change,words", [(sign, "differ"), (channel, "differ")])
def test_float(tmp_path, rules, change, words):
    first = second = tmp_path / "a.onnx"
    onnx.save(network(), first)
    if rules:
        second = tmp_path / "b.onnx"
        assert run(tmp_path, "--rules", rules, first, "-o", second, "-q")[0] == 0
    names = weights_of(second, {TensorProto.FLOAT})
    assert len(names) >= 6
    for seed, name in enumerate(names):
        spoil(second, tmp_path / "c.onnx", name, change, seed)
        args = ["--bisect", first, tmp_path / "c.onnx"] + (["--rules", rules] if rules else [])
        code, out, err = run(tmp_path, "verify", *args)
        assert code == 1, (name, out, err)
        assert f"constant `{name}`" in out and words in out, (name, out)
        assert out.count("constant `") == 1, out


@pytest.mark.parametrize("rules", [None, "ezkl_dequant", "qdq_to_qop", "deeploy"])
def test_quantized(tmp_path, rules):
    second = QDQ
    if rules:
        second = tmp_path / "b.onnx"
        assert run(tmp_path, "--rules", rules, QDQ, "-o", second, "-q")[0] == 0
    floats = rules in ("ezkl_dequant", "deeploy")  # Deeploy's integers are floats
    kinds = {TensorProto.FLOAT} if floats else {TensorProto.INT8, TensorProto.UINT8}
    for seed, name in enumerate(weights_of(second, kinds)):
        for change in (sign, channel, step) if floats else (step,):
            spoil(second, tmp_path / "c.onnx", name, change, seed)
            args = ["--bisect", QDQ, tmp_path / "c.onnx", "--tol", "exact"] if not rules else [
                "--bisect", QDQ, tmp_path / "c.onnx", "--rules", rules]
            code, out, err = run(tmp_path, "verify", *args)
            if code == 0 and change is step:
                continue  # one step of one weight that rounding hides
            assert code == 1, (name, change, out, err)
            assert f"constant `{name}`" in out, (name, change, out)


def test_constant_node(tmp_path):
    """The constant is a node of the graph: who reads it is named, and the constant."""
    for name, bias in ("a.onnx", 0.5), ("b.onnx", 0.75):
        model = onnx.parser.parse_model(f"""<ir_version: 8, opset_import: ["": 17]> g (float[N, 4] x) => (float[N, 4] y) {{
            b = Constant<value = float[1] {{{bias}}}>()
            r = Relu(x)
            s = Add(r, b)
            y = Sigmoid(s)
        }}""")
        onnx.save(model, tmp_path / name)
    code, out, _ = run(tmp_path, "verify", "--bisect", "a.onnx", "b.onnx")
    assert code == 1 and "the models differ from Add `s` on" in out and "constant `b`: 1 of 1 elements differ" in out, out


def test_operator(tmp_path):
    """No constant is wrong: an attribute is."""
    onnx.save(network(), tmp_path / "a.onnx")
    model = network()
    next(n for n in model.graph.node if n.output[0] == "n2").attribute.append(helper.make_attribute("epsilon", 0.5))
    onnx.save(model, tmp_path / "b.onnx")
    code, out, _ = run(tmp_path, "verify", "--bisect", "a.onnx", "b.onnx")
    assert code == 1 and "the models differ from BatchNormalization `n2` on: no difference in front of it" in out
    assert "  attribute `epsilon`: 1e-5 and 0.5\n" in out, out


def test_default_is_no_other_attribute(tmp_path):
    """What one model says and the other leaves at its default is the same."""
    onnx.save(network(), tmp_path / "a.onnx")
    model = network()
    next(n for n in model.graph.node if n.output[0] == "c2").attribute.append(helper.make_attribute("group", 1))
    next(t for t in model.graph.initializer if t.name == "w2").raw_data = (
        numpy_helper.to_array(next(t for t in model.graph.initializer if t.name == "w2")) * np.float32(1.5)).tobytes()
    onnx.save(model, tmp_path / "b.onnx")
    code, out, _ = run(tmp_path, "verify", "--bisect", "a.onnx", "b.onnx")
    assert code == 1 and "the models differ from Conv `c2` on" in out and "attribute" not in out, out


def test_unseen(tmp_path):
    """A weight behind a Relu that is never positive: no sample shows it, and it is named nevertheless."""
    for name, weight in ("a.onnx", 0.5), ("b.onnx", 0.75):
        model = onnx.parser.parse_model(f"""<ir_version: 8, opset_import: ["": 17]> g (float[N, 4] x) => (float[N, 4] y)
            <float[1] w = {{{weight}}}> {{
            a = Abs(x)
            n = Neg(a)
            r = Relu(n)
            t = Mul(r, w)
            y = Add(t, x)
        }}""")
        onnx.save(model, tmp_path / name)
    code, out, _ = run(tmp_path, "verify", "--bisect", "a.onnx", "b.onnx")
    assert code == 0 and "the models do not differ on these samples, but in what they are made of\nMul `t`\n  constant `w`" in out, out


def renamed(model):
    """The same under names that tell nothing."""
    kept = {v.name for v in [*model.graph.input, *model.graph.output]}
    for node in model.graph.node:
        node.name = ""
        for names in node.input, node.output:
            names[:] = [n if n in kept else f"other_{n[::-1]}" for n in names]
    for tensor in model.graph.initializer:
        tensor.name = f"other_{tensor.name[::-1]}"
    return model


@pytest.mark.parametrize("output,op", [("r1", "LeakyRelu"), ("p", "GlobalMaxPool"), ("s", "Sub")])
def test_operator_without_a_name(tmp_path, output, op):
    """Another operator, and no name says which node it stands for: it is named, not the one behind it."""
    onnx.save(network(), tmp_path / "a.onnx")
    model = network()
    node = next(n for n in model.graph.node if n.output[0] == output)
    first, node.op_type = node.op_type, op
    onnx.save(renamed(model), tmp_path / "b.onnx")
    code, out, _ = run(tmp_path, "verify", "--bisect", "a.onnx", "b.onnx")
    assert code == 1 and f"the models differ from {op} `other_{output[::-1]}` on: no difference in front of it" in out, out
    assert f"  in the first model: {first} `{output}`\n" in out, out


def test_same_under_other_names(tmp_path):
    onnx.save(network(), tmp_path / "a.onnx")
    onnx.save(renamed(network()), tmp_path / "b.onnx")
    code, out, _ = run(tmp_path, "verify", "--bisect", "a.onnx", "b.onnx")
    assert code == 0 and out.startswith("the models do not differ on these samples\n"), out


@pytest.mark.parametrize("old,new,words", [
    ("Relu(n)", "LeakyRelu<alpha = 0.0>(n)", "LeakyRelu `r`\n  in the first model: Relu `r`"),
    ("Max(r, a)", "Max(a, r)", "Max `m`\n  input 0: `r` and `a`"),
])
def test_unseen_operator(tmp_path, old, new, words):
    """Other nodes that no sample shows are told, too."""
    text = """<ir_version: 8, opset_import: ["": 17]> g (float[N, 4] x) => (float[N, 4] y) {
        a = Abs(x)
        n = Neg(a)
        r = Relu(n)
        m = Max(r, a)
        y = Sin(m)
    }"""
    onnx.save(onnx.parser.parse_model(text), tmp_path / "a.onnx")
    onnx.save(onnx.parser.parse_model(text.replace(old, new)), tmp_path / "b.onnx")
    code, out, _ = run(tmp_path, "verify", "--bisect", "a.onnx", "b.onnx")
    assert code == 0 and "the models do not differ on these samples, but in what they are made of\n" + words in out, out


@pytest.mark.parametrize("change,words", [(1 + 1e-3, "1 of 65536 elements differ"), (1 + 2e-7, "1 of 65536 elements differ")])
def test_one_element_of_many(tmp_path, change, words):
    """It does not drown in the others; to the bit, if that is what makes the difference."""
    text = """<ir_version: 8, opset_import: ["": 17]> g (float[1, 256] x) => (float[1, 256] y) { y = MatMul(x, w) }"""
    w = np.random.default_rng(0).standard_normal((256, 256)).astype(np.float32)
    for name in "ab":
        model = onnx.parser.parse_model(text)
        model.graph.initializer.append(numpy_helper.from_array(w, "w"))
        onnx.save(model, tmp_path / f"{name}.onnx")
        w[3, 5] *= np.float32(change)
    code, out, _ = run(tmp_path, "verify", "--bisect", "--tol", "exact", "a.onnx", "b.onnx")
    assert code == 1 and "the models differ from MatMul `y` on" in out and words in out and "most at [3, 5]" in out, out


def test_output_that_is_a_constant(tmp_path):
    for name, number in ("a", 2), ("b", 3):
        onnx.save(onnx.parser.parse_model(f"""<ir_version: 8, opset_import: ["": 17]> g (float[4] x) => (float[4] y, float[2] k)
            <float[2] k = {{1, {number}}}> {{ y = Neg(x) }}"""), tmp_path / f"{name}.onnx")
    code, out, _ = run(tmp_path, "verify", "--bisect", "a.onnx", "b.onnx")
    assert code == 1 and "the models differ from output `k` on" in out and "constant `k`: 1 of 2 elements differ\n    most at [1]: 2 and 3" in out, out


def test_several_outputs(tmp_path):
    """The sample that is looked at, and saved, is one in which the output differs that diverges; another output has its largest rounding elsewhere."""
    for name, k, j in ("a", 2, 1), ("b", 3, 1.000001):
        onnx.save(onnx.parser.parse_model(f"""<ir_version: 8, opset_import: ["": 17]> g (float[8, 4] x) => (float[8, 4] y, float[8, 4] z)
            <float k = {{{k}}}, float j = {{{j}}}, float many = {{4}}, float zero = {{0}}> {{
            a = Abs(x)
            most = ReduceMax<keepdims = 0>(a)
            few = Less(most, many)
            s = Where(few, x, zero)
            y = Mul(s, k)
            t = Mul(x, j)
            z = Exp(t)
        }}"""), tmp_path / f"{name}.onnx")
    code, out, _ = run(tmp_path, "verify", "--bisect", "--save-repro", "repro", "a.onnx", "b.onnx")
    assert code == 1 and "y       DIVERGED" in out and "z       WITHIN" in out, out
    assert "the models differ from Mul `y` on" in out and "constant `k`" in out, out
    x, y = (numpy_helper.to_array(onnx.load_tensor(str(tmp_path / "repro" / "test_data_set_0" / f))) for f in ("input_0.pb", "output_0.pb"))
    assert np.any(y) and np.array_equal(y, 2 * x)


BODIES = """<ir_version: 8, opset_import: ["": 17, "own": 1]> g (float[3, 4] x) => (float[3, 4] y)
    <float[1] outer = {OUTER}, int64 three = {3}, bool go = {1}> {
    a = UPSTREAM(x)
    total = ReduceSum<keepdims = 0>(x)
    zero = Constant<value = float {0}>()
    up = Greater(total, zero)
    branched = If(up) <
        then_branch = thens () => (float[3, 4] t) <float[4] w = {1, 2, THEN, 4}> { m = Mul(a, w)  t = ACTIVATION(m) },
        else_branch = elses () => (float[3, 4] e) { k = Constant<value = float[1] {ELSE}>()  n = Add(a, k)  e = LeakyRelu<alpha = ALPHA>(n) }>
    looped = Loop(three, go, branched) <
        body = turns (int64 i, bool on, float[3, 4] s) => (bool on2, float[3, 4] s2) {
            on2 = Identity(on)
            p = Mul(s, outer)
            odd = Greater(i, three)
            d = If(odd) <
                then_branch = never () => (float[3, 4] f) <float[1] q = {NEVER}> { f = Mul(p, q) },
                else_branch = always () => (float[3, 4] h) <float[1] r = {INNER}> { h = Div(p, r) }>
            s2 = Sub(DIFFERENCE)
        }>
    fixed = If(up) <
        then_branch = ones () => (float[1] one) <float[1] one = {FIXED}> { },
        else_branch = twos () => (float[1] two) <float[1] two = {FIXED}> { }>
    called = own.Bend(looped)
    y = Add(called, fixed)
}
<domain: "own", opset_import: ["": 17]> Bend (u) => (v) {
    c = Constant<value = float[1] {FUNCTION}>()
    v = Pow(u, c)
}"""
SAME = {"OUTER": 0.5, "UPSTREAM": "Tanh", "THEN": 3, "ELSE": 0.25, "ALPHA": 0.1, "ACTIVATION": "Relu", "NEVER": 7, "INNER": 2,
        "DIFFERENCE": "s, d", "FIXED": 5, "FUNCTION": 3}


def with_bodies(path, **changed):
    text = BODIES
    for word, value in (SAME | changed).items():
        text = text.replace(word, str(value))
    onnx.save(onnx.parser.parse_model(text), path)


@pytest.mark.parametrize("changed,owner,inside", [
    ({"THEN": 4}, "If `branched`", "  Mul `m` in then_branch of If `branched`:\n    constant `w`: 1 of 4 elements differ\n      most at [2]: 3 and 4\n"),
    ({"ELSE": 0.75}, "If `branched`", "  Add `n` in else_branch of If `branched`:\n    constant `k`: 1 of 1 elements differ\n      most at [0]: 0.25 and 0.75\n"),
    ({"ALPHA": 0.9}, "If `branched`", "  LeakyRelu `e` in else_branch of If `branched`:\n    attribute `alpha`: 0.1 and 0.9\n"),
    ({"ACTIVATION": "Sigmoid"}, "If `branched`",
     "  Sigmoid `t` in then_branch of If `branched`:\n    in the first model: Relu `t` in then_branch of If `branched`\n"),
    ({"OUTER": 0.75}, "Loop `looped`", "  Mul `p` in body of Loop `looped`:\n    constant `outer`: 1 of 1 elements differ\n      most at [0]: 0.5 and 0.75\n"),
    ({"INNER": 3}, "Loop `looped`", "  Div `h` in else_branch of If `d`:\n    constant `r`: 1 of 1 elements differ\n      most at [0]: 2 and 3\n"),
    ({"DIFFERENCE": "d, s"}, "Loop `looped`", "  Sub `s2` in body of Loop `looped`:\n    input 0: `s` and `d`\n    input 1: `d` and `s`\n"),
    ({"DIFFERENCE": "s, p"}, "Loop `looped`", "  Sub `s2` in body of Loop `looped`:\n    input 1: `d` and `p`\n"),
    ({"FUNCTION": 5}, "own.Bend `called`", "  Pow `v` in function own.Bend:\n    constant `c`: 1 of 1 elements differ\n      most at [0]: 3 and 5\n"),
])
def test_in_bodies(tmp_path, changed, owner, inside):
    """The node that loses most runs bodies: the nodes inside them that are others are named."""
    with_bodies(tmp_path / "a.onnx")
    with_bodies(tmp_path / "b.onnx", **changed)
    code, out, err = run(tmp_path, "verify", "--bisect", "a.onnx", "b.onnx")
    assert code == 1, (out, err)
    first, rest = out.split("\n", 1)
    assert first.startswith(f"the models differ from {owner} on: no difference in front of it, "), out
    assert rest.startswith(inside + "output "), out


def test_branch_that_is_a_constant(tmp_path):
    """Branches without nodes: what they give is compared, of each of them."""
    with_bodies(tmp_path / "a.onnx")
    with_bodies(tmp_path / "b.onnx", FIXED=6)
    code, out, _ = run(tmp_path, "verify", "--bisect", "a.onnx", "b.onnx")
    assert code == 1 and out.startswith("the models differ from If `fixed` on: no difference in front of it"), out
    for branch, name in ("else", "two"), ("then", "one"):
        assert f"  {branch}_branch of If `fixed`:\n    constant `{name}`: 1 of 1 elements differ\n      most at [0]: 5 and 6\n" in out, out


def test_in_front_of_bodies(tmp_path):
    """What bodies read from outside is in front of the node that holds them: it is not to blame."""
    with_bodies(tmp_path / "a.onnx")
    with_bodies(tmp_path / "b.onnx", UPSTREAM="Sin")
    code, out, _ = run(tmp_path, "verify", "--bisect", "a.onnx", "b.onnx")
    assert code == 1 and out.startswith("the models differ from Sin `a` on: no difference in front of it"), out
    assert "  in the first model: Tanh `a`\noutput " in out, out


def test_unseen_in_bodies(tmp_path):
    """A branch that never runs."""
    with_bodies(tmp_path / "a.onnx")
    with_bodies(tmp_path / "b.onnx", NEVER=8)
    code, out, _ = run(tmp_path, "verify", "--bisect", "a.onnx", "b.onnx")
    assert code == 0 and out.startswith("the models do not differ on these samples, but in what they are made of\n"
                                        "Mul `f` in then_branch of If `d`\n  constant `q`: 1 of 1 elements differ\n"), out


def test_other_values(tmp_path):
    """A node of the main graph reads its inputs the other way round."""
    for name, order in ("a.onnx", "r, s"), ("b.onnx", "s, r"):
        onnx.save(onnx.parser.parse_model(f"""<ir_version: 8, opset_import: ["": 17]> g (float[N, 4] x) => (float[N, 4] y) {{
            r = Relu(x)
            s = Sin(x)
            y = Sub({order})
        }}"""), tmp_path / name)
    code, out, _ = run(tmp_path, "verify", "--bisect", "a.onnx", "b.onnx")
    assert code == 1 and out.startswith("the models differ from Sub `y` on: no difference in front of it"), out
    assert "  input 0: `r` and `s`\n  input 1: `s` and `r`\noutput " in out, out


def test_nothing(tmp_path):
    onnx.save(network(), tmp_path / "a.onnx")
    code, out, _ = run(tmp_path, "verify", "--bisect", "a.onnx", "a.onnx")
    assert code == 0 and out.startswith("the models do not differ on these samples\n") and "EXACT" in out
    code, out, _ = run(tmp_path, "verify", "--bisect", "--rules", "optimize", "a.onnx", "a.onnx")
    assert code == 0 and out.startswith("none of ") and "the models differ within the tolerance on these samples\n" in out


def model_of(nodes, constants, shape=(2, 2, 3)):
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], [numpy_helper.from_array(v, n) for n, v in constants.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def test_another_shape(tmp_path):
    """An axis that makes another shape, at the output and in front of a node that makes it equal again."""
    for last in ([], [helper.make_node("Reshape", ["c", "flat"], ["y"])]):
        for name, axis in (("a", 1), ("b", 2)):
            nodes = [helper.make_node("Relu", ["x"], ["r"]), helper.make_node("Concat", ["r", "x"], ["c" if last else "y"], name="joined", axis=axis), *last]
            onnx.save(model_of(nodes, {"flat": np.array([-1], np.int64)}), tmp_path / f"{name}.onnx")
        code, out, err = run(tmp_path, "verify", "--bisect", "a.onnx", "b.onnx")
        assert code == 1, (out, err)
        assert "the models differ from Concat `joined` on" in out and "attribute `axis`: 1 and 2" in out, out
        assert last or "  shapes [2, 4, 3] and [2, 2, 6]" in out, out


def test_a_rule_that_makes_another_shape(tmp_path):
    (tmp_path / "wrong.yaml").write_text("qrewrite: 1\nname: wrong\nrules:\n"
                                         "  - {name: fine, match: y = Neg(Neg(x)), replace: y = x}\n"
                                         "  - {name: wide, match: 'y = Concat<axis=1>(x, z)', replace: 'y = Concat<axis=2>(x, z)'}\n")
    nodes = [helper.make_node("Neg", ["x"], ["m"]), helper.make_node("Neg", ["m"], ["r"]), helper.make_node("Concat", ["r", "x"], ["y"], axis=1)]
    onnx.save(model_of(nodes, {}, ("N", "M", "K")), tmp_path / "a.onnx")
    code, out, err = run(tmp_path, "verify", "--bisect", "--rules", "wrong.yaml", "a.onnx")
    assert code == 1 and "rule `wide` of wrong" in out, (out, err)


def test_weights_that_callers_may_override(tmp_path):
    """Initializers that are inputs as well, as older exporters write them."""
    for name, factor in (("a", 1), ("b", 2)):
        weight = np.arange(6, dtype=np.float32).reshape(2, 3) + 1
        weight[1, 2] *= factor
        model = model_of([helper.make_node("Div", ["w", "s"], ["q"], name="scaled"), helper.make_node("Mul", ["x", "q"], ["y"])],
                         {"w": weight, "s": np.array(0.5, np.float32)}, (2, 3))
        model.graph.input.append(helper.make_tensor_value_info("w", TensorProto.FLOAT, [2, 3]))
        onnx.save(model, tmp_path / f"{name}.onnx")
    code, out, err = run(tmp_path, "verify", "--bisect", "a.onnx", "b.onnx")
    assert code == 1 and "constant `w`: 1 of 6 elements differ" in out, (out, err)


def test_inputs_of_another_type(tmp_path):
    """The second model takes the same numbers as floats: inside of it, too, and in what --save-repro writes."""
    header = '<ir_version: 8, opset_import: ["": 17]>\n'
    first = "g (uint8[2, 3] x, float[2, 3] unused) => (float[2, 3] y) <float[3] w = {1, 2, 3}> { f = Cast<to = 1>(x)  a = Mul(f, w)  y = Neg(a) }"
    second = "g (float[2, 3] x) => (float[2, 3] y) <float[3] w = {1, 2, 4}> { f = Identity(x)  a = Mul(f, w)  y = Neg(a) }"
    for name, text in (("first", first), ("second", second)):
        onnx.save(onnx.parser.parse_model(header + text), tmp_path / f"{name}.onnx")
    for runtime in ("ort", "builtin"):
        code, out, err = run(tmp_path, "verify", "--bisect", "--runtime", runtime, "--save-repro", "repro", "first.onnx", "second.onnx")
        assert code == 1 and "the models differ from Mul `a` on" in out and "constant `w`: 1 of 3 elements differ" in out, out + err
    given = sorted((tmp_path / "repro" / "test_data_set_0").glob("input_*.pb"))
    assert [numpy_helper.to_array(onnx.load_tensor(str(g))).dtype for g in given] == [np.float32]
