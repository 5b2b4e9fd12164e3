#include <fmt/format.h>

#include <cstring>
#include <new>
#include <optional>
#include <span>
#include <stdexcept>

#include "tests/unit/api/api_support.h"

namespace qrewrite {
namespace {

constexpr int kFloat = 1;

float FirstFloat(const ConstTensor& tensor) {
  float value = 0;
  REQUIRE(tensor.bytes.size() >= sizeof value);
  std::memcpy(&value, tensor.bytes.data(), sizeof value);
  return value;
}

ConstTensor FloatScalar(float value) {
  const auto bytes = std::as_bytes(std::span(&value, 1));
  return {.dtype = kFloat, .dims = {}, .bytes = std::vector(bytes.begin(), bytes.end())};
}

std::shared_ptr<FunctionRegistry> HostFunctions() {
  auto functions = std::make_shared<FunctionRegistry>();
  const Status twice =
      functions->AddFold("twice", [](std::span<const ConstTensor> args) -> Result<ConstTensor> {
        if (args.size() != 1) return Status(StatusCode::kUnsupported, "twice takes one argument");
        return FloatScalar(2 * FirstFloat(args[0]));
      });
  const Status small = functions->AddPredicate(
      "is_small",
      [](std::span<const ConstTensor> args) -> Result<bool> { return FirstFloat(args[0]) < 10; });
  REQUIRE(twice.ok());
  REQUIRE(small.ok());
  return functions;
}

constexpr const char* kCalls = R"yaml(qrewrite: 1
name: calls
rules:
  - name: add-to-mul
    match: y = Add(x, c)
    where: is_small(c)
    let:
      d: twice(c)
    replace: y = Mul(x, d)
phases:
  - {name: calls, rules: all}
)yaml";

std::string AddOf(const std::string& value) {
  return "g (float[N] x) => (float[N] y) <float c = {" + value + "}> { y = Add(x, c) }";
}

TEST_CASE("Functions: what an operator makes is held to the type that its node has") {
  const auto folded = [](int dtype, const std::vector<int64_t>& dims, size_t size) {
    auto functions = std::make_shared<FunctionRegistry>();
    const Status added = functions->AddOperator(
        "", "Neg", [=](const OperatorCall&) -> Result<std::vector<ConstTensor>> {
          return std::vector<ConstTensor>{
              {.dtype = dtype, .dims = dims, .bytes = std::vector<std::byte>(size)}};
        });
    REQUIRE(added.ok());
    Model model = ModelOf(
        "g (float[2] x) => (float[2] y) <float[2] c = {1, 2}> { t = Neg(c)  y = Add(x, t) }");
    const Rules rules =
        RulesOf("qrewrite: 1\nname: r\nphases: [{name: f, fold: all}]\n", {.functions = functions});
    return Rewrite(model, rules).status();
  };
  CHECK(folded(1, {2}, 8).ok());
  const Status status = folded(11, {2}, 16);
  CHECK(status.code() == StatusCode::kCallback);
  CHECK(Contains(status.message(),
                 "operator `Neg` of the host made double[2] for `t`, which is float[2]"));
  CHECK(folded(1, {1}, 4).code() == StatusCode::kCallback);
}

TEST_CASE("Functions: what one throws is an error of the run, and the model stays as it was") {
  for (const char* at : {"is_small", "twice"}) {
    CAPTURE(at);
    auto functions = std::make_shared<FunctionRegistry>();
    const auto may_throw = [at](const std::string& name) {
      if (name == at) throw std::bad_alloc();
    };
    const Status fold =
        functions->AddFold("twice", [=](std::span<const ConstTensor> args) -> Result<ConstTensor> {
          may_throw("twice");
          return FloatScalar(2 * FirstFloat(args[0]));
        });
    const Status predicate = functions->AddPredicate("is_small", [=](auto) -> Result<bool> {
      may_throw("is_small");
      return true;
    });
    REQUIRE(fold.ok());
    REQUIRE(predicate.ok());
    const Rules rules = RulesOf(kCalls, {.functions = functions});
    Model model = ModelOf(AddOf("3"));
    const std::string before = *model.Serialize();
    const auto report = Rewrite(model, rules);
    CHECK(report.status().code() == StatusCode::kCallback);
    CHECK(Contains(report.status().message(), fmt::format("function `{}` of the host threw", at)));
    REQUIRE(report.status().diagnostics().size() == 1);
    CHECK(report.status().diagnostics()[0].notes ==
          std::vector<std::string>{"rule `add-to-mul` at Add `y`"});
    CHECK(model.poison().ok());
    CHECK(*model.Serialize() == before);
    const Result<Explanation> told = Explain(model, rules, {.at = "y"});
    REQUIRE(told.ok());
    REQUIRE(told->attempts.size() == 1);
    CHECK(Contains(told->attempts[0].reason, fmt::format("function `{}` of the host threw", at)));
  }
}

TEST_CASE("Functions: what an operator throws is an error of the run") {
  auto functions = std::make_shared<FunctionRegistry>();
  REQUIRE(functions
              ->AddOperator("", "Softsign",
                            [](const OperatorCall&) -> Result<std::vector<ConstTensor>> {
                              throw std::runtime_error("no such device");
                            })
              .ok());
  const char* const kModel =
      "g (float[N] x) => (float[N] y) <float c = {3}> { d = Softsign(c)  y = Add(x, d) }";
  for (const char* rest :
       {"phases: [{name: f, fold: all}]",
        "rules: [{name: r, match: \"y = Add(x, c)\", where: const(c), "
        "replace: \"y = Sub(x, c)\"}]",
        "rules: [{name: r, match: \"y = Add(x, c)\", replace: "
        "\"y = Sub(x, Softsign(2.0))\", let: {z: Softsign(2.0)}, where: z > 1}]"}) {
    CAPTURE(rest);
    Model model = ModelOf(kModel);
    const auto report = Rewrite(
        model, RulesOf(std::string("qrewrite: 1\nname: r\n") + rest, {.functions = functions}));
    CHECK(report.status().code() == StatusCode::kCallback);
    CHECK(Contains(report.status().message(), "operator `Softsign` of the host"));
    CHECK(model.poison().ok());
  }
}

TEST_CASE("Functions: tests of a rule file fail with what a function throws") {
  auto functions = std::make_shared<FunctionRegistry>();
  REQUIRE(functions->AddPredicate("ask", [](auto) -> Result<bool> { throw 3; }).ok());
  const Rules rules = RulesOf(R"yaml(qrewrite: 1
name: r
rules:
  - name: r
    match: y = Relu(x)
    where: ask(1)
    replace: y = x
    tests: [{name: t, given: "x: float[2]\ny = Relu(x)", expect: unchanged}]
)yaml",
                              {.functions = functions});
  const TestReport report = rules.RunTests();
  REQUIRE(report.failed == 1);
  CHECK(Contains(report.results[0].message, "function `ask` of the host threw an exception"));
}

