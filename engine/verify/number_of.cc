#include "engine/verify/number_of.h"

#include <vector>

#include "engine/api/constant.h"

namespace qrewrite {

std::optional<double> NumberOf(const RuleMatch& match, const std::string& name) {
  const Binding* binding = match.Find(name);
  if (binding == nullptr || !binding->constant) return std::nullopt;
  const Result<ConstTensor> plain = binding->constant->Read();
  if (!plain.ok()) return std::nullopt;
  const Result<Tensor> tensor = FromPlain(*plain);
  if (!tensor.ok()) return std::nullopt;
  const Result<std::vector<double>> values = ToDoubles(*tensor);
  if (!values.ok() || values->size() != 1) return std::nullopt;
  return values->front();
}

}  // namespace qrewrite
