"""Operators in Python: what they take the place of, and that they make what their node has."""
import numpy as np
import onnx
import pytest
from conftest import parse
from onnx import helper, numpy_helper

import qrewrite
from qrewrite import Functions, Rules


@pytest.fixture
def functions():
    return Functions()


OWN = parse("""g (float[2] x) => (float[2] y, float[2] z) <float[2] w = {1, 2}> {
  a = acme.Scaled<by = 3.0>(x)  y = Add(a, w)  z = Neg(x)
}""")


def test_the_built_in_kernels_run_operators_too(functions):
    """So that what a converter makes of a model can be compared with it."""
    x = {"x": np.float32([1, 2])}
    with pytest.raises(qrewrite.Unsupported, match="acme.Scaled"):
        qrewrite.run(OWN, x, runtime="builtin")
    functions.operator(name="Scaled", domain="acme")(lambda x, *, by: x * np.float32(by))
    functions.operator(name="Neg")(lambda x: x - 1)  # takes the place of the library's
    got = qrewrite.run(OWN, x, runtime="builtin", functions=functions, observe=["a"])
    assert np.array_equal(got["a"], [3, 6]) and np.array_equal(got["y"], [4, 8]) and np.array_equal(got["z"], [0, 1])
    plain = parse("g (float[2] x) => (float[2] y, float[2] z) <float[2] w = {1, 2}, float t = {3}> { a = Mul(x, t)  y = Add(a, w)  z = Neg(x) }")
    functions.operator(name="Neg")(np.negative)
    assert qrewrite.verify(plain, OWN, runtime="builtin", functions=functions, tolerance="exact")
    functions.operator(name="Scaled", domain="acme")(lambda x, *, by: x)
    assert not qrewrite.verify(plain, OWN, runtime="builtin", functions=functions, tolerance="exact")

    @functions.operator(name="Scaled", domain="acme")
    def raises(x, *, by):
        raise LookupError("lost")
    with pytest.raises(qrewrite.CallbackError, match="lost") as raised:
        qrewrite.run(OWN, x, runtime="builtin", functions=functions)
    assert type(raised.value.__cause__) is LookupError


@pytest.mark.parametrize("attribute", [
    helper.make_attribute("x", [numpy_helper.from_array(np.float32([1])), numpy_helper.from_array(np.float32([2]))]),
    helper.make_attribute("x", numpy_helper.from_array(np.array(["a"], object))),
    helper.make_attribute("x", onnx.SparseTensorProto(values=numpy_helper.from_array(np.float32([1])), indices=numpy_helper.from_array(np.array([0])), dims=[2])),
], ids=["tensors", "texts", "sparse"])
def test_an_operator_with_what_cannot_be_given_is_not_computed(functions, attribute):
    """It would take its default for it."""
    functions.operator(lambda w, x=None: w, name="Op", domain="acme")
    model = parse("g () => (float[2] y) <float[2] w = {1, 2}> { y = acme.Op(w) }")
    rules = Rules.from_dict({"phases": [{"name": "fold", "fold": "all"}], "rules": []}, functions=functions)
    assert qrewrite.rewrite(model, rules)[1].folded == 1
    model.graph.node[0].attribute.append(attribute)
    assert qrewrite.rewrite(model, rules)[1].folded == 0
    with pytest.raises(qrewrite.Unsupported, match="acme.Op `y`: functions of the host do not see what its attribute `x` is"):
        qrewrite.run(model, {}, runtime="builtin", functions=functions)


@pytest.mark.parametrize("call", ["run", "verify"])
def test_an_operator_of_another_type_does_not_run(functions, call):
    functions.operator(lambda x: np.float64(2) * x.astype(np.float64), name="Twice", domain="acme")
    model = parse("g (float[2] x) => (float[2] y) <float[2] t> { t = acme.Twice(x)  y = Neg(t) }")
    with pytest.raises(qrewrite.CallbackError, match=r"operator `Twice` of the host made double\[2\] for `t`, which is float\[2\]"):
        if call == "run":
            qrewrite.run(model, {"x": np.ones(2, np.float32)}, runtime="builtin", functions=functions)
        else:
            qrewrite.verify(model, model, runtime="builtin", functions=functions)


def test_an_operator_of_another_shape_does_not_run(functions):
    functions.operator(lambda x: np.zeros(5, np.float32), name="Twice", domain="acme")
    one = parse("g (float[2] x) => (float[2] y) { y = acme.Twice(x) }")
    with pytest.raises(qrewrite.CallbackError, match=r"operator `Twice` of the host made float\[5\] for `y`, which is float\[2\]"):
        qrewrite.run(one, {"x": np.ones(2, np.float32)}, runtime="builtin", functions=functions)
    unknown = parse("g (float[N] x) => (float[M] y) <float[2] u> { t = Neg(x)  u = acme.Twice(t)  y = Neg(u) }")  # `u` may be of another run
    assert qrewrite.run(unknown, {"x": np.ones(5, np.float32)}, runtime="builtin", functions=functions)["y"].shape == (5,)