TEST_CASE("Functions: of a list they are asked about each member") {
  auto functions = std::make_shared<FunctionRegistry>();
  size_t most = 0;
  const auto count = [&](std::span<const ConstTensor> args) {
    most = std::max(most, static_cast<size_t>(args[0].dims.empty() ? 1 : args[0].dims[0]));
    return args[0].dims;
  };
  REQUIRE(functions
              ->AddPredicate("small",
                             [&](std::span<const ConstTensor> args) -> Result<bool> {
                               const auto dims = count(args);
                               return dims.size() == 1 && dims[0] < 3;
                             })
              .ok());
  const auto fires = [&](const std::string& where, const std::string& second) {
    Model model = ModelOf("g (float[N] x) => (float[N] y) <float[2] a = {1, 2}, float[" + second +
                          " > { y = Concat<axis = 0>(a, b) z = Identity(x) }");
    const auto report =
        Rewrite(model, RulesOf("qrewrite: 1\nname: r\nrules: [{name: r, match: "
                               "'y = Concat<axis=0>(xs...)', where: '" +
                                   where + "', replace: 'y = Concat<axis=-1>(xs...)'}]",
                               {.functions = functions}));
    REQUIRE_MESSAGE(report.ok(), report.status().message());
    return report->rewrites > 0;
  };
  const std::string same = "2] b = {3, 4}", longer = "4] b = {1, 2, 3, 4}";
  CHECK(fires("small(xs)", same));
  CHECK_FALSE(fires("small(xs)", longer));
  CHECK(fires("any(small(xs)) and not small(xs)", longer));
  CHECK(most == 4);                              // never of both at once
  CHECK_FALSE(fires("small([1, 2, 3])", same));  // numbers are one tensor
  CHECK(fires("small([1, 2])", same));
}

