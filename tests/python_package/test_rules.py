"""Rule sets, finding, reports and errors."""
import pickle
from pathlib import Path

import numpy as np
import onnx
import pytest
from conftest import RULES, parse

import qrewrite
from qrewrite import Rules

FILE = """qrewrite: 1
name: tidy
rules:
  - name: relu-of-relu
    doc: twice the same
    match: y = Relu(Relu(x))
    replace: y = Relu(x)
    tests:
      - {name: twice, given: "x: float[4]\\ny = Relu(Relu(x))", expect: "x: float[4]\\ny = Relu(x)"}
      - {name: wrong, given: "x: float[4]\\ny = Relu(x)", expect: "x: float[4]\\ny = Abs(x)"}
"""


def test_load_parse_and_data_are_one(chain):
    Path("tidy.yaml").write_text(FILE)
    texts = set()
    for rules in (Rules.load("tidy.yaml"), Rules.parse(FILE), Rules.load(Path("tidy.yaml")), "./tidy.yaml",
                  Rules.from_dict({"name": "tidy", "rules": RULES["rules"][:1]})):
        model, report = qrewrite.rewrite(chain, rules)
        texts.add(model.SerializeToString())
        assert [r.rule for r in report.rules] == ["relu-of-relu"]
    assert len(texts) == 1


def test_what_is_in_a_rule_set():
    rules = Rules.from_dict(RULES)
    assert rules.name == "tidy" and len(rules) == 2 and list(rules) == rules.rules
    assert rules.rules[1]._asdict() == {"name": "neg-of-neg", "doc": "two signs", "equivalence": "", "opset": "",
                                        "counters": ["neg-of-neg"], "tests": 0}
    assert rules.params == [("most", "int", "4", [], "how many")]
    without = Rules.from_dict({"params": {"names": {"type": "strings", "default": []}, "file": {"type": "path"}}})
    assert [p.default for p in without.params] == ["", None]
    assert any("most" in finding.message for finding in rules.lint())  # no rule uses it
    loaded = Rules.load("optimize")
    assert Path(loaded.path).name == "optimize.yaml" and loaded.files[0] == loaded.path and loaded.lint() == []
    assert qrewrite.shipped()["optimize"] == loaded.path


def test_tests_of_a_file():
    report = Rules.parse(FILE, "mine.yaml").test()
    assert (report.passed, report.failed, bool(report)) == (1, 1, False)
    twice, wrong = report.results
    assert twice.passed and not wrong.passed and wrong.place.startswith("mine.yaml:") and "Abs" in wrong.message
    assert str(report).endswith("1 passed, 1 failed")
    assert Rules.load("optimize").test()


def test_errors_of_a_rule_file_have_places():
    text = FILE.replace("replace: y", "replase: y")
    with pytest.raises(qrewrite.InvalidRules) as raised:
        Rules.parse(text, "mine.yaml")
    error = raised.value
    assert error.code == "invalid_rules" and isinstance(error, ValueError)
    found = next(d for d in error.diagnostics if d.code == "QR0102")
    assert (found.file, found.line, found.column) == ("mine.yaml", 7, 5) and "replace" in found.hint
    assert found.line_text == "    replase: y = Relu(x)" and "mine.yaml:7:5" in str(error)
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error) and again.diagnostics == error.diagnostics and str(again) == str(error)
    with pytest.raises(qrewrite.InvalidRules):
        Rules.from_dict({"rules": [{"name": "x"}]})
    with pytest.raises(qrewrite.FileError):
        Rules.load("no_such_set")


def test_parameters(recorded):
    data = recorded.read_bytes()
    clip, _ = qrewrite.rewrite(data, "ezkl_dequant", saturation="clip")
    assert clip == qrewrite.rewrite(data, "ezkl_dequant", params={"saturation": "clip"})[0]
    assert clip != qrewrite.rewrite(data, "ezkl_dequant", saturation="identity")[0]
    with pytest.raises(qrewrite.UsageError, match="has no parameter `saturatoin`; did you mean `saturation`"):
        qrewrite.rewrite(data, "ezkl_dequant", saturatoin="clip")
    with pytest.raises(qrewrite.UsageError, match="did you mean `keep_ops`"):
        qrewrite.rewrite(data, "ezkl_dequant", keep_op=["Conv"])
    with pytest.raises(qrewrite.UsageError, match="`saturation`"):
        qrewrite.rewrite(data, "ezkl_dequant", saturation="some")
    with pytest.raises(qrewrite.UsageError, match="`saturation` is object"):
        qrewrite.rewrite(data, "ezkl_dequant", saturation=object())