def test_operator_with_several_outputs(functions):
    @functions.operator(name="Split")
    def split(x, sizes=None, *, axis=0, num_outputs=None):
        return np.split(x, 2, axis)

    model = parse("g () => (float[1, 2] y) <float[2, 2] w = {1, 2, 3, 4}> { a, b = Split <axis = 0, num_outputs = 2> (w)  y = Neg(b) }")
    model.opset_import[0].version = 18
    rules = Rules.from_dict({"phases": [{"name": "fold", "fold": "all"}], "rules": []}, functions=functions)
    folded, report = qrewrite.rewrite(model, rules)
    assert report.folded == 2 and len(folded.graph.node) == 0


@pytest.mark.parametrize("made,shape", [
    (lambda w: [w], (2,)), (lambda w: (w,), (2,)), (lambda w: [1.0, 2.0], (2,)), (lambda w: list(w), (2,)), (lambda w: [[1.0], [2.0]], (2, 1)),
    (lambda w: (w, w), "operator Op returned 2 outputs, not 1"), (lambda w: (), "operator Op returned 0 outputs, not 1"), (lambda w: [w, None], "operator Op returned 2 outputs, not 1"),
])
def test_arrays_in_a_list_are_outputs(functions, made, shape):
    """Also of an operator that has one; they became one array, with an axis more."""
    functions.operator(name="Op", domain="acme")(made)
    model = parse("g (float[2] x) => (float[n, m] y) <float[2] w = {1, 2}> { z = acme.Op(w)  y = acme.Other(x, z) }")
    rules = Rules.from_dict({"phases": [{"name": "fold", "fold": "all"}], "rules": []}, functions=functions)
    if isinstance(shape, str):
        with pytest.raises(qrewrite.CallbackError, match=shape):
            qrewrite.rewrite(qrewrite.Model.parse(model.SerializeToString()), rules)
    else:
        folded, _ = qrewrite.rewrite(qrewrite.Model.parse(model.SerializeToString()), rules)
        assert [tuple(c.shape) for c in folded.constants.values()] == [shape]


@pytest.mark.parametrize("made,said", [
    (lambda x: np.split(x.astype(np.float64), 2), r"operator `Split` of the host made double\[1, 2\] for `a`, which is float\[1, 2\]"),
    (lambda x: [x, x], r"made float\[2, 2\] for `a`, which is float\[1, 2\]"),
    (lambda x: [1, 2], r"made int64 for `a`, which is float\[1, 2\]"),
    (lambda x: [x[:1]], "returned 1 outputs, not 2"),
])
def test_an_operator_makes_what_its_node_has(functions, made, said):
    functions.operator(name="Split")(lambda x, **attributes: made(x))
    model = parse("g () => (float[1, 2] y) <float[2, 2] w = {1, 2, 3, 4}> { a, b = Split <axis = 0, num_outputs = 2> (w)  y = Add(a, b) }")
    model.opset_import[0].version = 18
    rules = Rules.from_dict({"phases": [{"name": "fold", "fold": "all"}], "rules": []}, functions=functions)
    with pytest.raises(qrewrite.CallbackError, match=said):
        qrewrite.rewrite(model, rules)


@pytest.mark.parametrize("made", [lambda x: x.sum(), lambda x: (x.sum(),), lambda x: np.asarray(x.sum()), lambda x: (np.asarray(x.sum()),)])
def test_one_number_alone_has_no_axes(functions, made):
    functions.operator(name="Total", domain="acme")(made)
    model = parse("g (float x) => (y) <float[2] w = {1, 2}> { t = acme.Total(w)  y = Add(x, t) }")
    rules = Rules.from_dict({"phases": [{"name": "fold", "fold": "all"}], "rules": []}, functions=functions)
    (made_one,) = qrewrite.Model.of(qrewrite.rewrite(model, rules)[0]).constants.values()
    assert made_one.shape == () and made_one.numpy() == 3


def test_an_operator_of_a_domain_makes_what_the_model_declares(functions):
    model = parse("g () => (float[2] y) <float[2] w = {1, 2}> { y = acme.Half(w) }")
    rules = {"phases": [{"name": "fold", "fold": "all"}], "rules": []}
    functions.operator(name="Half", domain="acme")(lambda x: x / np.float32(2))
    folded, _ = qrewrite.rewrite(model, Rules.from_dict(rules, functions=functions))
    assert numpy_helper.to_array(folded.graph.initializer[0]).tolist() == [0.5, 1]
    functions.operator(name="Half", domain="acme")(lambda x: x.astype(np.float64) / 2)
    with pytest.raises(qrewrite.CallbackError, match=r"made double\[2\] for `y`, which is float\[2\]"):
        qrewrite.rewrite(model, Rules.from_dict(rules, functions=functions))
