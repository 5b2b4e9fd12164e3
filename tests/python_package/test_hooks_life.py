"""How long functions in Python live, and what they keep; and interrupts in them."""
import gc
import weakref

import numpy as np
import pytest
from conftest import parse
from test_hooks import MODEL, TWICE, done, fold, functions, run  # noqa: F401 (a fixture)

import qrewrite
from qrewrite import Functions, Rules


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("what", ["test", "find", "explain", "explain at", "prove"])
def test_interrupts_where_a_fault_of_a_function_is_told_in_words(functions, what, error):
    """What goes on behind a fault ends with an interrupt, also behind one that it has told of."""
    calls = []

    @functions.predicate
    def hostile(w):
        calls.append(w)
        if len(calls) > first:
            raise error
        raise ValueError("told")

    asked = {"match": "y = Mul(x, w)", "where": ["hostile(w)"], "replace": "y = Mul(w, x)"}
    test = {"given": "x: float[2]\ny = Mul(x, 3.0)", "expect": "unchanged"}
    rules = [{"name": name, "equivalence": "exact", **asked, "tests": [{"name": "t", **test}]} for name in ("one", "two")]
    rules = Rules.from_dict({"rules": rules}, functions=functions)
    first = 1 if what in ("test", "prove") else 0  # the others end at the first fault
    act = {"test": rules.test, "find": lambda: qrewrite.find(MODEL, rules), "explain": lambda: qrewrite.explain(MODEL, rules),
           "explain at": lambda: qrewrite.explain(MODEL, rules, at="y"), "prove": lambda: rules.prove(graphs=5, runtime="builtin")}[what]
    with pytest.raises(error):
        act()
    assert len(calls) == first + 1  # no further function is called


def test_what_a_function_keeps_stays(functions):
    """Arguments that live longer than the call, the run, the rules and the model."""
    kept = []
    functions.function(name="keep")(lambda w: kept.append(w) or w)
    run(functions, fold("keep(w)"), model=qrewrite.Model.parse(MODEL.SerializeToString()))
    functions.clear()
    gc.collect()
    noise = [np.random.default_rng(i).random(4, np.float32) for i in range(1000)]
    assert np.array_equal(kept[0], [[1, 2], [3, 4]]) and np.array_equal(kept[1], np.ones((2, 2))) and len(noise) == 1000


@pytest.mark.parametrize("kind", ["function", "predicate", "operator"])
def test_who_has_rules_with_its_own_methods_is_collected(kind):
    """A converter has rules that call its methods, which have the converter."""
    class Converter:
        def __init__(self):
            functions = Functions()
            getattr(functions, kind)(self.call, name="Half" if kind == "operator" else "half")
            self.rules = Rules.from_dict({"rules": [TWICE]}, functions=functions)

        def call(self, w):
            return w

    converter = Converter()
    assert qrewrite.rewrite(MODEL, converter.rules)[1].rewrites == 1
    gone = weakref.ref(converter)
    del converter
    gc.collect()
    assert gone() is None


def test_functions_live_as_long_as_their_rules():
    """Where nobody else has them."""
    rules = Rules.from_dict({"rules": [fold("plus_two(w)")]}, functions={"plus_two": lambda w: w + 2})
    gc.collect()
    assert np.array_equal(done(qrewrite.rewrite(MODEL, rules)[0])[0], [[3, 4], [5, 6]])
    inner = parse("g (float[2] x) => (float[2] y) { y = acme.Half(x) }")
    functions = Functions()
    functions.operator(lambda x: x / np.float32(2), name="Half", domain="acme")
    from qrewrite import _core, _verify
    kernels = _verify.evaluator("builtin", functions)
    functions.clear()
    gc.collect()
    result = _core.run(qrewrite.Model.parse(inner.SerializeToString())._core, kernels, _verify._given("x", {"x": np.ones(2, np.float32)}), [])
    assert _verify._arrays(result)["y"].tolist() == [0.5, 0.5]


@pytest.mark.parametrize("answer", [True, np.bool_(True), np.array(True)])
def test_a_function_that_gives_a_bool_is_told_of(functions, answer):
    """It looks like what a predicate says, but it was to be a constant of the graph."""
    functions.function(name="weight")(lambda w: answer)
    _, report = run(functions, {"name": "typed", "match": "y = Mul(x, w)", "let": {"v": "weight(w)"}, "replace": "y = Add(x, v)"})
    (warning,) = report.warnings
    assert report.rewrites == 0 and warning.notes == ["`weight` gave BOOL[]"]
    assert warning.text == "fits here, but its replacement does not: input B of Add cannot be BOOL at this opset"