def test_opt_outs(chain):
    kept, report = qrewrite.rewrite(chain, RULES, skip_rules=["neg-of-neg"])
    assert [r.rule for r in report.rules] == ["relu-of-relu"]
    kept, report = qrewrite.rewrite(chain, RULES, keep_ops=["Neg"])
    assert report.kept == 2 and [n.op_type for n in kept.graph.node].count("Neg") == 2
    with pytest.raises(qrewrite.UsageError, match="no rule `neg-of-ne`; did you mean `neg-of-neg`"):
        qrewrite.rewrite(chain, RULES, skip_rules=["neg-of-ne"])
    with pytest.raises(qrewrite.UsageError, match="`skip_rules` is a list of names"):
        qrewrite.rewrite(chain, RULES, skip_rules="neg-of-neg")


@pytest.mark.parametrize("options,message", [
    ({"skip_rules": 3}, "`skip_rules` is a list of names, not int"), ({"keep_nodes": [1]}, "`keep_nodes`: 1 is no text"),
    ({"keep_nodes": ["("]}, "no regular expression"), ({"keep_ops": ["\udcff"]}, "no valid Unicode"),
    ({"stop_after": -1}, "`stop_after` is a count, not -1"), ({"stop_after": "x"}, "`stop_after` is a count"),
    ({"max_rewrites": 2**80}, "`max_rewrites` is a count"), ({"most": "\udcff"}, "parameter `most`"), ({"most": "x"}, "no integer"),
])
def test_options_that_make_no_sense(chain, options, message):
    with pytest.raises(qrewrite.UsageError, match=message):
        qrewrite.rewrite(chain, RULES, **options)


@pytest.mark.parametrize("rules", [None, 3, [], [None], [[]]])
def test_what_is_no_rule_set(chain, rules):
    with pytest.raises(qrewrite.UsageError):
        qrewrite.rewrite(chain, rules)


def test_one_rule_of_a_rule_set(chain):
    rules = qrewrite.Rules.from_dict({"rules": [
        {"name": "other", "match": "y = Sigmoid(x)", "warn": "here"},
        {"name": "pair", "match": "y = Relu(Relu(x))", "replace": "y = Relu(x)"}]})
    pair = rules.rules[1]
    assert repr(pair).startswith("Rule(name='pair'") and pair == rules.rules[1]
    found = qrewrite.find(chain, pair)
    assert [match.rule for match in found] == [match.rule for match in qrewrite.find(chain, rules, rule="pair")] and found
    assert {match.rule for match in found} == {"pair"}
    with pytest.raises(qrewrite.UsageError, match="a rule, or rules and names of theirs"):
        qrewrite.find(chain, pair, rule="other")
    bare = qrewrite.Rule(*pair)
    for call in (lambda: qrewrite.find(chain, bare), lambda: qrewrite.rewrite(chain, ["optimize", pair])):
        with pytest.raises(qrewrite.UsageError, match="rule `pair` says nothing without its rule set"):
            call()


def test_report(recorded):
    _, report = qrewrite.rewrite(recorded.read_bytes(), ["ezkl_dequant", "optimize"])
    whole = report.to_dict()
    assert report.nodes == (26, 9) and report.rewrites == whole["rewrites"] and report.changed
    assert report.counts == whole["counts"] and report.counts["pairs"] == 7
    assert [(r.set, r.rule, r.count) for r in report.rules] == [(r["set"], r["rule"], r["count"]) for r in whole["rules"]]
    assert str(report).endswith("weights 1.0 KiB -> 3.5 KiB") and "<td>ezkl_dequant</td>" in report._repr_html_()
    assert report.warnings == [] and not report.stopped and "13 rewrites" in repr(report)


def test_warnings_and_refusals(chain):
    rules = {"rules": [{"name": "no-mul", "match": "y = Mul(x, w)", "refuse": "has no <b>use</b>"}]}
    with pytest.raises(qrewrite.Refused, match="has no <b>use</b>") as raised:
        qrewrite.rewrite(chain, rules)
    assert raised.value.diagnostics and raised.value.code == "refused"
    _, report = qrewrite.rewrite(chain, rules, allow_partial=True)
    warning, = report.warnings
    assert warning.op == "Mul" and warning.rule == "no-mul" and warning.output == "c"
    assert "&lt;b&gt;" in report._repr_html_() and "<b>" not in report._repr_html_()
    with pytest.raises(qrewrite.Refused):
        qrewrite.rewrite(chain, {"rules": [{"name": "w", "match": "y = Mul(x, w)", "warn": "look"}]}, strict=True)


