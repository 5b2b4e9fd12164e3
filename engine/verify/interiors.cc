#include "engine/verify/interiors.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "engine/api/constant.h"
#include "engine/evaluate/decibels.h"

namespace qrewrite {

Result<Interiors> ComputeInteriors(const Model& a, const Model& b, Evaluator& evaluator,
                                   const Counterparts& pair, const std::vector<ValueId>& values,
                                   const VerifyReport& comparison) {
  Interiors found;
  for (const ValueId v : values) {
    found.names_a.emplace_back(pair.a().name(pair.ToA(v)));
    found.names_b.emplace_back(pair.b().name(v));
  }
  QR_ASSIGN_OR_RETURN(const std::unique_ptr<Session> in_a, evaluator.Load(a, found.names_a));
  QR_ASSIGN_OR_RETURN(const std::unique_ptr<Session> in_b, evaluator.Load(b, found.names_b));
  const auto& sample_b = comparison.worst_inputs_b;
  QR_ASSIGN_OR_RETURN(found.a, in_a->Run(comparison.worst_inputs));
  QR_ASSIGN_OR_RETURN(found.b, in_b->Run({sample_b.begin(), sample_b.end()}));
  return found;
}

std::optional<double> Distance(const Tensors& a, const std::string& name_a, const Tensors& b,
                               const std::string& name_b, const std::function<bool()>& by_shape) {
  const auto in_a = a.find(name_a), in_b = b.find(name_b);
  if (in_a == a.end() || in_b == b.end()) return std::nullopt;
  if (in_a->second.dims != in_b->second.dims)
    return by_shape() ? std::optional(-kMostDb) : std::nullopt;
  const Result<Tensor> x = FromPlain(in_a->second), y = FromPlain(in_b->second);
  if (!x.ok() || !y.ok()) return std::nullopt;
  const Result<std::vector<double>> p = ToDoubles(*x), q = ToDoubles(*y);
  if (!p.ok() || !q.ok()) return std::nullopt;
  double signal = 0, noise = 0;
  for (size_t i = 0; i < p->size(); ++i) {
    const double u = (*p)[i], w = (*q)[i];
    if (u == w || (std::isnan(u) && std::isnan(w))) continue;
    if (!std::isfinite(u) || !std::isfinite(w)) return -kMostDb;
    noise += (u - w) * (u - w);
  }
  for (const double u : *p) signal += std::isfinite(u) ? u * u : 0;
  // The least difference is one.
  return noise == 0 ? kMostDb
                    : std::clamp(Decibels(signal, noise), -kMostDb, kMostDb - kLeastDropDb);
}

}  // namespace qrewrite
