"""Arguments that make no sense, for every entry of the package: each is refused as a qrewrite.Error that names the argument, and says
nothing of what is inside (`std::bad_cast`, "incompatible function arguments"); nothing that was given is changed."""
import re
from pathlib import Path

import numpy as np
import onnx
import pytest
from conftest import CHAIN, RULES, SOURCE, parse

import qrewrite
from qrewrite import Functions, Model, Rules

DATA = parse(CHAIN).SerializeToString()
X = {"x": np.ones((2, 4), np.float32)}
FREE = {"shapes": {"x": [2, 4]}, "runtime": "builtin"}


class NoPath:
    def __fspath__(self):
        return 3


WRONG = {
    "none": None, "zero": 0, "minus one": -1, "a float": 3.5, "nan": float("nan"), "huge": 10**30, "minus huge": -10**30, "a bool": True,
    "empty text": "", "a text": "no_such_thing", "no utf-8": "\udcff", "a lone surrogate": "\ud800", "a zero byte": "a\0b", "a long text": "x" * 10000,
    "bytes": b"\xff", "empty bytes": b"", "bytearray": bytearray(b"xx"), "memoryview": memoryview(b"abcd")[::2],
    "list": [], "list of none": [None], "list of lists": [[1], [2, 3]], "dict": {}, "dict by number": {1: 2}, "dict of none": {"a": None},
    "set": {1}, "generator": (i for i in [1]), "array": np.zeros(3), "0-d array": np.array(1.0), "numpy float": np.float32(1), "structured": np.zeros(2, "i4,f4"),
    "function": lambda *a: None, "class": int, "object": object(), "no path": NoPath(), "a path": Path("nowhere"), "pattern": re.compile("x"),
    "a graph": onnx.GraphProto(), "an empty model": onnx.ModelProto(), "a model": Model.parse(DATA), "rules": Rules.from_dict(RULES), "ellipsis": ..., "complex": 1j,
}


def entries():
    model, rules = Model.parse(DATA), Rules.from_dict(RULES)
    yield "rewrite: model", lambda w: qrewrite.rewrite(w, rules)
    yield "rewrite: rules", lambda w: qrewrite.rewrite(model, w)
    for option in ("output", "html", "params", "observer", "progress", "stop_after", "skip_rules", "require_hits", "keep_ops", "keep_nodes", "shapes", "allow_partial",
                   "strict", "profile", "check_graph", "max_rewrites", "folder"):
        if option != "html":  # a text is a file to write
            yield f"rewrite: {option}", lambda w, o=option: qrewrite.rewrite(model, rules, **{o: w})
    yield "rewrite: folder", lambda w: qrewrite.rewrite(DATA, rules, folder=w)
    yield "rewrite: parameter", lambda w: qrewrite.rewrite(model, "ezkl_dequant", saturation=w)
    yield "watch: model", lambda w: list(qrewrite.watch(w, rules))
    yield "Rules.load", Rules.load
    yield "Rules.load: functions", lambda w: Rules.load("optimize", functions=w)
    yield "Rules.load: search", lambda w: Rules.load("optimize", search=w)
    yield "Rules.parse", Rules.parse
    yield "Rules.parse: name", lambda w: Rules.parse("qrewrite: 1\nname: a\n", w)
    yield "Rules.from_dict", Rules.from_dict
    yield "Rules.from_dict: rules", lambda w: Rules.from_dict({"rules": w})
    yield "Rules.from_dict: match", lambda w: Rules.from_dict({"rules": [{"name": "a", "match": w, "replace": "y = Abs(x)"}]})
    yield "Model.load", Model.load
    yield "Model.parse", Model.parse
    yield "Model.parse: folder", lambda w: Model.parse(DATA, folder=w)
    yield "Model.parse: external", lambda w: Model.parse(DATA, external=w)
    yield "Model.save: external", lambda w: model.save("o.onnx", external=w)
    yield "Model.save: threshold", lambda w: model.save("o.onnx", threshold=w)
    yield "Model.serialize_apart", model.serialize_apart
    yield "Model.serialize_apart: threshold", lambda w: model.serialize_apart("d", w)
    for option in ("max_elements", "types", "node_names", "node", "around", "distance"):
        yield f"Model.text: {option}", lambda w, o=option: model.text(**{o: w})
    yield "find: model", lambda w: qrewrite.find(w, rules)
    for option in ("pattern", "rules"):
        yield f"find: {option}", lambda w, o=option: qrewrite.find(model, **{o: w})
    for option in ("where", "conditions", "max_matches", "folder", "params"):
        yield f"find: {option}", lambda w, o=option: qrewrite.find(model, pattern="y = Relu(x)", **{o: w})
    yield "find: rule", lambda w: qrewrite.find(model, rules, rule=w)
    yield "explain: model", lambda w: qrewrite.explain(w, rules)
    yield "explain: rules", lambda w: qrewrite.explain(model, w)
    for option in ("at", "rule", "max_attempts", "skip_rules", "keep_ops", "keep_nodes", "folder", "params"):
        yield f"explain: {option}", lambda w, o=option: qrewrite.explain(model, rules, **{o: w})
    yield "diff: before", lambda w: qrewrite.diff(w, model)
    yield "diff: after", lambda w: qrewrite.diff(model, w)
    yield "diff: names", lambda w: qrewrite.diff(model, model, names=w)
    yield "diff: most", qrewrite.diff(model, model).text
    yield "verify: model", lambda w: qrewrite.verify(model, w, **FREE)
    for option in ("tolerance", "samples", "seed", "inputs", "shapes", "ranges", "names", "scales", "units", "rules", "runtime"):
        yield f"verify: {option}", lambda w, o=option: qrewrite.verify(model, model, **{**FREE, "samples": 1, o: w})
    yield "verify: an input", lambda w: qrewrite.verify(model, model, **FREE, inputs=[{"x": w}])
    yield "run: inputs", lambda w: qrewrite.run(model, w, runtime="builtin")
    yield "run: an input", lambda w: qrewrite.run(model, {"x": w}, runtime="builtin")
    yield "run: observe", lambda w: qrewrite.run(model, X, runtime="builtin", observe=w)
    for option in ("map", "suggest", "isolate", "validate"):
        yield f"debug: {option}", lambda w, o=option: qrewrite.debug(model, model, [X], runtime="builtin", **{o: w})
    yield "debug: inputs", lambda w: qrewrite.debug(model, model, w, runtime="builtin")
    yield "Functions", Functions
    yield "Functions.function: name", lambda w: Functions().function(name=w)(abs)
    yield "Functions.operator: domain", lambda w: Functions().operator(name="A", domain=w)(abs)


