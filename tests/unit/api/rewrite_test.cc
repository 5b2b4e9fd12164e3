#include <nlohmann/json.hpp>

#include "tests/unit/api/api_support.h"

namespace qrewrite {
namespace {

constexpr const char* kNet = R"yaml(qrewrite: 1
name: net
rules:
  - {name: relu, match: y = Relu(x), replace: y = Elu(x)}
  - {name: sigmoid, match: y = Sigmoid(x), warn: Sigmoid is slow}
  - {name: neg, match: y = Neg(x), refuse: Neg is not wanted}
phases:
  - {name: relus, rules: [relu]}
  - {name: check, rules: [sigmoid, neg]}
)yaml";

TEST_CASE("Rewrite: overloads of a function are different operators") {
  onnx::ModelProto proto = ProtoOf("g (float[2] x) => (float[2] y) { a = l.F(x)  y = l.F(a) }");
  auto* import = proto.add_opset_import();
  import->set_domain("l");
  import->set_version(1);
  proto.set_ir_version(10);
  proto.mutable_graph()->mutable_node(0)->set_overload("other");
  Result<Model> model = FromProto(proto);
  REQUIRE_MESSAGE(model.ok(), model.status().message());
  // Only the node without overload is meant; the other one is not equal to what the rule makes.
  const Rules rules = RulesOf(
      "qrewrite: 1\nname: r\nrules:\n"
      "  - {name: r, match: 'y = l.F(x)', replace: 'y = l.G(l.H(x))'}\n"
      "  - {name: back, match: 'y = l.H(x)', replace: 'y = Neg(x)'}\n");
  REQUIRE(Rewrite(*model, rules).ok());
  onnx::ModelProto out;
  REQUIRE(ToProto(*model, &out).ok());
  REQUIRE(out.graph().node_size() == 3);
  CHECK(out.graph().node(0).op_type() == "F");
  CHECK(out.graph().node(0).overload() == "other");
  CHECK(out.graph().node(1).op_type() == "Neg");
  CHECK(out.graph().node(2).op_type() == "G");
}

TEST_CASE("Rewrite: a node of an overload that is made again keeps it") {
  onnx::ModelProto proto = ProtoOf("g (float[2] x) => (float[2] y) { a = Neg(x)  y = l.F(a) }");
  auto* import = proto.add_opset_import();
  import->set_domain("l");
  import->set_version(1);
  proto.set_ir_version(10);
  proto.mutable_graph()->mutable_node(1)->set_overload("other");
  Result<Model> model = FromProto(proto);
  REQUIRE_MESSAGE(model.ok(), model.status().message());
  const Rules rules = RulesOf(
      "qrewrite: 1\nname: r\nsets: {none: [Relu]}\nrules:\n"
      "  - name: r\n    match: |\n      t = Neg(x)\n"
      "      y = n:!@none(t)\n    replace: y = n(t -> Abs(x))\n");
  REQUIRE(Rewrite(*model, rules).ok());
  onnx::ModelProto out;
  REQUIRE(ToProto(*model, &out).ok());
  REQUIRE(out.graph().node_size() == 2);
  CHECK(out.graph().node(0).op_type() == "Abs");
  CHECK(out.graph().node(1).op_type() == "F");
  CHECK(out.graph().node(1).overload() == "other");
}

TEST_CASE("Rewrite: the report counts what was done") {
  Model model = ModelOf(kChain);
  const Result<Report> report = Rewrite(model, RulesOf(kTidy));
  REQUIRE_MESSAGE(report.ok(), report.status().message());
  CHECK(report->changed);
  CHECK(model.changed());
  CHECK(report->rewrites == 2);
  CHECK(report->Count("relus") == 2);
  CHECK(report->Count("others") == 0);
  CHECK(report->nodes_before == 6);
  CHECK(report->nodes_after == 4);
  REQUIRE(report->rules.size() == 1);
  CHECK(report->rules[0].set == "tidy");
  CHECK(report->rules[0].rule == "double-relu");
  CHECK(Contains(report->Text(), "  2  double-relu  relus\nrelus 2\n"));
  CHECK(Contains(report->Text(), "2 rewrites; nodes 6 -> 4"));

  const auto json = nlohmann::json::parse(report->Json());
  CHECK(json["rewrites"] == 2);
  CHECK(json["counts"]["relus"] == 2);
  CHECK(json["nodes"]["before"] == 6);
  CHECK(json["rules"][0]["rule"] == "double-relu");
}

TEST_CASE("Rewrite: the second time nothing changes") {
  Model model = ModelOf(kChain);
  const Rules rules = RulesOf(kTidy);
  REQUIRE(Rewrite(model, rules).ok());
  const std::string bytes = *model.Serialize();
  Result<Model> again = Model::Parse(bytes);
  REQUIRE(again.ok());
  const Result<Report> report = Rewrite(*again, rules);
  REQUIRE(report.ok());
  CHECK_FALSE(report->changed);
  CHECK(Contains(report->Text(), "0 rewrites, nothing changed"));
  CHECK(*again->Serialize() == bytes);
}

TEST_CASE("Rewrite: parameters and counts without sense leave the model alone") {
  Model model = ModelOf(kChain);
  const Rules rules = RulesOf(kTidy);
  const auto unknown = Rewrite(model, rules, {.set = {{"mod", "auto"}}});
  CHECK(unknown.status().code() == StatusCode::kUsage);
  CHECK(Contains(unknown.status().message(), "did you mean `mode`?"));
  CHECK(Rewrite(model, rules, {.set = {{"mode", "maybe"}}}).status().code() == StatusCode::kUsage);
  CHECK(Rewrite(model, rules, {.max_rewrites = -1}).status().code() == StatusCode::kUsage);
  CHECK(Rewrite(model, rules, {.stop_after = -1}).status().code() == StatusCode::kUsage);
  CHECK(model.poison().ok());
  const auto never = Rewrite(model, rules, {.set = {{"mode", "never"}}});
  REQUIRE(never.ok());
  CHECK_FALSE(never->changed);
}

TEST_CASE("Rewrite: a model outside the opset range is left alone") {
  std::string text = kTidy;
  text.replace(text.find(">=7"), 3, ">=18");
  Model model = ModelOf(kChain);
  CHECK(Rewrite(model, RulesOf(text)).status().code() == StatusCode::kUnsupported);
  CHECK(model.poison().ok());
  CHECK(model.Serialize().ok());
}

TEST_CASE("Rewrite: a refusal names the node and poisons the model") {
  const TempFolder folder;
  Model model = ModelOf(kChain);
  const auto report = Rewrite(model, RulesOf(kNet));
  CHECK(report.status().code() == StatusCode::kRefused);
  CHECK(Contains(report.status().message(), "Neg (unnamed, output `d`): Neg is not wanted"));
  CHECK_FALSE(model.poison().ok());
  const Status saved = model.Save(folder / "out.onnx");
  CHECK(saved.code() == StatusCode::kInvalidModel);
  CHECK(Contains(saved.message(), "an earlier rewrite failed"));
  CHECK(Contains(saved.message(), "Neg is not wanted"));
  CHECK(folder.Files().empty());
  CHECK_FALSE(model.Serialize().ok());
  CHECK_FALSE(Rewrite(model, RulesOf(kTidy)).ok());
}

TEST_CASE("Rewrite: allow_partial makes refusals warnings, strict makes warnings errors") {
  Model model = ModelOf(kChain);
  const auto report = Rewrite(model, RulesOf(kNet), {.allow_partial = true});
  REQUIRE_MESSAGE(report.ok(), report.status().message());
  REQUIRE(report->warnings.size() == 2);
  CHECK(report->warnings[0].rule == "neg");
  CHECK(report->warnings[0].op == "Neg");
  CHECK(report->warnings[0].output == "d");
  CHECK(report->warnings[1].Text() ==
        "Sigmoid (unnamed, output `e`): Sigmoid is slow (rule `sigmoid`)");
  CHECK(model.Serialize().ok());

  Model strict = ModelOf("g (float[N] x) => (float[N] y) { y = Sigmoid(x) }");
  const auto refused = Rewrite(strict, RulesOf(kNet), {.strict = true});
  CHECK(refused.status().code() == StatusCode::kRefused);
  CHECK(Contains(refused.status().message(), "Sigmoid is slow"));
  CHECK(strict.poison().ok());  // nothing was changed
}

TEST_CASE("Rewrite: endless rewriting is an error that names the rules") {
  Model model = ModelOf(kChain);
  const auto report = Rewrite(model, RulesOf(R"yaml(qrewrite: 1
name: loop
rules:
  - {name: there, match: y = Neg(x), replace: y = Abs(x)}
  - {name: back, match: y = Abs(x), replace: y = Neg(x)}
phases:
  - {name: loop, rules: all}
)yaml"));
  CHECK(report.status().code() == StatusCode::kLimit);
  CHECK(Contains(report.status().message(), "`there`"));
  CHECK(Contains(report.status().message(), "`back`"));
}

TEST_CASE("Rewrite: several rule sets on one model, one report") {
  Model model = ModelOf("g (float[N] x) => (float[N] y) { a = Relu(x)  y = Relu(a) }");
  Result<Report> first = Rewrite(model, RulesOf(kTidy));
  const Result<Report> second = Rewrite(model, RulesOf(kNet));
  REQUIRE(first.ok());
  REQUIRE_MESSAGE(second.ok(), second.status().message());
  first->Add(*second);
  CHECK(first->sets == std::vector<std::string>{"tidy", "net"});
  CHECK(first->rewrites == 2);
  CHECK(first->nodes_before == 2);
  CHECK(first->nodes_after == 1);
  CHECK(Contains(first->Text(), "tidy/double-relu"));
  CHECK(Contains(*model.Text(), "y = Elu(x)"));
}

TEST_CASE("Report: what integers stand for behind two rule sets") {
  Report first, second;
  first.units = {{"a", {.scale = {2}, .zero_point = {6}}},
                 {"b", {.scale = {1, 2, 3, 4}, .zero_point = {0}}},
                 {"c", {.scale = {1, 2}, .zero_point = {0}}}};
  second.sets = {"later"};
  second.units = {{"a", {.scale = {0.5, 3}, .zero_point = {1}}},
                  {"b", {.scale = {1, 2}, .zero_point = {0}}},
                  {"d", {.scale = {5}, .zero_point = {0}}}};
  first.Add(second);
  REQUIRE(first.units.size() == 3);  // nobody can say it of `b`
  CHECK(first.units.at("a").scale == std::vector<double>{1, 6});
  CHECK(first.units.at("a").zero_point == std::vector<double>{13, 3});
  CHECK(first.units.at("c").scale == std::vector<double>{1, 2});
  CHECK(first.units.at("d").scale == std::vector<double>{5});
  REQUIRE(first.warnings.size() == 1);
  CHECK(first.warnings[0].set == "later");
  CHECK(first.warnings[0].Text().find("`b`") != std::string::npos);
}

TEST_CASE("Report: names of a model that are no UTF-8 are still JSON") {
  Report report;
  report.warnings.push_back({"s", "r", "text", "Op", "\xff\x1b[31m", "\n"});
  CHECK_FALSE(Contains(report.Json(), "\x1b"));
  CHECK(nlohmann::json::parse(report.Json())["warnings"].size() == 1);
  CHECK(report.warnings[0].Text() == "Op `\\xff\\x1b[31m`: text (rule `r`)");
}

}  // namespace
}  // namespace qrewrite
