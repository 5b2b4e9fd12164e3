#include "engine/verify/spelled.h"

#include "engine/api/model_impl.h"
#include "engine/api/rules_impl.h"
#include "engine/driver/driver.h"
#include "engine/onnx_io/inference.h"
#include "engine/program/program.h"

namespace qrewrite {

Spelling::Spelling(const Rules& rules) : rules_(rules) {
  const std::shared_ptr<const RuleSet>& semantics = rules.impl().set->semantics;
  if (semantics != nullptr) semantics_ = Compile(semantics);
}

Status Spelling::Apply(Model& model) const {
  if (semantics_ == nullptr) return {};
  Model::Impl& impl = model.impl();
  QR_RETURN_IF_ERROR(impl.Usable());
  if (impl.inference == nullptr) impl.inference = MakeOnnxInference();
  const RunContext context{.kernels = &rules_.impl().kernels,
                           .functions = &rules_.impl().functions,
                           .inference = impl.inference.get()};
  return Run(impl.file->graph(), *semantics_, {}, context).status();
}

}  // namespace qrewrite
