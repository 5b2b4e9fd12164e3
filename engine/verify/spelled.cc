#include "engine/verify/spelled.h"

#include "engine/api/model_impl.h"
#include "engine/api/rules_impl.h"
#include "engine/driver/driver.h"
#include "engine/onnx_io/inference.h"
#include "engine/program/program.h"
#include "engine/verify/small_integers.h"

namespace qrewrite {

Spelling::Spelling(const Rules& rules) : rules_(rules) {
  const std::shared_ptr<const RuleSet>& semantics = rules.impl().set->semantics;
  if (semantics != nullptr) semantics_ = Compile(semantics);
}

Result<bool> Spelling::Apply(Model& model) const {
  if (semantics_ == nullptr) return false;
  QR_ASSIGN_OR_RETURN(const bool used, Replace(model));
  ComputeWithFloats(model);
  return used || !rules_.impl().set->check_types;
}

Result<bool> Spelling::ApplyIfUsed(Model& model) const {
  if (semantics_ == nullptr) return false;
  QR_ASSIGN_OR_RETURN(const bool used, Replace(model));
  if (used) ComputeWithFloats(model);
  return used;
}

Result<bool> Spelling::Replace(Model& model) const {
  Model::Impl& impl = model.impl();
  QR_RETURN_IF_ERROR(impl.Usable());
  if (impl.inference == nullptr) impl.inference = MakeOnnxInference();
  const RunContext context{.kernels = &rules_.impl().kernels,
                           .functions = &rules_.impl().functions,
                           .inference = impl.inference.get()};
  QR_ASSIGN_OR_RETURN(const RunResult run, Run(impl.file->graph(), *semantics_, {}, context));
  return run.report.rewrites > 0;
}

void Spelling::ComputeWithFloats(Model& model) const {
  const RuleSet& rules = *rules_.impl().set;
  Model::Impl& impl = model.impl();
  if (!rules.check_types)
    qrewrite::ComputeWithFloats(impl.file->graph(), rules.signatures, impl.inference.get());
}

Result<SpelledPair> SpellOut(const Model& first, const Model& second,
                             const std::vector<Rules>& semantics) {
  if (semantics.empty()) return SpelledPair();
  QR_ASSIGN_OR_RETURN(Model a, first.Clone());
  QR_ASSIGN_OR_RETURN(Model b, second.Clone());
  bool in_first = false, in_second = false;
  for (const Rules& rules : semantics) {
    const Spelling spelling(rules);
    QR_ASSIGN_OR_RETURN(const bool first_has, spelling.ApplyIfUsed(a));
    QR_ASSIGN_OR_RETURN(const bool second_has, spelling.Apply(b));
    in_first |= first_has, in_second |= second_has;
  }
  SpelledPair pair;
  if (in_first) pair.first.emplace(std::move(a));
  if (in_second) pair.second.emplace(std::move(b));
  return pair;
}

}  // namespace qrewrite