TEST_CASE("Functions: arguments are views of the model") {
  const std::byte* seen = nullptr;
  auto functions = std::make_shared<FunctionRegistry>();
  REQUIRE(functions
              ->AddPredicate("look",
                             [&](std::span<const ConstTensor> args) -> Result<bool> {
                               seen = args[0].bytes.data();
                               return false;
                             })
              .ok());
  // Bytes: wider elements are copied where the file does not have them aligned.
  Model model = ModelOf(
      "g (int8[20] x) => (int8[20] y) <int8[20] c = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, "
      "14, 15, 16, 17, 18, 19, 20}> { y = Add(x, c) }");
  const Rules rules = RulesOf(R"yaml(qrewrite: 1
name: r
rules: [{name: r, match: "y = Add(x, c)", where: "const(c) and look(c)", replace: y = x}]
)yaml",
                              {.functions = functions});
  REQUIRE(Rewrite(model, rules).ok());
  REQUIRE(seen != nullptr);
  const ConstTensor same = *model.FindConstant("c")->Read();
  CHECK(same.bytes.data() == seen);
}

TEST_CASE("Functions: a rule file calls functions and predicates of the host") {
  const Rules rules = RulesOf(kCalls, {.functions = HostFunctions()});
  Model small = ModelOf(AddOf("3"));
  REQUIRE(Rewrite(small, rules).ok());
  CHECK(Contains(*small.Text(), "Mul(x, 6"));
  Model large = ModelOf(AddOf("30"));
  const auto report = Rewrite(large, rules);
  REQUIRE(report.ok());
  CHECK_FALSE(report->changed);
}

TEST_CASE("Functions: without them the file does not load") {
  const auto rules = Rules::Parse("rules.yaml", kCalls);
  CHECK(rules.status().code() == StatusCode::kInvalidRules);
  CHECK(Contains(rules.status().message(), "is_small"));
}

TEST_CASE("Functions: errors and nonsense of a host are no match") {
  auto functions = std::make_shared<FunctionRegistry>();
  REQUIRE(functions
              ->AddPredicate("is_small",
                             [](std::span<const ConstTensor>) -> Result<bool> { return true; })
              .ok());
  const auto nonsense = [](std::span<const ConstTensor>) -> Result<ConstTensor> {
    return ConstTensor{.dtype = kFloat, .dims = {-1}, .bytes = {}};
  };
  REQUIRE(functions->AddFold("twice", nonsense).ok());
  Model model = ModelOf(AddOf("3"));
  const auto report = Rewrite(model, RulesOf(kCalls, {.functions = functions}));
  REQUIRE(report.ok());
  CHECK_FALSE(report->changed);
}

