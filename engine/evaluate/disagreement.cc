// Two evaluators on one model.
#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/api/constant.h"
#include "engine/evaluate/decibels.h"
#include "qrewrite/evaluator.h"

namespace qrewrite {
namespace {

// In dB; infinite: no difference; minus infinity: another type or shape, or a number against none.
Result<double> Agreement(const ConstTensor& reference, const ConstTensor& other) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (reference.dtype != other.dtype || reference.dims != other.dims) return -kInfinity;
  QR_ASSIGN_OR_RETURN(const Tensor a, FromPlain(reference));
  QR_ASSIGN_OR_RETURN(const Tensor b, FromPlain(other));
  QR_ASSIGN_OR_RETURN(const std::vector<double> x, ToDoubles(a));
  QR_ASSIGN_OR_RETURN(const std::vector<double> y, ToDoubles(b));
  double signal = 0, noise = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    if (x[i] == y[i] || (std::isnan(x[i]) && std::isnan(y[i]))) {
      if (std::isfinite(x[i])) signal += x[i] * x[i];
      continue;
    }
    if (!std::isfinite(x[i]) || !std::isfinite(y[i])) return -kInfinity;
    signal += x[i] * x[i];
    noise += (x[i] - y[i]) * (x[i] - y[i]);
  }
  return Decibels(signal, noise);
}

}  // namespace

Result<std::vector<Disagreement>> FindDisagreements(const Model& model, const Tensors& inputs,
                                                    Evaluator& first, Evaluator& second,
                                                    const std::vector<std::string>& observe,
                                                    double least_db) {
  std::vector<Tensors> values;
  for (Evaluator* evaluator : {&first, &second}) {
    QR_ASSIGN_OR_RETURN(const std::unique_ptr<Session> session, evaluator->Load(model, observe));
    QR_ASSIGN_OR_RETURN(values.emplace_back(), session->Run(inputs));
  }
  std::vector<std::string> names = observe;
  for (const ModelValue& output : model.Outputs()) names.push_back(output.name);
  std::vector<Disagreement> found;
  for (size_t i = 0; i < names.size(); ++i) {
    const auto repeated =
        std::find(names.begin(), names.begin() + static_cast<ptrdiff_t>(i), names[i]);
    if (repeated != names.begin() + static_cast<ptrdiff_t>(i)) continue;
    const auto a = values[0].find(names[i]), b = values[1].find(names[i]);
    if (a == values[0].end() || b == values[1].end()) continue;
    QR_ASSIGN_OR_RETURN(const double db, Agreement(a->second, b->second));
    if (db < least_db) found.push_back({names[i], db});
  }
  return found;
}

}  // namespace qrewrite
