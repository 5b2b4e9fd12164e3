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

}  // namespace qrewrite
