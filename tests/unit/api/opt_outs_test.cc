// Opt-outs of a run: rules that are skipped, nodes that are kept; and counters with conditions.
#include "tests/unit/api/api_support.h"

namespace qrewrite {
namespace {

constexpr const char* kRules = R"yaml(qrewrite: 1
name: net
phases:
  - {name: rewrite, rules: all}
  - {name: fold, fold: all}
  - {name: strides, write_defaults: [MaxPool]}
rules:
  - {name: relu, match: y = Relu(x), replace: y = Elu(x)}
  - {name: neg, match: y = Neg(Abs(x)), replace: y = Neg(x)}
  - {name: half, match: "y = Mul(x, c)", where: const(c) and c == 0.5, replace: y = Sigmoid(x)}
)yaml";

constexpr const char* kNet =
    R"(net (float[1, 1, 4, 4] x) => (float[1, 1, 3, 3] y) <float one = {1}> {
  [first] a = Relu(x)
  [second] b = Abs(a)
  c = Neg(b)
  [quarter] k = Div(one, two)
  [product] d = Mul(c, k)
  [pool] y = MaxPool<kernel_shape = [2, 2]>(d)
})";

// The operators of `kNet` after the rules, in order; "!" and the message after an error.
std::string Ops(const RewriteOptions& options, Report* report = nullptr) {
  std::string graph = kNet;
  graph.replace(graph.find("float one = {1}"), 15, "float one = {1}, float two = {2}");
  onnx::ModelProto proto = ProtoOf(graph);
  Model model = *FromProto(proto);
  const Result<Report> done = Rewrite(model, RulesOf(kRules), options);
  if (!done.ok()) return "!" + done.status().message();
  if (report != nullptr) *report = *done;
  std::string ops;
  REQUIRE(ToProto(model, &proto).ok());
  for (const onnx::NodeProto& node : proto.graph().node()) {
    ops += (ops.empty() ? "" : " ") + node.op_type();
    if (node.op_type() == "MaxPool" && node.attribute_size() > 1) ops += "+";
  }
  return ops;
}

TEST_CASE("Opt-outs: without any, all rules and phases do their work") {
  CHECK(Ops({}) == "Elu Neg Sigmoid MaxPool+");
}

TEST_CASE("Opt-outs: a rule that is skipped does not fire") {
  CHECK(Ops({.skip_rules = {"relu"}}) == "Relu Neg Sigmoid MaxPool+");
  CHECK(Ops({.skip_rules = {"relu", "neg"}}) == "Relu Abs Neg Sigmoid MaxPool+");
  CHECK(Contains(Ops({.skip_rules = {"rely"}}), "has no rule `rely`; did you mean `relu`?"));
}

TEST_CASE("Opt-outs: kept operators are neither matched, folded nor given attributes") {
  Report report;
  CHECK(Ops({.keep_ops = {"Relu"}}, &report) == "Relu Neg Sigmoid MaxPool+");
  CHECK(report.kept == 1);
  CHECK(report.warnings.empty());
  CHECK(Ops({.keep_ops = {"A*", "MaxPool"}}) == "Elu Abs Neg Sigmoid MaxPool");
  // The quotient is no constant any more, so that `half` sees none.
  CHECK(Ops({.keep_ops = {"Div"}}) == "Elu Neg Div Mul MaxPool+");
}

TEST_CASE("Opt-outs: nodes are kept by their names, or those of their outputs") {
  CHECK(Ops({.keep_nodes = {"first"}}) == "Relu Neg Sigmoid MaxPool+");
  CHECK(Ops({.keep_nodes = {"^c$", "^pro"}}) == "Elu Abs Neg Mul MaxPool+");
  CHECK(Contains(Ops({.keep_nodes = {"("}}), "`(` is no regular expression"));
}

TEST_CASE("Opt-outs: what names nothing is a warning") {
  Report report;
  CHECK(Ops({.keep_ops = {"Gru"}, .keep_nodes = {"third"}}, &report) == "Elu Neg Sigmoid MaxPool+");
  REQUIRE(report.warnings.size() == 2);
  CHECK(report.warnings[0].Text() == "no node is a `Gru`, which was to be kept");
  CHECK(Contains(report.warnings[1].Text(), "matches `third`"));
}

TEST_CASE("Counters: each counts the firings for which its condition held before the firing") {
  const Rules rules = RulesOf(R"yaml(qrewrite: 1
name: counting
phases: [{name: all, rules: all}]
rules:
  - name: relu
    report: {relus: true, shared: uses(x) > 1, unknown: "shape(x)[0] == 7"}
    match: y = Relu(x)
    replace: y = Elu(x)
)yaml");
  Model model = ModelOf(R"(g (float[N] x) => (float[N] a, float[N] c) {
    a = Relu(x)  b = Sigmoid(x)  c = Relu(b)
  })");
  const Result<Report> report = Rewrite(model, rules);
  REQUIRE_MESSAGE(report.ok(), report.status().message());
  CHECK(report->Count("relus") == 2);
  CHECK(report->Count("shared") == 1);
  CHECK(report->Count("unknown") == 0);
  CHECK(Contains(report->Text(), "  2  relu  relus 2, shared 1\nrelus 2, shared 1\n2 rewrites"));
  CHECK(rules.rules()[0].counters == std::vector<std::string>{"relus", "shared", "unknown"});
}

}  // namespace
}  // namespace qrewrite
