// The evaluator that runs models with the library's kernels.
#include "engine/api/constant.h"
#include "engine/api/model_impl.h"
#include "engine/evaluate/interpreter.h"
#include "engine/evaluate/observed.h"

namespace qrewrite {
namespace {

class BuiltinSession : public Session {
 public:
  static Result<std::unique_ptr<Session>> Make(ObservedModel observed) {
    auto session = std::unique_ptr<BuiltinSession>(new BuiltinSession(std::move(observed)));
    QR_ASSIGN_OR_RETURN(GraphInterpreter interpreter,
                        GraphInterpreter::Make(session->graph(), KernelRegistry::Evaluation()));
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
  explicit BuiltinSession(ObservedModel observed) : observed_(std::move(observed)) {}
  const Graph& graph() const { return std::as_const(*observed_.model().impl().file).graph(); }

  ObservedModel observed_;
  std::optional<GraphInterpreter> interpreter_;
};

class BuiltinEvaluator : public Evaluator {
 public:
  std::string Name() const override { return "built-in kernels"; }
  Result<std::unique_ptr<Session>> Load(const Model& model,
                                        const std::vector<std::string>& observe) override {
    QR_ASSIGN_OR_RETURN(ObservedModel observed, ObservedModel::Make(model, observe));
    return BuiltinSession::Make(std::move(observed));
  }
};

}  // namespace

std::unique_ptr<Evaluator> BuiltinKernels() { return std::make_unique<BuiltinEvaluator>(); }

}  // namespace qrewrite
