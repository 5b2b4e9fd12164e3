// What a loaded rule set holds.
#include <climits>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "engine/expr/parser.h"
#include "tests/unit/rule/support.h"

namespace qrewrite {
namespace {

std::shared_ptr<const RuleSet> Load(const std::string& text, test::Files files = {},
                                    const std::string& path = "t.yaml") {
  auto loaded = LoadRulesText(path, text, test::Reading(std::move(files)));
  const std::string messages = loaded.ok() ? "" : loaded.status().message();
  REQUIRE_MESSAGE(loaded.ok(), messages);
  return *loaded;
}

std::string RuleNames(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : " ") + name;
  return out;
}

const char* const kRule = "rules:\n  - {name: r, match: y = Relu(x), replace: y = Abs(x)}\n";

}  // namespace

TEST_CASE("Loader: sets hold operators, wildcards, data and other sets") {
  const auto set = Load(test::File(R"yaml(
sets:
  plain: [Relu, ai.onnx.Abs, com.microsoft.QGemm, my.own.Op]
  wild: ["com.microsoft.QLinear*", "*Integer"]
  data: {MatMulInteger: {op: MatMul, axis: -1, scale: 0.5, on_axis: true, pads: [1, 2]}, Conv: {}, Gemm: }
  nested: {"@data": {axis: 7}, "@plain": }
)yaml"));
  const OpSet* plain = set->FindSet("plain");
  REQUIRE(plain->members.size() == 4);
  CHECK(plain->members[1].op.op == OpName{"", "Abs"});
  CHECK(plain->members[2].op.op == OpName{"com.microsoft", "QGemm"});
  const OpSet* wild = set->FindSet("wild");
  CHECK(wild->Find({"com.microsoft", "QLinearAdd"}) != nullptr);
  CHECK(wild->Find({"", "QLinearConv"}) == nullptr);
  CHECK(wild->Find({"", "ConvInteger"}) != nullptr);
  CHECK(wild->Find({"com.microsoft", "ConvInteger"}) == nullptr);
  const SetMember* matmul = set->FindSet("data")->Find({"", "MatMulInteger"});
  REQUIRE(matmul);
  CHECK(matmul->data.at("op") == Literal(std::string("MatMul")));
  CHECK(matmul->data.at("axis") == Literal(int64_t{-1}));
  CHECK(matmul->data.at("scale") == Literal(0.5));
  CHECK(matmul->data.at("on_axis") == Literal(true));
  CHECK(matmul->data.at("pads") == Literal(std::vector<int64_t>{1, 2}));
  const OpSet* nested = set->FindSet("nested");
  CHECK(nested->members.size() == 7);
  CHECK(nested->Find({"", "MatMulInteger"})->data.at("axis") == Literal(int64_t{7}));
  CHECK(nested->Find({"", "MatMulInteger"})->data.at("op") == Literal(std::string("MatMul")));
}

TEST_CASE("Loader: signatures") {
  const auto set = Load(test::File(R"yaml(
signatures:
  my.Op:
    version: 3
    commutative: true
    inputs: [x, "z?", "rest..."]
    attributes:
      axis: 1
      alpha: 0.5
      sizes: [1, 2]
      scales: [1, 0.5]
      mode: {default: linear}
      beta: {type: float, default: 1}
      perm: {type: ints, computed: "Range(rank(x) - 1, -1, -1)"}
      body: graph
      group: "int?"
    outputs: {y: {shape: shape(x), dtype: dtype(x)}, "m?": {dtype: BOOL}}
  qr.Private: {inputs: [x], outputs: [y]}
  LUT: {foreign: true, inputs: [x], outputs: [y]}
  MeanVarianceNormalization: {older: true, inputs: [x], attributes: {across_channels: 0}, outputs: [y]}
)yaml"));
  const auto versions = set->signatures.Versions("", "MeanVarianceNormalization");
  REQUIRE(versions.size() == 3);
  CHECK(versions[0].from_rule_file);
  CHECK_FALSE(versions[1].from_rule_file);
  CHECK(set->signatures.Find("", "MeanVarianceNormalization", 8) == versions.data());
  CHECK(set->signatures.Find("", "LUT", 13) != nullptr);
  const Signature* s = set->signatures.Newest("my", "Op");
  REQUIRE(s);
  CHECK(s->from_rule_file);
  CHECK(s->since == 3);
  CHECK(s->commutative);
  CHECK(s->min_inputs == 1);
  CHECK(s->max_inputs == INT_MAX);
  CHECK(s->min_outputs == 1);
  CHECK(s->max_outputs == 2);
  CHECK(s->outputs[0].shape_expr == "shape(x)");
  CHECK(s->outputs[1].dtype_expr == "BOOL");
  CHECK(Equal(s->FindAttribute("axis")->default_value, AttrValue(int64_t{1})));
  CHECK(s->FindAttribute("axis")->kind == AttrKind::kInt);
  CHECK_FALSE(s->FindAttribute("axis")->required);
  CHECK(s->FindAttribute("alpha")->kind == AttrKind::kFloat);
  CHECK(s->FindAttribute("sizes")->kind == AttrKind::kInts);
  CHECK(Equal(s->FindAttribute("scales")->default_value, AttrValue(std::vector<float>{1, 0.5f})));
  CHECK(Equal(s->FindAttribute("mode")->default_value, AttrValue(std::string("linear"))));
  CHECK(Equal(s->FindAttribute("beta")->default_value, AttrValue(1.0f)));
  CHECK(s->FindAttribute("perm")->computed_default == "Range(rank(x) - 1, -1, -1)");
  CHECK(s->FindAttribute("body")->required);
  CHECK(s->has_subgraphs);
  CHECK_FALSE(s->FindAttribute("group")->required);
  REQUIRE(set->private_ops.size() == 1);
  CHECK(set->private_ops[0] == OpName{"qr", "Private"});
}

TEST_CASE("Loader: a file with rules but no phases runs all of them") {
  const auto set =
      Load(test::File("rules:\n  - {name: b, match: y = Relu(x), replace: y = Abs(x)}\n"
                      "  - {name: a, match: y = Neg(x), replace: y = Abs(x)}\n"));
  REQUIRE(set->phases.size() == 1);
  CHECK(set->phases[0].kind == PhaseKind::kRules);
  CHECK(RuleNames(set->phases[0].rules) == "b a");
  CHECK(set->constants.keep.size() == 3);
  CHECK(set->constants.max_bytes->int_value == int64_t{64} << 20);
  CHECK(set->check_types);
}

TEST_CASE("Loader: phases") {
  const auto set = Load(test::File(std::string(kRule) + R"yaml(
constants: {keep: [], max_bytes: 1KiB}
phases:
  - {name: all, rules: all, when: [opset >= 10, opset < 20]}
  - {name: none, rules: []}
  - {name: fold, fold: all}
  - {name: some, fold: [Conv]}
  - {name: up, to_opset: 13, rules: [r]}
  - {name: further, to_opset: opset + 1}
  - {name: defaults, write_defaults: [Conv, MaxPool]}
  - {name: shapes, write_shapes: all}
  - {name: names, rename: A-Za-z0-9_}
  - {name: inputs, freeze_inputs: all}
  - {name: one, write_defaults: [Conv], attributes: [strides]}
  - {name: functions, inline: all}
)yaml"));
  const std::vector<Phase>& phases = set->phases;
  REQUIRE(phases.size() == 12);
  CHECK(phases[11].kind == PhaseKind::kInline);
  CHECK(phases[9].kind == PhaseKind::kFreezeInputs);
  CHECK(RuleNames(phases[0].rules) == "r");
  CHECK(Print(*phases[0].when) == "opset >= 10 and opset < 20");
  CHECK(phases[1].rules.empty());
  CHECK(phases[2].kind == PhaseKind::kFold);
  CHECK(phases[2].ops.empty());
  CHECK(phases[3].ops.size() == 1);
  CHECK(phases[4].kind == PhaseKind::kToOpset);
  CHECK(phases[4].to_opset->int_value == 13);
  CHECK(RuleNames(phases[4].rules) == "r");
  CHECK(phases[5].kind == PhaseKind::kToOpset);
  CHECK(phases[6].kind == PhaseKind::kWriteDefaults);
  CHECK(phases[6].attributes.empty());
  CHECK(phases[10].attributes == std::vector<std::string>{"strides"});
  CHECK(phases[7].kind == PhaseKind::kWriteShapes);
  CHECK(phases[8].kind == PhaseKind::kRename);
  CHECK(phases[8].rename == "A-Za-z0-9_");
  CHECK(set->constants.keep.empty());
  CHECK(set->constants.max_bytes->int_value == 1024);
}

TEST_CASE("Loader: rules") {
  const auto set = Load(test::File(R"yaml(
opset: {ai.onnx: ">=10", com.microsoft: ">=1"}
rules:
  - name: full
    doc: two
      lines
    equivalence: approx(30 dB)
    report: pairs
    opset: ">=7 <13"
    share: false
    match: |
      a, b = Split<axis>(x)   # comment
      y = Relu(a)
    where: [rank(x) == 2, axis == 1]
    let: {k: 1, "h, w": shape(x)}
    replace: ["y = Abs(x)"]
    warn: careful
    retype: {x: INT8}
    record: {inputs: {of: x, k: k}}
    tests:
      - name: one
        given: ["x: float[2]", "y = Relu(x)"]
        expect: unchanged
        opset: {ai.onnx: 13, com.microsoft: 2}
        rules: [full]
      - {name: two, given: "x: float; y = Relu(x)", expect: {error: part}}
      - {name: three, given: "x: float; y = Relu(x)", expect: "x: float; y = Abs(x)", opset: 11}
tests:
  - {name: whole, given: "x: float; y = Relu(x)", expect: unchanged}
)yaml"));
  CHECK(set->opset == ">=10");
  CHECK(set->opset_min == 10);
  CHECK(set->opsets.at("com.microsoft") == ">=1");
  const Rule& rule = set->rules.at(0);
  CHECK(rule.doc == "two lines");
  CHECK(rule.equivalence == "approx(30 dB)");
  REQUIRE(rule.counters.size() == 1);
  CHECK(rule.counters[0].first == "pairs");
  CHECK(rule.opset_min == 7);
  CHECK(rule.opset_max == 12);
  CHECK_FALSE(rule.share);
  CHECK(rule.match.stmts.size() == 2);
  CHECK(rule.where.size() == 2);
  REQUIRE(rule.let.size() == 2);
  CHECK(RuleNames(rule.let[1].names) == "h w");
  CHECK(rule.replace->stmts.size() == 1);
  CHECK(rule.warn == "careful");
  CHECK(rule.retype.at(0).first == "x");
  CHECK(rule.record.at(0).first == "inputs");
  REQUIRE(rule.tests.size() == 3);
  CHECK(rule.tests[0].unchanged);
  CHECK(rule.tests[0].given.decls.size() == 1);
  CHECK(rule.tests[0].opset.at("") == 13);
  CHECK(rule.tests[0].opset.at("com.microsoft") == 2);
  CHECK(RuleNames(rule.tests[0].rules) == "full");
  CHECK(rule.tests[1].error == "part");
  CHECK(rule.tests[1].opset.at("") == 12);  // the nearest to 21 that the rule allows
  CHECK(rule.tests[2].expect->stmts.size() == 1);
  CHECK(rule.tests[2].opset.at("") == 11);
  REQUIRE(set->tests.size() == 1);
  CHECK(set->tests[0].whole_set);
}

TEST_CASE("Loader: cases of every form") {
  const auto set = Load(test::File(R"yaml(
define:
  f(v, k): when const(v) => k
  g(v):
    when: rank(v) == 1
    is: v
  y = h(x, s):
    - match: x = Abs(p)
      when: [const(s), rank(x) == 1]
      let: {t: s + 1}
      cases:
        - when t == 1 => x
        - replace: |
            u = Relu(p)
            y = Neg(u)
    - => x
  y... = outs(xs...):
    - replace: y... = Split<num_outputs=2>(Concat<axis=0>(xs...))
)yaml"));
  REQUIRE(set->definitions.size() == 4);
  CHECK(set->FindDefinition("f")->cases.size() == 1);
  CHECK(set->FindDefinition("f")->is_fact());
  CHECK(set->FindDefinition("g")->cases[0].outcome.is.has_value());
  const Case& deep = set->FindDefinition("h")->cases.at(0);
  CHECK(deep.match->stmts.size() == 1);
  CHECK(deep.when.size() == 2);
  CHECK(deep.outcome.cases.size() == 2);
  CHECK(deep.outcome.cases[1].outcome.replace->stmts.size() == 2);
  CHECK(set->FindDefinition("outs")->head.variadic);
}

TEST_CASE("Loader: an including file replaces, diamonds are fine") {
  const test::Files files = {
      {"lib/base.yaml",
       "qrewrite: 1\nname: base\nparams: {p: {default: 1}}\nsets: {ops: [Relu]}\n"
       "define:\n  y = emit(x):\n    - => Abs(x)\nrules:\n"
       "  - {name: first, match: y = @ops(x), replace: y = $emit(x)}\n"
       "  - {name: second, match: y = Neg(x), replace: y = $emit(x)}\n"},
      {"lib/left.yaml",
       "qrewrite: 1\nname: left\ninclude: [base.yaml]\nsets: {ops: [Relu, Neg]}\n"},
      {"lib/right.yaml", "qrewrite: 1\nname: right\ninclude: [../lib/base.yaml]\n"},
  };
  const auto set = Load(test::File(R"yaml(
include: [lib/left.yaml, lib/right.yaml]
params: {p: {default: 2}}
define:
  y = emit(x):
    - => Neg(x)
phases:
  - {name: p, rules: all}
rules:
  - {name: own, match: y = Ceil(x), replace: y = $emit(x)}
  - {name: second, match: y = Exp(x), replace: y = $emit(x)}
)yaml"),
                        files);
  CHECK(set->sources.size() == 4);
  CHECK(set->FindParam("p")->default_value == Literal(int64_t{2}));
  CHECK(set->FindSet("ops")->members.size() == 2);
  CHECK(set->definitions.size() == 1);
  CHECK(RuleNames(set->phases[0].rules) == "first second own");
  CHECK(Print(set->FindRule("second")->match) == "y = Exp(x)\n");
}

TEST_CASE("Loader: names that a broken include may have are not called unknown") {
  const std::string text = test::File(
      "include: [base.yaml]\nphases:\n  - {name: p, rules: [base-rule, own]}\nrules:\n"
      "  - {name: own, match: y = @ops(x), replace: y = $emit(z)}\n");
  const std::string broken = test::Messages(text, {{"base.yaml", "qrewrite: 1\nname: @base\n"}});
  CHECK(broken.find("QR0101") != std::string::npos);
  CHECK(broken.find("there is no") == std::string::npos);
  CHECK(broken.find("QR0404") != std::string::npos);  // `z`: no include can bind it
  const std::string sound = test::Messages(text, {{"base.yaml", "qrewrite: 1\nname: base\n"}});
  for (const char* name : {"base-rule", "@ops", "emit"}) {
    CAPTURE(name);
    CHECK(sound.find(name) != std::string::npos);
  }
}

TEST_CASE("Loader: two includes may disagree about what nobody needs") {
  const test::Files files = {
      {"a.yaml",
       "qrewrite: 1\nname: a\nsets: {ops: [Relu]}\nrules:\n"
       "  - {name: same, match: y = @ops(x), replace: y = Abs(x)}\n"},
      {"b.yaml",
       "qrewrite: 1\nname: b\nsets: {ops: [Neg]}\nrules:\n"
       "  - {name: same, match: y = @ops(x), replace: y = Abs(x)}\n"},
  };
  const auto set = Load(test::File("include: [a.yaml, b.yaml]\nphases:\n  - {name: a, use: a}\n"
                                   "  - {name: b, use: b}\n"),
                        files);
  CHECK(set->rules.empty());
  CHECK(set->phases[0].use->FindSet("ops")->members[0].op.op.name == "Relu");
  CHECK(set->phases[1].use->FindSet("ops")->members[0].op.op.name == "Neg");
}

TEST_CASE("Loader: who only runs a set does not read what it never reaches in other files") {
  const test::Files files = {{"base.yaml", test::File(R"yaml(
define:
  y = reached(x):
    - => $behind(x)
  y = behind(x):
    - => Neg(x)
  y = apart(x):
    - => Broken(
rules:
  - {name: listed, match: y = Relu(x), replace: y = $reached(x)}
  - {name: apart, match: y = Abs(x), replace: y = $apart(x)}
  - {name: quoted, match: y = Exp(x), where: "name(x) =~ '^a$'", replace: "y = $ 'behind'(x)"}
  - {name: escaped, match: y = Exp(x), replace: "y = $'b\\x65hind'(x)"}
)yaml")}};
  const auto load = [&](const std::string& phase, bool tests) {
    LoadOptions options = test::Reading(files);
    options.tests = tests;
    return LoadRulesText(
        "t.yaml", test::File("include: [base.yaml]\nphases: [{name: p, rules: [" + phase + "]}]\n"),
        options);
  };
  const auto set = load("listed", false);
  REQUIRE(set.ok());
  CHECK((*set)->rules.size() == 1);
  CHECK((*set)->FindDefinition("reached") != nullptr);
  CHECK((*set)->FindDefinition("behind") != nullptr);
  CHECK((*set)->FindDefinition("apart") == nullptr);
  CHECK(!load("listed", true).ok());
  CHECK(!load("apart", false).ok());
  const auto quoted = load("quoted", false);
  REQUIRE(quoted.ok());
  CHECK((*quoted)->FindDefinition("behind") != nullptr);
  CHECK((*quoted)->FindDefinition("reached") == nullptr);
  const auto escaped = load("escaped", false);  // who cannot be sure reads all
  REQUIRE(!escaped.ok());
  CHECK(escaped.status().message().find("there is no definition") == std::string::npos);
}

TEST_CASE("Loader: an include is a path or, where no file is called so, a name of a shipped set") {
  const std::map<std::string, std::string> files{
      {"/shipped/base.yaml", test::File("define: {y = made(x): [=> Abs(x)]}\n")}};
  LoadOptions options = test::Reading(files);
  std::vector<std::string> asked;
  options.find = [&](const std::string& name) {
    asked.push_back(name);
    return name == "base" ? "/shipped/base.yaml" : "";
  };
  const auto load = [&](const std::string& include) {
    return LoadRulesText(
        "t.yaml",
        test::File("include: [" + include +
                   "]\nrules: [{name: r, match: y = Relu(x), replace: y = $made(x)}]\n"),
        options);
  };
  CHECK(load("base").ok());
  CHECK_FALSE(load("other").ok());
  CHECK(asked == std::vector<std::string>{"base", "other"});
  for (const char* path : {"base.yaml", "./base", "../base"}) CHECK_FALSE(load(path).ok());
  CHECK(asked.size() == 2);  // these are paths
}

TEST_CASE("Loader: functions of the host may be called") {
  LoadOptions options;
  options.host_functions = {"half"};
  const std::string text = test::File(
      "rules:\n  - {name: r, match: y = Relu(x), where: half(x) == 1, replace: y = Abs(x)}\n");
  CHECK(LoadRulesText("t.yaml", text, options).ok());
  CHECK_FALSE(LoadRulesText("t.yaml", text).ok());
  // What it cannot be given would only keep the rule from firing.
  for (const char* argument : {"'mode'", "params.mode", "dtype(x)", "FLOAT", "n", "@pair"}) {
    const std::string called = test::File(
        fmt::format("params: {{mode: {{type: string, default: a}}}}\nsets: {{pair: [Relu, Abs]}}\n"
                    "rules:\n  - {{name: r, match: \"y = n:Relu(x)\", where: \"half(x, {}) == 1\", "
                    "replace: y = Abs(x)}}\n",
                    argument));
    const auto loaded = LoadRulesText("t.yaml", called, options);
    REQUIRE_MESSAGE(!loaded.ok(), argument);
    CHECK_MESSAGE(loaded.status().diagnostics()[0].code == "QR0423", loaded.status().message());
  }
}

TEST_CASE("Loader: the JSON form is the YAML form") {
  const std::string yaml = test::File(R"yaml(
params: {mode: {default: auto, one_of: [auto, clip]}}
sets: {ops: {Relu: {op: Abs, axis: 1}}}
define:
  y = emit(x):
    - when params.mode == 'auto' => Abs(x)
    - {replace: "y = Neg(x)"}
rules:
  - name: r
    match: |
      a = n:@ops(x)
      y = Exp(a)
    where: [rank(x) == 2, n.axis == 1]
    let: {k: 1}
    replace: y = $emit(x)
)yaml");
  const std::string json = R"json({"rules": [{
    "replace": "y = $emit(x)", "let": {"k": 1}, "where": ["rank(x) == 2", "n.axis == 1"],
    "match": ["a = n:@ops(x)", "y = Exp(a)"], "name": "r"}],
  "define": {"y = emit(x)": ["when params.mode == 'auto' => Abs(x)", {"replace": ["y = Neg(x)"]}]},
  "sets": {"ops": {"Relu": {"axis": 1, "op": "Abs"}}},
  "params": {"mode": {"one_of": ["auto", "clip"], "default": "auto"}},
  "name": "t", "qrewrite": 1})json";
  const auto a = Load(yaml), b = Load(json, {}, "t.json");
  CHECK(a->FindParam("mode")->one_of == b->FindParam("mode")->one_of);
  CHECK(a->FindSet("ops")->members[0].data == b->FindSet("ops")->members[0].data);
  CHECK(SameTree(a->rules[0].match, b->rules[0].match));
  CHECK(SameTree(*a->rules[0].replace, *b->rules[0].replace));
  REQUIRE(b->rules[0].where.size() == 2);
  CHECK(SameTree(*a->rules[0].where[1], *b->rules[0].where[1]));
  CHECK(SameTree(*a->rules[0].let[0].value, *b->rules[0].let[0].value));
  CHECK(SameTree(*a->definitions[0].cases[0].when[0], *b->definitions[0].cases[0].when[0]));
  CHECK(SameTree(*a->definitions[0].cases[1].outcome.replace,
                 *b->definitions[0].cases[1].outcome.replace));
}

TEST_CASE("Loader: a file that is not there is no fault of its rules") {
  const auto loaded = LoadRules("/no/such/file.yaml");
  REQUIRE_FALSE(loaded.ok());
  CHECK(loaded.status().code() == StatusCode::kIo);
  CHECK(LoadRules("/").status().code() == StatusCode::kIo);
}

TEST_CASE("Loader: tests have the nearest version of other domains") {
  const auto set = Load(test::File(R"yaml(
opset: {npu: ">=3", old: "<1"}
rules:
  - name: r
    match: y = Relu(x)
    replace: y = Abs(x)
    opset: {npu: ">=2 <9"}
    tests:
      - {name: none stated, given: "x: float; y = Relu(x)", expect: "x: float; y = Abs(x)"}
      - {name: stated, opset: {npu: 5}, given: "x: float; y = Relu(x)", expect: "x: float; y = Abs(x)"}
)yaml"));
  const std::vector<RuleTest>& tests = set->rules[0].tests;
  CHECK(tests[0].opset.at("npu") == 3);
  CHECK(tests[0].opset.at("old") == 0);
  CHECK(tests[1].opset.at("npu") == 5);
}

TEST_CASE("Loader: ranges of opsets") {
  int64_t min = 0, max = 0;
  CHECK(ParseOpsetRange(">=7 <13", min, max));
  CHECK(min == 7);
  CHECK(max == 12);
  CHECK(ParseOpsetRange("> 7, <= 13", min, max));
  CHECK(min == 8);
  CHECK(max == 13);
  CHECK(ParseOpsetRange("==10", min, max));
  CHECK(min == max);
  for (const char* bad : {"", "10", "=10", ">=", ">=a", ">=1x", ">=9 <9", "=>1", "!=3"}) {
    CAPTURE(bad);
    CHECK_FALSE(ParseOpsetRange(bad, min, max));
  }
}

}  // namespace qrewrite