@pytest.mark.parametrize("entry,call", list(entries()), ids=[name for name, _ in entries()])
def test_wrong_arguments(entry, call):
    before = {what: value.serialize() for what, value in WRONG.items() if isinstance(value, Model)}
    for what, value in WRONG.items():
        if entry == "Rules.load: functions" and what in ("dict of none", "dict by number"):
            continue  # what is registered must be callable: a TypeError, as of the decorators
        try:
            call(value)
        except qrewrite.Error as error:
            said = str(error)
            assert said and "bad_cast" not in said and "incompatible" not in said and len(said) < 30000, (what, said)
        except Exception as error:
            pytest.fail(f"{entry}: {what}: {type(error).__name__}: {error}")
    assert before == {what: value.serialize() for what, value in WRONG.items() if isinstance(value, Model)}


@pytest.mark.parametrize("call,said", [
    (lambda m: Model.load(b"x"), "a model is a path, not bytes"),
    (lambda m: Model.parse("x"), r"Model.parse\(\) takes bytes, not str"),
    (lambda m: Model.load("a\0b"), "cannot be a path"),
    (lambda m: Rules.parse(3), "the rules: 3 is no text"),
    (lambda m: Rules.from_dict({"rules": {1}}), r"a rule file is made of dicts, lists, texts and numbers: not set, at \['rules'\]$"),
    (lambda m: Rules.load("optimize", functions=3), "`functions` is a dict or qrewrite.Functions, not int"),
    (lambda m: m.text(distance=-1), "`distance` is a count, not -1"),
    (lambda m: qrewrite.verify(m, m, inputs=[{"x": None}]), "`inputs`: `x` is NoneType, not an array or a number"),
    (lambda m: qrewrite.verify(m, m, names={"x": "nope"}, runtime="builtin"), "the second model has no input `nope`, as which `x` is named"),
    (lambda m: qrewrite.verify(m, m, inputs=iter([])), "`inputs` has no samples"),
    (lambda m: qrewrite.verify(m, m, inputs=[{"x": np.array(["a"], object)}]), "`x` holds texts; what is given here holds numbers"),
    (lambda m: qrewrite.rewrite(m, "optimize", shapes={"x": ["N"]}), "a size of `x` in `shapes` is a count, not 'N'"),
    (lambda m: Rules.from_dict(None), "a rule file is a dict by name, not None"),
    (lambda m: Rules.load("optimize", tests=False).lint(), r"lint\(\) looks at tests, which tests=False passed over"),
    (lambda m: Rules.load("optimize", tests=False).test(), r"test\(\) looks at tests"),
    (lambda m: qrewrite.Functions().function(3), "3 cannot be called"),
    (lambda m: qrewrite.verify(m, m, ranges={"x": (1, 2, 3)}), "`ranges` has two numbers for an input, not 3"),
    (lambda m: qrewrite.find(m, {"rules": []}, where="true"), "`where` goes with `pattern`"),
    (lambda m: qrewrite.explain(m, ["optimize", "optimize"]), r"explain\(\) takes one rule set, not 2"),
    (lambda m: qrewrite.rewrite(m, "optimize", strict=True, allow_partial=True), "exclude each other"),
    (lambda m: qrewrite.rewrite(m, "optimize", observer=3), "^`observer` is a function, not int"),
    (lambda m: qrewrite.rewrite(m, "optimize", progress=True), "^`progress` is a function, not bool"),
    (lambda m: qrewrite.rewrite(m, {"optimize"}), "qrewrite.Rules, or a list of these, not set"),
    (lambda m: qrewrite.rewrite(m, "qrewrite: 1\nrules: []\n"), r"not the text of a rule file: Rules.parse\(\)"),
    (lambda m: qrewrite.rewrite(m, "optimize", max_fold_bytes=1, params={"max_fold_bytes": 2}), "`max_fold_bytes` is given twice"),
])
def test_what_is_said_of_them(call, said):
    with pytest.raises(qrewrite.UsageError, match=said):
        call(Model.parse(DATA))


