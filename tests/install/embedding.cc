// The examples of docs/embedding.md as one program: embedding MODEL RULES FOLDER.
#include "qrewrite/qrewrite.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string>

using qrewrite::Match;
using qrewrite::Model;
using qrewrite::Report;
using qrewrite::Result;
using qrewrite::Rules;
using qrewrite::Status;
using qrewrite::StatusCode;

// Prints each firing, and ends the run when somebody asks for it.
class Watcher : public qrewrite::Observer {
 public:
  std::atomic<bool> cancel = false;

  Answer OnProgress(const qrewrite::ProgressEvent& event) override {
    std::printf("%.*s: %lld of %lld nodes\n", static_cast<int>(event.phase.size()),
                event.phase.data(), static_cast<long long>(event.done),
                static_cast<long long>(event.total));
    return cancel ? Answer::kCancel : Answer::kContinue;
  }
  bool WantsText(std::string_view rule) override { return rule != "noisy"; }
  Answer OnFiring(const qrewrite::FiringEvent& event) override {
    std::printf("%s (%s:%d)\n--- before\n%s--- after\n%s", std::string(event.rule).c_str(),
                std::string(event.file).c_str(), event.line, std::string(event.before).c_str(),
                std::string(event.after).c_str());
    return cancel ? Answer::kCancel : Answer::kContinue;
  }
};

// A run that may fail or be cancelled without harm to `model`.
Result<Report> RewriteOrKeep(Model& model, const Rules& rules, Watcher& watcher) {
  QR_ASSIGN_OR_RETURN(Model copy, model.Clone());
  QR_ASSIGN_OR_RETURN(Report report, Rewrite(copy, rules, {.observer = &watcher}));
  model = std::move(copy);
  return report;
}

// The first rewrite after which `good` does not hold any more; 0 if it always does.
Result<int64_t> FirstBadRewrite(const Model& model, const Rules& rules,
                                bool (*good)(const Model&)) {
  const auto good_after = [&](std::optional<int64_t> rewrites, int64_t* done) -> Result<bool> {
    QR_ASSIGN_OR_RETURN(Model copy, model.Clone());
    QR_ASSIGN_OR_RETURN(const Report report, Rewrite(copy, rules, {.stop_after = rewrites}));
    *done = report.rewrites;
    return good(copy);
  };
  int64_t most = 0, done = 0;
  QR_ASSIGN_OR_RETURN(const bool fine, good_after(std::nullopt, &most));
  if (fine) return int64_t{0};
  int64_t right = 0, wrong = most;  // it is right after the one, wrong after the other
  while (right + 1 < wrong) {
    const int64_t middle = right + (wrong - right) / 2;
    QR_ASSIGN_OR_RETURN(const bool still, good_after(middle, &done));
    (still ? right : wrong) = middle;
  }
  return wrong;
}

// Where rules match, and why they would not fire there.
Status PrintMatches(const Model& model, const Rules& rules) {
  const qrewrite::MatchOptions options{.conditions = qrewrite::MatchOptions::Conditions::kReport};
  QR_ASSIGN_OR_RETURN(const qrewrite::Matches found, Match(model, rules, options));
  for (const qrewrite::RuleMatch& match : found.matches) {
    std::printf("%s:", match.rule.c_str());
    for (const qrewrite::Binding& binding : match.bindings) {
      std::printf(" %s=%s", binding.name.c_str(), binding.text.c_str());
    }
    for (const qrewrite::MatchCondition& condition : match.conditions) {
      if (condition.outcome == qrewrite::MatchCondition::Outcome::kHolds) continue;
      std::printf("\n  %s does not hold %s", condition.text.c_str(), condition.why.c_str());
    }
    std::puts("");
  }
  return {};
}

// The sizes of all weights; none is copied.
uint64_t WeightBytes(const Model& model) {
  uint64_t bytes = 0;
  for (const qrewrite::NamedConstant& constant : model.Constants()) {
    bytes += constant.value.byte_size();
  }
  return bytes;
}

// A model and its weights that lie in memory already, and go to memory again.
Status ThroughMemory(const std::string& bytes, const std::string& weights, const Rules& rules,
                     std::string* out, std::string* out_weights) {
  qrewrite::ParseOptions parse;
  parse.external_data = [&](const std::string&) {  // of whatever location the model names
    return std::optional(qrewrite::Bytes{weights, nullptr});
  };
  QR_ASSIGN_OR_RETURN(Model model, Model::Parse(qrewrite::Bytes{bytes, nullptr}, parse));
  QR_RETURN_IF_ERROR(Rewrite(model, rules).status());
  const auto append = [&](std::string_view chunk) {
    out_weights->append(chunk);
    return Status();
  };
  QR_ASSIGN_OR_RETURN(*out, model.Serialize("weights.bin", 1024, append));
  return {};
}

