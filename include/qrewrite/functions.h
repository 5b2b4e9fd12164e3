// FunctionRegistry: what a host program adds to the rule language, by name.
//
//   auto functions = std::make_shared<FunctionRegistry>();
//   functions->AddPredicate("is_pow2", [](std::span<const ConstTensor> args) -> Result<bool> { ... });
//   auto rules = Rules::Load("my_rules.yaml", {.functions = functions});
//
// A rule file that was loaded with them calls them like the functions of the language. They are
// applied to constants only: with an argument that is not constant the rule does not fire. Of a list
// of values (`is_pow2(xs)`) they are asked about each member; a list of numbers is one 1-D tensor. They
// must be pure, and safe to call from several threads if the rules are used by several. An error
// that one returns is the reason why a rule did not fire; it is no fault of the run. An exception that
// one throws is: the run ends with kCallback.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "qrewrite/constant.h"
#include "qrewrite/status.h"

namespace qrewrite {

using AttributeValue = std::variant<int64_t, float, std::string, ConstTensor, std::vector<int64_t>,
                                    std::vector<float>, std::vector<std::string>>;

// A node with constant inputs. An input that is absent has dtype 0. Attributes are those that the
// node has; graph and type attributes are left out. A node with a list of tensors, a sparse tensor or
// a tensor of strings among its attributes or inputs is not computed.
struct OperatorCall {
  std::vector<ConstTensor> inputs;
  std::map<std::string, AttributeValue> attributes;
  int num_outputs = 1;
};

class FunctionRegistry {
 public:
  using Fold = std::function<Result<ConstTensor>(std::span<const ConstTensor>)>;
  using Predicate = std::function<Result<bool>(std::span<const ConstTensor>)>;
  using Operator = std::function<Result<std::vector<ConstTensor>>(const OperatorCall&)>;

  FunctionRegistry();
  ~FunctionRegistry();
  FunctionRegistry(const FunctionRegistry&) = delete;
  FunctionRegistry& operator=(const FunctionRegistry&) = delete;

  // `name` is a lower-case word that the language does not use itself and that was not added
  // before; otherwise kUsage.
  Status AddFold(const std::string& name, Fold function);
  Status AddPredicate(const std::string& name, Predicate predicate);

  // How an operator is computed on constants: by fold phases and where expressions call it. It
  // applies to all versions and replaces what the library has. `domain` is "" for ai.onnx.
  Status AddOperator(const std::string& domain, const std::string& op, Operator function);

  std::vector<std::string> names() const;  // of functions and predicates, sorted

 private:
  friend class BuiltinEvaluator;
  friend class Rules;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace qrewrite