@pytest.mark.parametrize("data,said", [
    ({"rules": [{"name": "a", "match": b"y = Abs(x)"}]}, "not bytes, at ['rules'][0]['match']"),
    ({"params": {"p": {"default": float("nan")}}}, "not nan, at ['params']['p']['default']"),
    ({"params": {"p": {"default": np.array([1, np.inf], np.float32)}}}, "not inf, at ['params']['p']['default'][1]"),
    ({"params": {np.int64(1): {}}}, "not a key that is int64, at ['params'][np.int64(1)]"),
    ({"rules": [{}, Path("a"), ({1},)]}, "not set, at ['rules'][2][0]"),
])
def test_what_is_no_part_of_a_rule_file_has_a_place(data, said):
    with pytest.raises(qrewrite.UsageError, match=re.escape(f"a rule file is made of dicts, lists, texts and numbers: {said}") + "$"):
        Rules.from_dict(data)


def test_a_rule_file_that_holds_itself_or_has_no_end():
    rules = {"rules": []}
    rules["rules"].append(rules["rules"])
    with pytest.raises(qrewrite.UsageError, match=re.escape("not what holds itself, at ['rules'][0]")):
        Rules.from_dict(rules)
    deep = last = {}
    for _ in range(100000):
        last["a"] = last = {}
    with pytest.raises(qrewrite.UsageError, match="recursion"):
        Rules.from_dict(deep)


def test_things_of_numpy_in_a_rule_file():
    rules = Rules.from_dict({"params": {"most": {"default": np.int64(3)}}, "rules": [
        {"name": "m", "match": "y = Mul(x, w)", "where": ["size(w) > params.most"], "replace": "y = Abs(x)"}]})
    model, _ = qrewrite.rewrite(DATA, rules)
    assert b"Abs" in model and b"Abs" not in qrewrite.rewrite(DATA, rules, most=np.int8(4))[0]
    assert qrewrite.rewrite(DATA, "optimize", max_fold_bytes=np.array(10))[1].to_dict()


def test_members_of_enumerations_are_what_they_stand_for():
    from enum import IntEnum
    one = IntEnum("Size", {"FEW": 1}).FEW
    rules = Rules.from_dict({"params": {"n": {"default": 4}, "s": {"default": "q"}, "f": {"default": 1.5}},
                             "rules": [{"name": "r", "match": "y = Mul(x, w)", "replace": "y = acme.R<n=params.n, s=params.s, f=params.f>(x)"}]})
    model, _ = qrewrite.rewrite(Model.parse(DATA), rules, n=one, s=one, f=np.float64(0.25))
    assert {node.op: node.attributes for node in model.graph.nodes}["acme.R"] == {"n": 1, "s": "1", "f": 0.25}


