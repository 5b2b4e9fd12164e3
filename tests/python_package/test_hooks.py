"""Functions in Python that rules call: what they get, and what becomes of a run when they misbehave."""
import functools

import numpy as np
import onnx
import pytest
from conftest import parse
from onnx import numpy_helper

import qrewrite
from qrewrite import Functions, Rules

MODEL = parse("""g (float[2, 2] x) => (float[2, 2] y) <float[2, 2] w = {1, 2, 3, 4}, float[2, 2] v = {1, 1, 1, 1}> {
  a = Relu(x)  b = Relu(a)  c = Mul(b, w)  y = Mul(c, v)
}""")
TWICE = {"name": "relu-of-relu", "match": "y = Relu(Relu(x))", "replace": "y = Relu(x)"}


def fold(call):
    return {"name": "fold", "match": "y = Mul(x, w)", "let": {"f": call}, "replace": "y = acme.Done(x, f)"}


def run(functions, *rules, model=MODEL):
    return qrewrite.rewrite(model, Rules.from_dict({"rules": list(rules)}, functions=functions))


def done(model):
    """What the rule `fold` computed, in the order of the nodes."""
    constants = {i.name: numpy_helper.to_array(i) for i in model.graph.initializer}
    return [constants[n.input[1]] for n in model.graph.node if n.op_type == "Done"]


@pytest.fixture
def functions():
    return Functions()


def test_a_function_gets_arrays_and_gives_one(functions):
    seen = []

    @functions.function
    def scaled(w, by):
        seen.append((w.dtype, w.shape, w.flags.writeable, by.shape))
        return w * by.astype(w.dtype)

    model, report = run(functions, fold("scaled(w, 3)"))
    assert np.array_equal(done(model)[0], [[3, 6], [9, 12]]) and report.rewrites == 2
    assert seen[0] == (np.float32, (2, 2), False, ())


@pytest.mark.parametrize("value,expected", [
    (2.5, np.float32(2.5)), (3, np.int64(3)), (True, np.bool_(True)), ([1, 2], np.int64([1, 2])), ([1.5, 2], np.float32([1.5, 2])),
    (np.float64(2), np.float64(2)), (np.int8([[1]]), np.int8([[1]])), (np.arange(4.0)[::2], np.float64([0, 2])),
    (np.zeros((0, 3), np.float32), np.zeros((0, 3), np.float32)), (np.array([1, 2], ">i4"), np.int32([1, 2])),
    ([np.float64(1), np.float64(2)], np.float64([1, 2])), ([np.int8([1]), np.int8([2])], np.int8([[1], [2]])), (np.array(3.0), np.array(3.0)),
    (np.broadcast_to(np.float32(1), (2, 3)), np.ones((2, 3), np.float32)), (np.asfortranarray([[1, 2], [3, 4]]), np.int64([[1, 2], [3, 4]])),
    (np.uint64(2**64 - 1), np.uint64(2**64 - 1)), (-2**63, np.int64(-2**63)), (memoryview(b"ab"), np.uint8([97, 98])), ([], np.zeros(0, np.float32)),
])
def test_what_a_function_may_return(functions, value, expected):
    functions.function(name="made")(lambda w: value)
    result = done(run(functions, fold("made(w)"))[0])[0]
    assert result.dtype == expected.dtype and result.shape == expected.shape and np.array_equal(result, expected)


@pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3fn", "float8_e5m2", "int4", "uint4", "float4_e2m1fn"])
def test_types_of_ml_dtypes(functions, name):
    import ml_dtypes
    dtype = np.dtype(getattr(ml_dtypes, name))
    functions.function(name="made")(lambda w: w.astype(dtype))
    result = done(run(functions, fold("made(w)"))[0])[0]
    assert result.dtype == dtype and result.astype(np.float32).tolist() == [[1, 2], [3, 4]]


def test_its_own_argument_may_be_returned(functions):
    functions.function(name="same")(lambda w: w)
    assert np.array_equal(done(run(functions, fold("same(w)"))[0])[0], [[1, 2], [3, 4]])