def test_endless_rewriting_is_an_error_and_nothing_is_lost(chain):
    rules = {"rules": [{"name": "forth", "match": "y = Neg(x)", "replace": "y = Neg(Neg(Neg(x)))"}]}
    model = qrewrite.Model.parse(chain.SerializeToString())
    with pytest.raises(qrewrite.LimitError, match="forth"):
        qrewrite.rewrite(model, rules, max_rewrites=50)
    assert model.serialize() == chain.SerializeToString()


def test_find(chain, recorded):
    match, = qrewrite.find(chain, pattern="y = Mul(x, w)", where="size(w) == 4")
    assert match["x"].kind == "value" and match["x"].value == "b"
    assert np.array_equal(match["w"].constant, [1, 2, 3, 4])
    assert match.nodes[0].op == "Mul" and str(match).startswith("pattern: Mul")
    assert qrewrite.find(chain, pattern="y = Mul(x, w)", where=["size(w) == 5"]) == []
    reported = qrewrite.find(chain, pattern="y = Mul(x, w)", where=["size(w) == 4"], conditions="report")
    # both orders of the operands; the size of `b` is not known
    assert [(m["w"].text, *m.conditions[0][::2]) for m in reported] == [("w", "size(w) == 4", True), ("b", "size(w) == 4", None)]
    assert reported[1].conditions[0].why
    assert [m.rule for m in qrewrite.find(chain, RULES)] == ["relu-of-relu", "neg-of-neg"]
    assert [m.rule for m in qrewrite.find(chain, RULES, rule="neg-of-neg")] == ["neg-of-neg"]
    few = qrewrite.find(recorded, pattern="y = DequantizeLinear(q, s, z)", max_matches=2)
    assert len(few) == 2 and few.more
    conv, = [m for m in qrewrite.find(recorded, pattern="y = c:Conv<**a>(x, w, b?)") if m["c"].value.name == "conv1"]
    assert conv["a"].value["pads"].tolist() == [1, 1, 1, 1] and conv["c"].nodes[0].op == "Conv"
    with pytest.raises(qrewrite.UsageError):
        qrewrite.find(chain)
    with pytest.raises(qrewrite.UsageError, match="`max_matches` is a count"):
        qrewrite.find(chain, RULES, max_matches=-1)
    with pytest.raises(qrewrite.InvalidRules):
        qrewrite.find(chain, pattern="y = Mul(")


def test_rules_go_to_other_processes(chain):
    again = pickle.loads(pickle.dumps(Rules.parse(FILE)))
    assert qrewrite.rewrite(chain, again)[0] == qrewrite.rewrite(chain, Rules.parse(FILE))[0]


def test_an_attribute_that_the_caller_of_a_function_gives():
    """It is unknown, to conditions and to the defaults of other attributes that depend on it."""
    proto = parse("g (float[1, 2, 8, 8] x, float[2, 1, 3, 3] w) => (float[1, 2, 6, 6] y) { y = acme.f<group = 2, kernel_shape = [3, 3]>(x, w) }")
    conv = onnx.helper.make_node("Conv", ["v", "u"], ["c"])
    for name, kind in (("group", onnx.AttributeProto.INT), ("kernel_shape", onnx.AttributeProto.INTS)):
        conv.attribute.append(onnx.AttributeProto(name=name, ref_attr_name=name, type=kind))
    proto.functions.append(onnx.helper.make_function("acme", "f", ["v", "u"], ["o"], [conv, onnx.helper.make_node("Relu", ["c"], ["o"])],
                                                     [onnx.helper.make_opsetid("", 17)], ["group", "kernel_shape"]))
    for attributes, where, found in (("pads = p, **rest", "p == [0, 0, 0, 0]", 0),
                                     ("group = g, **rest", "g == 2", 0), ("kernel_shape = k, **rest", "k == [3, 3]", 0), ("**rest", "true", 1)):
        assert len(qrewrite.find(proto, pattern=f"y = Conv<{attributes}>(x, w)", where=where)) == found, attributes


@pytest.mark.parametrize("at,hint", [("x_zero_poin", "did you mean `x_zero_point`?"), ("zero_p", "it is in `.*zero_point`.* and others")])
def test_explain_names_what_an_unknown_place_may_be(recorded, at, hint):
    """A node, an output, an input or a constant, also of a part of its name."""
    with pytest.raises(qrewrite.UsageError, match=f"no node and no value is named `{at}`; {hint}"):
        qrewrite.explain(str(recorded), "ezkl_dequant", at=at)
