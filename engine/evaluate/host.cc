// Evaluators of hosts, and what all evaluators are.
#include <fmt/format.h>

#include "engine/base/callback.h"
#include "engine/base/diagnostics.h"
#include "engine/evaluate/observed.h"

namespace qrewrite {

Session::~Session() = default;
Evaluator::~Evaluator() = default;

namespace {

class HostSession : public Session {
 public:
  // `who`: the runtime, in messages.
  HostSession(std::string who, HostRun run, ObservedModel observed)
      : who_(std::move(who)), run_(std::move(run)), observed_(std::move(observed)) {}

  Result<Tensors> Run(const Tensors& inputs) override {
    QR_RETURN_IF_ERROR(observed_.CheckInputs(inputs));
    QR_ASSIGN_OR_RETURN(Tensors outputs, CallHost(who_, [&] { return run_(inputs); }));
    for (const std::string& name : observed_.outputs()) {
      if (!outputs.contains(name)) {
        return Status(StatusCode::kUnsupported,
                      fmt::format("{} gave no value `{}`", who_, Printable(name)));
      }
    }
    QR_RETURN_IF_ERROR(observed_.AddPassedOn(inputs, outputs));
    return outputs;
  }

 private:
  std::string who_;
  HostRun run_;
  ObservedModel observed_;
};

class HostsEvaluator : public Evaluator {
 public:
  HostsEvaluator(std::string name, HostLoad load)
      : name_(std::move(name)), load_(std::move(load)) {}

  std::string Name() const override { return name_; }

  Result<std::unique_ptr<Session>> Load(const Model& model,
                                        const std::vector<std::string>& observe) override {
    QR_ASSIGN_OR_RETURN(ObservedModel observed, ObservedModel::Make(model, observe));
    QR_ASSIGN_OR_RETURN(std::string bytes, observed.model().Serialize());
    const std::string who = fmt::format("the runtime `{}`", Printable(name_));
    QR_ASSIGN_OR_RETURN(HostRun run,
                        CallHost(who, [&] { return load_(std::move(bytes), observed.outputs()); }));
    return std::unique_ptr<Session>(
        std::make_unique<HostSession>(who, std::move(run), std::move(observed)));
  }

 private:
  std::string name_;
  HostLoad load_;
};

}  // namespace

std::unique_ptr<Evaluator> HostEvaluator(std::string name, HostLoad load) {
  return std::make_unique<HostsEvaluator>(std::move(name), std::move(load));
}

}  // namespace qrewrite