def test_arrays_that_are_changed_afterwards_do_not_concern_the_model(functions):
    shared = np.ones((2, 2), np.float32)

    @functions.function
    def shared_one(w):
        shared[:] = w
        return shared

    first, second = done(run(functions, fold("shared_one(w)"))[0])
    assert np.array_equal(first, [[1, 2], [3, 4]]) and np.array_equal(second, np.ones((2, 2)))


def test_a_read_only_view_of_memory_that_changes(functions):
    memory = bytearray(np.ones(4, np.float32))
    functions.function(name="view")(lambda w: np.frombuffer(memoryview(memory).toreadonly(), np.float32))
    model, _ = run(functions, fold("view(w)"), model=qrewrite.Model.of(MODEL))
    memory[:] = bytes(16)
    made = [constant.numpy() for constant in model.constants.values() if constant.shape == (4,)]
    assert made and all((array == 1).all() for array in made)


def test_predicates(functions):
    functions.predicate(name="is_one")(lambda w: bool((w == 1).all()))
    rule = {"name": "one", "match": "y = Mul(x, w)", "where": "is_one(w)", "replace": "y = Identity(x)"}
    model, report = run(functions, rule)
    assert [n.op_type for n in model.graph.node] == ["Relu", "Relu", "Mul", "Identity"] and report.rewrites == 1
    functions.predicate(name="is_one")(lambda w: (w == 1).all())  # numpy's bool is one
    assert run(functions, rule)[1].rewrites == 1
    functions.predicate(name="is_one")(lambda w: np.array((w == 1).all()))
    assert run(functions, rule)[1].rewrites == 1
    functions.predicate(name="is_one")(lambda w: w == 1)
    with pytest.raises(qrewrite.CallbackError, match=r"what is_one returned is ndarray, not a bool; \.all\(\) or"):
        run(functions, rule)
    functions.predicate(name="is_one")(lambda w: 1)
    with pytest.raises(qrewrite.CallbackError, match="what is_one returned is int, not a bool\n  note: rule `one` at Mul `c`$"):
        run(functions, rule)


def test_operators_replace_those_of_the_library_and_add_new_ones(functions):
    @functions.operator(name="Half", domain="acme")
    def half(x, *, by=2.0):
        return x / np.float32(by)

    @functions.operator
    def Sqrt(x):
        return np.full_like(x, 7)

    assert list(functions) == ["Sqrt", "acme.Half"]
    result = done(run(functions, fold("acme.Half<by=4.0>(Sqrt(w))"))[0])[0]
    assert np.array_equal(result, np.full((2, 2), 1.75, np.float32))


class Broken:
    def __array__(self, *args, **kwargs):
        raise RuntimeError("not today")


def raises(w):
    raise ValueError("no good: \N{SNOWMAN}")


def hostile_again(w):
    return hostile_again(w)


class FailsInWords(Exception):
    def __str__(self):
        raise RuntimeError("not even this")


def raise_(error):
    raise error


