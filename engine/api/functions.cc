#include "qrewrite/functions.h"

#include <algorithm>

#include <fmt/format.h>

#include "engine/api/constant.h"
#include "engine/api/rules_impl.h"
#include "engine/base/callback.h"
#include "engine/base/diagnostics.h"
#include "engine/expr/functions.h"
#include "engine/expr/names.h"
#include "engine/match/host_predicate.h"

namespace qrewrite {
namespace {

Result<std::vector<ConstTensor>> AllPlain(std::span<const Tensor> tensors) {
  std::vector<ConstTensor> plain;
  for (const Tensor& tensor : tensors) {
    QR_ASSIGN_OR_RETURN(plain.emplace_back(), ToPlain(tensor));
  }
  return plain;
}

Status CheckName(const std::string& name) {
  const auto is_word = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  };
  if (name.empty() || !std::all_of(name.begin(), name.end(), is_word) ||
      (name[0] >= '0' && name[0] <= '9')) {
    return {StatusCode::kUsage,
            fmt::format("`{}` is no name of a function: lower-case letters, digits and `_`",
                        Printable(name))};
  }
  if (FindFunction(name) != nullptr) {
    return {StatusCode::kUsage, fmt::format("`{}` is a function of the language", name)};
  }
  if (!IsPlainName(name)) {  // no rule could call it
    return {StatusCode::kUsage, fmt::format("`{}` is a word of the language, or of YAML", name)};
  }
  return {};
}

Status NoFunction(const std::string& name) {
  return {StatusCode::kUsage, fmt::format("the function for `{}` is empty", Printable(name))};
}

Result<AttributeValue> PlainAttribute(const AttrValue& value) {
  if (const auto* i = std::get_if<int64_t>(&value)) return AttributeValue(*i);
  if (const auto* f = std::get_if<float>(&value)) return AttributeValue(*f);
  if (const auto* s = std::get_if<std::string>(&value)) return AttributeValue(*s);
  if (const auto* v = std::get_if<std::vector<int64_t>>(&value)) return AttributeValue(*v);
  if (const auto* v = std::get_if<std::vector<float>>(&value)) return AttributeValue(*v);
  if (const auto* v = std::get_if<std::vector<std::string>>(&value)) return AttributeValue(*v);
  if (const auto* t = std::get_if<Tensor>(&value)) {
    QR_ASSIGN_OR_RETURN(ConstTensor plain, ToPlain(*t));
    return AttributeValue(std::move(plain));
  }
  return Status(StatusCode::kUnsupported, "an attribute of a kind that the host does not see");
}

// Graphs and types: OperatorCall.
bool IsLeftOut(AttrKind kind) {
  return kind == AttrKind::kGraph || kind == AttrKind::kGraphs || kind == AttrKind::kTypeProto ||
         kind == AttrKind::kTypeProtos;
}

Outputs RunOperator(const FunctionRegistry::Operator& function, const FoldCall& call) {
  OperatorCall plain{.num_outputs = call.num_outputs};
  QR_ASSIGN_OR_RETURN(plain.inputs, AllPlain(call.inputs));
  for (const Attribute& attribute : call.attributes) {
    if (IsLeftOut(KindOf(attribute.value))) continue;
    Result<AttributeValue> value = PlainAttribute(attribute.value);
    // Without it the operator would compute something else.
    if (!value.ok()) {
      return Status(StatusCode::kUnsupported,
                    fmt::format("functions of the host do not see what its attribute `{}` is",
                                Printable(attribute.name)));
    }
    plain.attributes.emplace(attribute.name, *std::move(value));
  }
  QR_ASSIGN_OR_RETURN(
      std::vector<ConstTensor> results,
      CallHost(fmt::format("operator `{}` of the host", call.op), [&] { return function(plain); }));
  if (results.size() != static_cast<size_t>(call.num_outputs)) {
    return Status(StatusCode::kUnsupported, fmt::format("the host computed {} outputs, not {}",
                                                        results.size(), call.num_outputs));
  }
  std::vector<Tensor> outputs;
  for (ConstTensor& result : results) {
    QR_ASSIGN_OR_RETURN(outputs.emplace_back(), FromPlain(std::move(result)));
  }
  return outputs;
}

}  // namespace

FunctionRegistry::FunctionRegistry() : impl_(std::make_unique<Impl>()) {}
FunctionRegistry::~FunctionRegistry() = default;

Status FunctionRegistry::AddFold(const std::string& name, Fold function) {
  QR_RETURN_IF_ERROR(CheckName(name));
  if (!function) return NoFunction(name);
  const auto run = [what = fmt::format("function `{}` of the host", name),
                    function =
                        std::move(function)](const std::vector<Tensor>& args) -> Result<Tensor> {
    QR_ASSIGN_OR_RETURN(const std::vector<ConstTensor> plain, AllPlain(args));
    QR_ASSIGN_OR_RETURN(ConstTensor result, CallHost(what, [&] { return function(plain); }));
    return FromPlain(std::move(result));
  };
  if (!impl_->functions.emplace(name, run).second) {
    return {StatusCode::kUsage, fmt::format("a function `{}` was added before", name)};
  }
  return {};
}

Status FunctionRegistry::AddPredicate(const std::string& name, Predicate predicate) {
  if (!predicate) return NoFunction(name);
  QR_RETURN_IF_ERROR(AddFold(
      name,
      [predicate = std::move(predicate)](std::span<const ConstTensor> args) -> Result<ConstTensor> {
        QR_ASSIGN_OR_RETURN(const bool holds, predicate(args));
        return ConstTensor{static_cast<int>(DType::kBool), {}, std::vector{std::byte{holds}}};
      }));
  HostFunction& added = impl_->functions.at(name);
  added = HostPredicate{std::move(added)};
  return {};
}

Status FunctionRegistry::AddOperator(const std::string& domain, const std::string& op,
                                     Operator function) {
  if (op.empty()) return {StatusCode::kUsage, "an operator needs a name"};
  if (!function) return NoFunction(op);
  impl_->kernels.Register({.domain = std::string(CanonicalDomain(domain)),
                           .op = op,
                           .run = [function = std::move(function)](
                                      const FoldCall& call) { return RunOperator(function, call); },
                           .infer = {},
                           .host = true});
  return {};
}

std::vector<std::string> FunctionRegistry::names() const {
  std::vector<std::string> names;
  for (const auto& entry : impl_->functions) names.push_back(entry.first);
  return names;
}

}  // namespace qrewrite