// The outputs of a model on `inputs`, and the values `names` inside of it.
Result<qrewrite::Tensors> Inside(const Model& model, const qrewrite::Tensors& inputs,
                                 const std::vector<std::string>& names) {
  const auto evaluator = qrewrite::BuiltinKernels();  // or OnnxRuntime(), or HostEvaluator(...)
  QR_ASSIGN_OR_RETURN(const auto session, evaluator->Load(model, names));
  return session->Run(inputs);
}

// A function for rules; what it throws is an error of the run.
Result<Rules> WithHostFunction(const std::string& text) {
  auto functions = std::make_shared<qrewrite::FunctionRegistry>();
  QR_RETURN_IF_ERROR(functions->AddPredicate(
      "fits_device", [](std::span<const qrewrite::ConstTensor> args) -> Result<bool> {
        return args[0].bytes.size() <= 4096;
      }));
  return Rules::Parse("device.yaml", text, {.functions = functions});
}

namespace {

constexpr const char* kDevice = R"(qrewrite: 1
name: device
rules:
  - {name: small, match: 'y = MatMul(x, w)', where: 'const(w) and fits_device(w)', warn: small}
)";

Status RunAll(const std::string& path, const std::string& rule_file, const std::string& folder) {
  QR_ASSIGN_OR_RETURN(Model model, Model::Load(path));
  QR_ASSIGN_OR_RETURN(const Rules rules, Rules::Load(rule_file));
  QR_RETURN_IF_ERROR(PrintMatches(model, rules));
  QR_ASSIGN_OR_RETURN(const std::string before, model.Serialize());
  Watcher watcher;
  watcher.cancel = true;
  if (RewriteOrKeep(model, rules, watcher).status().code() != StatusCode::kCancelled) {
    return {StatusCode::kUsage, "the run was not cancelled"};
  }
  QR_ASSIGN_OR_RETURN(const std::string kept, model.Serialize());
  if (kept != before) return {StatusCode::kUsage, "a cancelled run changed the model"};
  const auto quantized = [](const Model& m) { return m.Stats().ops.count("DequantizeLinear") > 0; };
  QR_ASSIGN_OR_RETURN(const int64_t last, FirstBadRewrite(model, rules, +quantized));
  if (last < 1) return {StatusCode::kUsage, "no rewrite removed the last DequantizeLinear"};
  std::string weights, out, out_weights;
  const auto append = [&](std::string_view chunk) {
    weights += chunk;
    return Status();
  };
  QR_ASSIGN_OR_RETURN(const std::string outside, model.Serialize("w.bin", 1, append));
  QR_RETURN_IF_ERROR(ThroughMemory(outside, weights, rules, &out, &out_weights));
  watcher.cancel = false;
  QR_ASSIGN_OR_RETURN(const Report report, RewriteOrKeep(model, rules, watcher));
  if (report.rewrites < last) return {StatusCode::kUsage, "too few rewrites"};
  QR_ASSIGN_OR_RETURN(const Rules device, WithHostFunction(kDevice));
  QR_RETURN_IF_ERROR(Rewrite(model, device).status());
  if (WeightBytes(model) == 0) return {StatusCode::kUsage, "no weights"};
  qrewrite::Tensors inputs;
  for (const qrewrite::ModelValue& value : model.Inputs()) {
    qrewrite::ConstTensor zeros{.dtype = value.dtype, .dims = value.dims, .bytes = {}};
    size_t count = 1;
    for (int64_t& d : zeros.dims) count *= static_cast<size_t>(d = std::max<int64_t>(d, 1));
    zeros.bytes = std::vector<std::byte>(count * sizeof(float));
    inputs.emplace(value.name, std::move(zeros));
  }
  const std::string output = model.Outputs().at(0).name;
  QR_ASSIGN_OR_RETURN(const qrewrite::Tensors values, Inside(model, inputs, {output}));
  if (values.count(output) == 0) return {StatusCode::kUsage, "the output has no value"};
  return model.Save(folder + "/embedding.onnx");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const Status status = RunAll(argv[1], argv[2], argv[3]);
  if (!status.ok()) std::fputs((status.message() + "\n").c_str(), stderr);
  return status.ok() ? 0 : 1;
}
