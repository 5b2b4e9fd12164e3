#include "engine/evaluate/builtin.h"

#include "engine/api/constant.h"
#include "engine/api/model_impl.h"
#include "engine/api/rules_impl.h"
#include "engine/evaluate/interpreter.h"
#include "engine/evaluate/observed.h"

namespace qrewrite {
namespace {

class BuiltinSession : public Session {
 public:
  static Result<std::unique_ptr<Session>> Make(ObservedModel observed,
                                               std::shared_ptr<const KernelRegistry> kernels) {
    auto session = std::unique_ptr<BuiltinSession>(
        new BuiltinSession(std::move(observed), std::move(kernels)));
    QR_ASSIGN_OR_RETURN(GraphInterpreter interpreter,
                        GraphInterpreter::Make(session->graph(), *session->kernels_));
    session->interpreter_.emplace(std::move(interpreter));
    return std::unique_ptr<Session>(std::move(session));
  }

  Result<Tensors> Run(const Tensors& inputs) override {
    QR_RETURN_IF_ERROR(observed_.CheckInputs(inputs));
    std::map<std::string, Tensor> given;
    for (const auto& [name, value] : inputs) {
      QR_ASSIGN_OR_RETURN(given[name], FromPlain(value));
    }
    QR_ASSIGN_OR_RETURN(const std::vector<Tensor> results, interpreter_->Run(given));
    Tensors outputs;
    for (size_t i = 0; i < results.size(); ++i) {
      if (!results[i].valid() || results[i].is_string()) continue;
      const std::string name(graph().name(graph().output(graph().main(), i)));
      QR_ASSIGN_OR_RETURN(outputs[name], ToPlain(results[i]));
    }
    QR_RETURN_IF_ERROR(observed_.AddPassedOn(inputs, outputs));
    return outputs;
  }

 private:
  BuiltinSession(ObservedModel observed, std::shared_ptr<const KernelRegistry> kernels)
      : observed_(std::move(observed)), kernels_(std::move(kernels)) {}
  const Graph& graph() const { return std::as_const(*observed_.model().impl().file).graph(); }

  ObservedModel observed_;
  std::shared_ptr<const KernelRegistry> kernels_;
  std::optional<GraphInterpreter> interpreter_;
};

}  // namespace

class BuiltinEvaluator : public Evaluator {
 public:
  BuiltinEvaluator() = default;
  explicit BuiltinEvaluator(const KernelRegistry& registered) {
    auto kernels = std::make_shared<KernelRegistry>(KernelRegistry::Evaluation());
    for (const KernelEntry* entry : registered.All()) {
      if (entry->host) kernels->Register(*entry);
    }
    kernels_ = std::move(kernels);
  }
  static std::unique_ptr<Evaluator> Of(const FunctionRegistry& functions) {
    return BuiltinKernelsWith(functions.impl_->kernels);
  }
  std::string Name() const override { return "built-in kernels"; }
  Result<std::unique_ptr<Session>> Load(const Model& model,
                                        const std::vector<std::string>& observe) override {
    QR_ASSIGN_OR_RETURN(ObservedModel observed, ObservedModel::Make(model, observe));
    return BuiltinSession::Make(std::move(observed), kernels_);
  }

 private:
  std::shared_ptr<const KernelRegistry> kernels_{std::shared_ptr<void>(),
                                                 &KernelRegistry::Evaluation()};
};

std::unique_ptr<Evaluator> BuiltinKernels(const FunctionRegistry* functions) {
  if (functions == nullptr) return std::make_unique<BuiltinEvaluator>();
  return BuiltinEvaluator::Of(*functions);
}

std::unique_ptr<Evaluator> BuiltinKernelsWith(const KernelRegistry& registered) {
  return std::make_unique<BuiltinEvaluator>(registered);
}

}  // namespace qrewrite