HOSTILE = {
    "raises": (raises, ValueError, "function `hostile` of the host threw an exception: ValueError: no good: "),
    "none": (lambda w: None, TypeError, "what hostile returned is NoneType"),
    "text": (lambda w: "four", TypeError, "what hostile returned is str"),
    "objects": (lambda w: np.array([object()]), TypeError, "for which ONNX has no type"),
    "masked": (lambda w: np.ma.masked_array(w, w > 1), TypeError, "a masked array"),
    "structured": (lambda w: np.zeros(2, [("a", "f4")]), TypeError, "for which ONNX has no type"),
    "changes its argument": (lambda w: w.__setitem__(0, 1), ValueError, "read-only"),
    "endless": (lambda w: hostile_again(w), RecursionError, "recursion"),
    "ragged": (lambda w: [[1], [2, 3]], TypeError, "what hostile returned is a list of 2, which are no array together; it is one tensor that is asked for"),
    "two results": (lambda w: (w, np.float32(1)), TypeError, "what hostile returned is a tuple of 2, which are no array together"),
    "beyond int64": (lambda w: 2**63, TypeError, "holds a number beyond int64"),
    "far beyond": (lambda w: 10**30, TypeError, "what hostile returned is int, not an array or a number that fits into int64"),
    "far beyond in a list": (lambda w: [[1], [-10**30]], TypeError, "what hostile returned is list, not an array or a number that fits into int64"),
    "a set": (lambda w: {1, 2}, TypeError, "what hostile returned is set, not an array or a number\n"),
    "a message of onnx": (lambda w: onnx.numpy_helper.from_array(np.ones(2)), TypeError,
                          "what hostile returned is TensorProto, not an array or a number; onnx.numpy_helper.to_array() makes one of it"),
    "beyond float": (lambda w: [1e300], TypeError, "what hostile returned holds a number beyond float (32 bit)"),
    "generator": (lambda w: (i for i in [1, 2]), TypeError, "what hostile returned is generator"),
    "texts": (lambda w: np.array(["a", "b"]), TypeError, "what hostile returned holds texts"),
    "long double": (lambda w: w.astype(np.longdouble), TypeError, "for which ONNX has no type"),
    "makes it writable": (lambda w: w.setflags(write=True), ValueError, "WRITEABLE"),
    "a text that fails": (lambda w: raise_(FailsInWords()), FailsInWords, "FailsInWords"),
    "broken": (lambda w: Broken(), RuntimeError, "not today"),
    "wrong arguments": (lambda: 1, TypeError, "positional argument"),
    "ends a loop": (lambda w: raise_(StopIteration("no more")), StopIteration, "no more"),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_hostile_function_ends_the_run_and_nothing_is_lost(functions, what):
    call, cause, message = HOSTILE[what]
    functions.function(name="hostile")(call)
    model = qrewrite.Model.parse(MODEL.SerializeToString())
    before = model.serialize()
    with pytest.raises(qrewrite.CallbackError) as raised:
        run(functions, TWICE, fold("hostile(w)"), model=model)
    assert message in str(raised.value) and isinstance(raised.value.__cause__, cause) and raised.value.code == "callback"
    assert raised.value.notes == ["rule `fold` at Mul `c`"]
    assert model.serialize() == before  # the first rule had fired by then
    assert run(functions, TWICE, model=model)[1].rewrites == 1


def test_a_file_is_not_written_when_a_function_fails(functions):
    onnx.save(MODEL, "model.onnx")
    functions.function(name="hostile")(raises)
    rules = Rules.from_dict({"rules": [fold("hostile(w)")]}, functions=functions)
    with pytest.raises(qrewrite.CallbackError):
        qrewrite.rewrite("model.onnx", rules, output="out.onnx")
    import os
    assert os.listdir() == ["model.onnx"]


def test_what_ends_the_program_is_not_wrapped(functions):
    for error in (KeyboardInterrupt, SystemExit):
        def hostile(w):
            raise error
        functions.function(name="hostile")(hostile)
        with pytest.raises(error):
            run(functions, fold("hostile(w)"))


def test_a_function_may_use_the_library_itself(functions):
    inner = Functions()
    inner.function(name="failing")(raises)

    @functions.function
    def outer(w):
        again, report = qrewrite.rewrite(MODEL, {"rules": [TWICE]})
        assert report.rewrites == 1
        with pytest.raises(qrewrite.CallbackError):
            run(inner, fold("failing(w)"))
        return w + len(again.graph.node)

    assert np.array_equal(done(run(functions, fold("outer(w)"))[0])[0], [[4, 5], [6, 7]])


def test_a_function_that_uses_its_own_rules(functions):
    held = []
    functions.function(name="deep")(lambda w: w if len(held) > 1 else (held.append(1), again(), w)[2])
    rules = Rules.from_dict({"rules": [fold("deep(w)")]}, functions=functions)

    def again():
        qrewrite.rewrite(MODEL, rules)

    qrewrite.rewrite(MODEL, rules)
    assert len(held) == 2


def test_a_constant_of_another_type_does_not_fire(functions):
    for made in (lambda w: w.astype(np.float64), lambda w: w > 0, lambda w: np.ones((5, 5), np.float32), lambda w: np.ones((2, 2, 2), np.float32)):
        functions.function(name="made")(made)
        rule = {"name": "add", "match": "y = Mul(x, w)", "let": {"f": "made(w)"}, "replace": "y = Add(x, f)"}
        rewritten, report = run(functions, rule)
        assert report.rewrites == 0 and rewritten == MODEL


def test_a_function_of_another_type_or_shape_is_told_of(functions):
    """"0 rewrites" alone would not say it."""
    functions.function(name="halved")(lambda w: w.astype(np.float64) / 2)
    functions.function(name="longer")(lambda w: np.concatenate([w, w]))
    product = "y = Mul(x, w)"
    rules = [{"name": "typed", "match": product, "let": {"v": "halved(w)"}, "replace": "y = Add(x, v)"},
             {"name": "shaped", "match": product, "where": ["const(w)"], "let": {"v": "longer(w)"}, "replace": "y = Concat<axis = 0>(x, v)"},
             {"name": "said", "match": product, "let": {"k": "halved(w)"}, "replace": "y = Softmax<axis=k>(x)"},
             {"name": "twice", "match": product, "let": {"k": "zeros(w)"}, "replace": "y = Transpose<perm=k>(x)"}]
    functions.function(name="zeros")(lambda w: [0, 0])
    model, report = run(functions, *rules)
    assert report.rewrites == 0 and model == MODEL
    typed, shaped, said, twice = report.warnings  # one a rule, not one a node
    assert said.text.startswith("fits here, but its replacement does not: attribute `axis` of Softmax: ")
    assert twice.text == "fits here, but its replacement does not: its inputs and attributes do not suit Transpose"
    assert (typed.rule, typed.op, typed.output) == ("typed", "Mul", "c")
    assert typed.text == "fits here, but its replacement does not: input B of Add is DOUBLE beside FLOAT" and typed.notes == ["`halved` gave DOUBLE[2, 2]"]
    assert shaped.text == "fits here, but its replacement does not: the shape of `c` would change from [2, 2] to [6, 2]"
    assert shaped.notes == ["`longer` gave FLOAT[4, 2]"] and "4 warnings" in str(report)
    with pytest.raises(qrewrite.Refused, match="replacement does not: input B"):
        qrewrite.rewrite(MODEL, Rules.from_dict({"rules": rules}, functions=functions), strict=True)


def test_a_function_that_makes_what_is_there_is_not_told_of(functions):
    """Rules that have settled, rules without functions, predicates, and rules that fire in the end."""
    functions.function(name="rounded")(np.round)
    functions.predicate(name="wanted")(lambda w: True)
    rules = [{"name": "settles", "match": "y = Mul(x, w)", "let": {"v": "rounded(w)"}, "replace": "y = Mul(x, v)"},
             {"name": "plain", "match": "y = Mul(x, w)", "where": ["const(w)"], "replace": "y = Add(x, cast(w, DOUBLE))"},
             {"name": "asks", "match": "y = Mul(x, w)", "where": ["wanted(w)"], "replace": "y = Add(x, cast(w, DOUBLE))"}]
    _, report = run(functions, *rules)
    assert report.rewrites == 0 and report.warnings == []


def test_a_function_that_never_ends_its_own_recursion(functions):
    functions.function(name="deep")(lambda w: (qrewrite.rewrite(MODEL, rules), w)[1])
    rules = Rules.from_dict({"rules": [fold("deep(w)")]}, functions=functions)
    with pytest.raises(qrewrite.CallbackError) as raised:
        qrewrite.rewrite(MODEL, rules)
    error = raised.value
    assert len(str(error)) < 10000
    while error.__cause__ is not None:
        error = error.__cause__
    assert isinstance(error, RecursionError)


def test_a_function_that_starts_threads(functions):
    from concurrent.futures import ThreadPoolExecutor

    @functions.function
    def threaded(w):
        with ThreadPoolExecutor(4) as pool:
            inner = list(pool.map(lambda i: qrewrite.rewrite(MODEL, {"rules": [TWICE]})[1].rewrites, range(8)))
        return w + np.float32(sum(inner))

    assert np.array_equal(done(run(functions, fold("threaded(w)"))[0])[0], [[9, 10], [11, 12]])


@pytest.mark.parametrize("call,what", [("h(w, 'round')", "a text"), ("h(w, params.mode)", "a text"), ("h(dtype(w))", "an element type")])
def test_what_a_function_cannot_be_given_is_an_error_of_the_rule(functions, call, what):
    """It would never fire, and nothing would tell why."""
    functions.function(lambda *w: w[0], name="h")
    rules = {"params": {"mode": {"type": "string", "default": "round"}}, "rules": [fold(call)]}
    with pytest.raises(qrewrite.InvalidRules, match=f"of `h` cannot be {what}") as raised:
        Rules.from_dict(rules, functions=functions)
    assert raised.value.diagnostics[0].hint == "functions of the host get tensors and numbers"


@pytest.mark.parametrize("call", ["h(w, bits=4)", "h<bits=4>(w)", "h(w...)", "h(w?)"])
def test_a_function_gets_its_arguments_in_their_order(functions, call):
    """A name that nobody reads would be a number in the wrong place."""
    functions.function(lambda *w: w[0], name="h")
    with pytest.raises(qrewrite.InvalidRules, match="arguments of `h` are plain expressions|`h` has no attributes"):
        Rules.from_dict({"rules": [fold(call)]}, functions=functions)


def test_names(functions):
    with pytest.raises(qrewrite.UsageError, match="`shape` is a function of the language"):
        functions.function(name="shape")(lambda x: x)
    with pytest.raises(qrewrite.UsageError, match="no name of a function"):
        functions.predicate(name="Shape")(lambda x: x)
    with pytest.raises(qrewrite.UsageError, match="cannot be called"):
        functions.function(name="three")(3)
    with pytest.raises(qrewrite.UsageError, match="the name: None is no text"):
        functions.function(functools.partial(pow, 2))
    functions.function(name="twice")(lambda x: x)
    functions.predicate(name="twice")(lambda x: True)
    assert list(functions) == ["twice"] and "twice" in functions and len(functions) == 1


def test_the_functions_of_the_package():
    from qrewrite import _hooks
    try:
        @qrewrite.function
        def from_everywhere(w):
            return w + 1
        rules = Rules.from_dict({"rules": [fold("from_everywhere(w)")]})
        _hooks.default.clear()
        assert np.array_equal(done(qrewrite.rewrite(MODEL, rules)[0])[0], [[2, 3], [4, 5]])  # what it had when it was loaded
    finally:
        _hooks.default.clear()
    with pytest.raises(qrewrite.InvalidRules, match="from_everywhere"):
        Rules.from_dict({"rules": [fold("from_everywhere(w)")]})
    rules = Rules.from_dict({"rules": [fold("add_two(w)")]}, functions={"add_two": lambda w: w + 2})
    assert np.array_equal(done(qrewrite.rewrite(MODEL, rules)[0])[0], [[3, 4], [5, 6]])


X = {"x": np.ones((2, 2), np.float32)}


def test_a_runtime_is_a_function():
    wanted = []

    def mine(model, outputs):
        wanted.append((onnx.ModelProto.FromString(model).graph.node[0].op_type, outputs))
        return lambda inputs: {name: inputs["x"] * 7 for name in outputs}

    got = qrewrite.run(MODEL, X, runtime=mine, observe=["b"])
    assert got["y"].tolist() == [[7, 7], [7, 7]] and got["b"].dtype == np.float32 and wanted == [("Relu", ["y", "b"])]
    assert qrewrite.verify(MODEL, qrewrite.rewrite(MODEL, {"rules": [TWICE]})[0], runtime=mine, samples=2).verdict == "EXACT"


def runtime_that(load, run=None):
    def toy(model, outputs):
        return load(outputs) if run is None else run
    return toy


@pytest.mark.parametrize("runtime,error,said", [
    (runtime_that(lambda outputs: raise_(LookupError("no `chip`"))), qrewrite.CallbackError, "the runtime `toy` threw an exception: LookupError: no `chip`"),
    (runtime_that(None, lambda inputs: raise_(OSError("gone"))), qrewrite.CallbackError, "the runtime `toy` threw an exception: OSError: gone"),
    (runtime_that(None, lambda inputs: {}), qrewrite.Unsupported, "the runtime `toy` gave no value `y`"),
    (runtime_that(None, lambda inputs: {"y": None}), qrewrite.CallbackError, "`y` is NoneType, not an array or a number"),
    (runtime_that(None, lambda inputs: 3), qrewrite.CallbackError, "the runtime `toy` threw an exception: TypeError: the runtime returned int, not a dict"),
    (runtime_that(None, 3), qrewrite.CallbackError, "TypeError: 'int' object is not callable"),
    (runtime_that(lambda outputs: raise_(KeyboardInterrupt())), KeyboardInterrupt, ""),
    (runtime_that(None, lambda inputs: raise_(SystemExit(3))), SystemExit, "3"),
])
def test_a_runtime_that_misbehaves(runtime, error, said):
    for call in (lambda: qrewrite.run(MODEL, X, runtime=runtime), lambda: qrewrite.verify(MODEL, MODEL, runtime=runtime)):
        with pytest.raises(error) as raised:
            call()
        assert said in str(raised.value)


def test_what_an_exception_quotes_stays_readable(functions):
    """Also where runs are nested: each would escape the quotes of the others."""
    functions.function(name="within")(lambda w: raise_(ValueError("no `w` in C:\\temp\nsecond line")))
    inner = Rules.from_dict({"rules": [fold("within(w)")]}, functions=functions)
    functions.function(name="outer")(lambda w: qrewrite.rewrite(MODEL, inner))
    with pytest.raises(qrewrite.CallbackError) as raised:
        run(functions, fold("outer(w)"))
    assert str(raised.value) == ("function `outer` of the host threw an exception: CallbackError: function `within` of the host threw an exception: "
                                 "ValueError: no `w` in C:\\temp\\nsecond line\\n  note: rule `fold` at Mul `c`\n  note: rule `fold` at Mul `c`")


def test_an_exception_with_what_is_no_text_keeps_its_words(functions):
    for said, told in (("no \udcff", "no \\udcff"), ("a\0b", "a\\x00b")):
        functions.function(name="says")(lambda w: raise_(ValueError(said)))
        with pytest.raises(qrewrite.CallbackError) as raised:
            run(functions, fold("says(w)"))
        assert str(raised.value).startswith(f"function `says` of the host threw an exception: ValueError: {told}\n")


def test_what_fails_says_where(functions):
    """The rule and the node; of an operator also the node that it is computed for, which may lie far above."""
    functions.operator(name="Half", domain="acme")(lambda x: raise_(LookupError("lost")))
    model = parse("g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { h = acme.Half(w)  y = Mul(x, h) }")
    ask = {"name": "ask", "match": "y = Mul(x, w)", "where": "const(w)", "replace": "y = Identity(x)"}
    computed = "computing acme.Half `h`"
    for rules, notes in (({"rules": [ask]}, [computed, "rule `ask` at Mul `y`"]), ({"phases": [{"name": "f", "fold": "all"}], "rules": []}, [computed]),
                         ({"rules": [fold("acme.Half([1.0])")]}, ["rule `fold` at Mul `y`"])):
        with pytest.raises(qrewrite.CallbackError, match="operator `Half` of the host threw an exception: LookupError: lost") as raised:
            qrewrite.rewrite(model, Rules.from_dict(rules, functions=functions))
        assert raised.value.notes == notes
    with pytest.raises(qrewrite.CallbackError) as raised:
        qrewrite.find(model, Rules.from_dict({"rules": [ask]}, functions=functions))
    assert raised.value.notes == [computed, "rule `ask` at Mul `y`"]


def test_a_list_that_matched_nothing_is_not_asked_about(functions):
    """A predicate holds of none, and a function makes none; an empty list that is written is one thing."""
    asked = []
    functions.predicate(lambda w: asked.append(w) or False, name="never")
    functions.function(lambda w: asked.append(w) or w, name="same")
    model = parse("g (float[2] x) => (float[2] y) { y = Concat<axis=0>(x) }")
    rule = {"name": "r", "match": "y = Concat<axis=0>(x, xs...)", "replace": "y = acme.C(x, xs...)"}
    for more in ({"where": "never(xs)"}, {"let": {"v": "same(xs)"}, "replace": "y = acme.C(x, v...)"}):
        assert qrewrite.rewrite(model, Rules.from_dict({"rules": [rule | more]}, functions=functions))[1].rewrites == 1
    assert asked == []
    assert qrewrite.rewrite(model, Rules.from_dict({"rules": [rule | {"where": "never([])"}]}, functions=functions))[1].rewrites == 0 and len(asked) == 1