def test_things_like_dicts_and_lists_in_a_rule_file(chain):
    """As configurations have them; the whole may be one as well."""
    from collections import UserDict, UserList
    from types import MappingProxyType
    rule = {"name": "twice", "match": "y = Relu(Relu(x))", "replace": "y = Relu(x)"}
    for like in (MappingProxyType, UserDict):
        assert qrewrite.rewrite(chain, like({"rules": UserList([like(rule)])}))[1].rewrites == 1
    with pytest.raises(qrewrite.UsageError, match="not bytes"):
        qrewrite.rewrite(chain, {"rules": [{**rule, "match": b"y = Relu(x)"}]})


def test_what_is_no_dict_of_tensors(chain):
    with pytest.raises(qrewrite.CallbackError, match="the runtime returned list, not a dict of arrays by the names of the outputs"):
        qrewrite.run(chain, {"x": np.zeros((1, 4), np.float32)}, runtime=lambda model, names: lambda inputs: [inputs["x"]])
    sequence = parse("g (float[2] x) => (float[2] y, seq(float[2]) s) { y = Relu(x)  s = SequenceConstruct(x, y) }")
    with pytest.raises(qrewrite.Unsupported, match="`s` is no tensor"):
        qrewrite.run(sequence, {"x": np.float32([1, 2])})


def test_a_match_by_names(chain):
    match = qrewrite.find(chain, pattern="y = Mul(x, w)")[0]
    assert "x" in match and "q" not in match and list(match) == ["y", "x", "w"] and dict(match)["w"].constant.shape == (4,)


def of_type(graph: str):
    return Model.parse(parse(graph).SerializeToString())


FLOATS = "g (float[2] x) => (float[2] y) { y = Relu(x) }"
ASKS = {
    "`names={A: B}`": lambda: qrewrite.verify(of_type(FLOATS), of_type("g (float[2] z) => (float[2] y) { y = Relu(z) }"), runtime="builtin"),
    "`names={'y': B}`": lambda: qrewrite.verify(of_type(FLOATS), of_type("g (float[2] x) => (float[2] z) { z = Relu(x) }"), runtime="builtin"),
    "`units={'x': (SCALE, ZERO)}`": lambda: qrewrite.verify(
        of_type(FLOATS), of_type("g (int8[2] x) => (float[2] y) { v = Cast <to = 1> (x)  y = Relu(v) }"), runtime="builtin",
        inputs=[{"x": np.array([0.5, 300], np.float32)}]),
    "`inputs`": lambda: qrewrite.verify(of_type(g := "g (seq(float[2]) x) => (int64 y) { y = SequenceLength(x) }"), of_type(g), runtime="builtin"),
    "`max_rewrites`": lambda: qrewrite.rewrite(of_type("g (float[2] x) => (float[2] y) { y = Neg(x) }"), {
        "name": "endless", "rules": [{"name": "again", "match": "y = Neg(x)", "replace": "y = Neg(Neg(Neg(x)))"}]}, max_rewrites=50),
}


@pytest.mark.parametrize("argument", ASKS)
def test_messages_name_arguments_not_options_of_the_command(argument):
    with pytest.raises(qrewrite.Error) as caught:
        ASKS[argument]()
    (diagnostic, *_) = caught.value.diagnostics
    assert argument in f"{diagnostic.message} {diagnostic.hint}" and argument in str(caught.value)
    assert not re.search(r"(^|\s|\()--\w", str(caught.value))


def test_no_message_of_the_library_names_an_option_that_has_no_argument():
    from qrewrite._errors import _in_python
    option = re.compile(r'"[^"\n]*?(?:^|[ (])(--[a-z][a-z-]+[^"\n]*)"')
    silent = {"--skip-rule", "--max", "--rules"}  # of explain, of diffs, and of the command line alone
    for file in sorted((SOURCE / "engine").rglob("*.cc")):
        for text in option.findall(file.read_text()):
            if text.split(")")[0].split("`")[0].split(" ")[0] not in silent:
                assert not re.search(r"--[a-z]", _in_python(text.replace("{}", "x"))), (file, text)
