#include <cstring>
#include <new>

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
  ConstTensor tensor{.dtype = kFloat, .dims = {}, .bytes = std::vector<std::byte>(sizeof value)};
  std::memcpy(tensor.bytes.data(), &value, sizeof value);
  return tensor;
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

TEST_CASE("Functions: memory that runs out poisons the model") {
  auto functions = std::make_shared<FunctionRegistry>();
  REQUIRE(functions->AddFold("twice", [](auto) -> Result<ConstTensor> { throw std::bad_alloc(); })
              .ok());
  REQUIRE(functions->AddPredicate("is_small", [](auto) -> Result<bool> { return true; }).ok());
  const Rules rules = RulesOf(kCalls, {.functions = functions});
  Model model = ModelOf(AddOf("3"));
  CHECK_THROWS_AS(static_cast<void>(Rewrite(model, rules)), std::bad_alloc);
  CHECK(model.poison().code() == StatusCode::kLimit);
  CHECK(model.Serialize().status().code() == StatusCode::kInvalidModel);
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

TEST_CASE("Functions: names") {
  auto functions = HostFunctions();
  CHECK(functions->names() == std::vector<std::string>{"is_small", "twice"});
  const auto predicate = [](std::span<const ConstTensor>) -> Result<bool> { return true; };
  CHECK(functions->AddPredicate("twice", predicate).code() == StatusCode::kUsage);
  CHECK(functions->AddPredicate("rank", predicate).code() == StatusCode::kUsage);
  CHECK(functions->AddPredicate("No good", predicate).code() == StatusCode::kUsage);
  CHECK(functions->AddPredicate("", predicate).code() == StatusCode::kUsage);
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