TEST_CASE(
    "Functions: one of another type than the graph is a warning, of a run that is stopped too") {
  auto functions = std::make_shared<FunctionRegistry>();
  const Status added =
      functions->AddFold("wider", [](std::span<const ConstTensor>) -> Result<ConstTensor> {
        return ConstTensor{.dtype = 11, .dims = {}, .bytes = std::vector<std::byte>(8)};
      });
  REQUIRE(added.ok());
  const Rules rules = RulesOf(R"yaml(qrewrite: 1
name: calls
rules:
  - {name: sum, match: "y = Add(x, c)", let: {d: wider(c)}, replace: "y = Mul(x, d)"}
  - {name: sign, match: "y = Neg(x)", replace: "y = Abs(x)"}
)yaml",
                              {.functions = functions});
  for (const std::optional<int64_t> stop : {std::optional<int64_t>(), std::optional<int64_t>(1)}) {
    CAPTURE(stop.has_value());
    Model model = ModelOf(
        "g (float[N] x) => (float[N] y) <float c = {1}> { s = Add(x, c)  n = Neg(s)  y = Neg(n) }");
    RewriteOptions options;
    options.stop_after = stop;
    const Result<Report> report = Rewrite(model, rules, options);
    REQUIRE(report.ok());
    CHECK(report->stopped == stop.has_value());
    CHECK(report->rewrites == (stop ? 1 : 2));
    REQUIRE(report->warnings.size() == 1);
    const RewriteWarning& warning = report->warnings[0];
    CHECK(warning.rule == "sum");
    CHECK(warning.output == "s");
    CHECK(Contains(warning.text, "fits here, but its replacement does not: "));
    CHECK(warning.notes == std::vector<std::string>{"`wider` gave DOUBLE[]"});
  }
}

TEST_CASE("Functions: names that are taken or that no rule can call are refused") {
  auto functions = HostFunctions();
  CHECK(functions->names() == std::vector<std::string>{"is_small", "twice"});
  const auto predicate = [](std::span<const ConstTensor>) -> Result<bool> { return true; };
  CHECK(functions->AddPredicate("twice", predicate).code() == StatusCode::kUsage);
  CHECK(functions->AddPredicate("rank", predicate).code() == StatusCode::kUsage);
  CHECK(functions->AddPredicate("No good", predicate).code() == StatusCode::kUsage);
  CHECK(functions->AddPredicate("", predicate).code() == StatusCode::kUsage);
  for (const char* word : {"and", "not", "if", "when", "true", "absent", "yes", "off", "_"}) {
    const Status status = functions->AddPredicate(word, predicate);  // no rule could call it
    CHECK_MESSAGE(status.code() == StatusCode::kUsage, word);
  }
  CHECK(functions->AddPredicate("empty", nullptr).code() == StatusCode::kUsage);
  CHECK(functions->AddFold("empty", nullptr).code() == StatusCode::kUsage);
  CHECK(functions->AddOperator("", "Relu", nullptr).code() == StatusCode::kUsage);
}

TEST_CASE("Functions: operators of the host are folded") {
  auto functions = std::make_shared<FunctionRegistry>();
  const Status added = functions->AddOperator(
      "my.ops", "Scale", [](const OperatorCall& call) -> Result<std::vector<ConstTensor>> {
        const float by = std::get<float>(call.attributes.at("by"));
        return std::vector<ConstTensor>{FloatScalar(by * FirstFloat(call.inputs[0]))};
      });
  REQUIRE(added.ok());
  const Rules rules = RulesOf(R"yaml(qrewrite: 1
name: fold
signatures:
  my.ops.Scale: {inputs: [x], attributes: {by: float}, outputs: [y]}
phases:
  - {name: fold, fold: all}
)yaml",
                              {.functions = functions});
  onnx::ModelProto proto = ProtoOf(AddOf("3"));
  auto* scale = proto.mutable_graph()->add_node();
  scale->set_op_type("Scale");
  scale->set_domain("my.ops");
  scale->add_input("c");
  scale->add_output("d");
  auto* by = scale->add_attribute();
  by->set_name("by");
  by->set_type(onnx::AttributeProto::FLOAT);
  by->set_f(5);
  proto.mutable_graph()->mutable_node()->SwapElements(0, 1);
  proto.mutable_graph()->mutable_node(1)->set_input(1, "d");
  auto* import = proto.add_opset_import();
  import->set_domain("my.ops");
  import->set_version(1);
  Result<Model> model = FromProto(proto);
  REQUIRE_MESSAGE(model.ok(), model.status().message());
  const auto report = Rewrite(*model, rules);
  REQUIRE_MESSAGE(report.ok(), report.status().message());
  CHECK(report->folded == 1);
  CHECK(Contains(*model->Text(), "Add(x, 15"));
}

}  // namespace
}  // namespace qrewrite
