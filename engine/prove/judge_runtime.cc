// ONNX Runtime's opinion of a trial.
#include <algorithm>

#include <fmt/format.h>

#include "engine/api/constant.h"
#include "engine/api/model_impl.h"
#include "engine/base/diagnostics.h"
#include "engine/ops/node_signature.h"
#include "engine/prove/judge.h"

namespace qrewrite {
namespace {

constexpr double kRuntimeDb =
    80;  // what two runtimes may differ by, where a rule promises equality

// What nodes of the main graph make.
std::vector<std::string> InnerValues(const Model& model) {
  const Graph& graph = std::as_const(*model.impl().file).graph();
  std::vector<std::string> names;
  for (size_t i = 0; i < graph.num_values(); ++i) {
    const ValueId v(i);
    if (graph.alive(v) && graph.producer(v).valid() && graph.body_of(v) == graph.main())
      names.emplace_back(graph.name(v));
  }
  return names;
}

// The runtime lacks a kernel for it: no verdict on the model.
bool LacksKernel(const Status& status) {
  const std::string text = status.message();
  return text.find("NOT_IMPLEMENTED") != std::string::npos ||
         text.find("Could not find an implementation") != std::string::npos ||
         text.find("not a registered") != std::string::npos ||
         text.find("No Op registered") != std::string::npos;
}

// It speaks of an operator that the model does not have: of one that it spells an operator out with for which it has no kernel.
bool IsAboutItsOwnNodes(const Status& status, const Model& model) {
  constexpr std::string_view kBefore = "of operator (";
  const std::string text = status.message();
  const size_t at = text.find(kBefore);
  if (at == std::string::npos) return false;
  const size_t from = at + kBefore.size();
  const std::string name = text.substr(from, text.find(')', from) - from);
  const Graph& graph = std::as_const(*model.impl().file).graph();
  for (size_t i = 0; i < graph.num_ops(); ++i) {
    if (graph.op_name(OpId(i)).name == name && graph.num_nodes(OpId(i)) > 0) return false;
  }
  return true;
}

bool IsAboutTypes(const Status& status) {
  const std::string text = status.message();
  return text.find("Type Error") != std::string::npos ||
         text.find("TypeInferenceError") != std::string::npos ||
         text.find("invalid model") != std::string::npos;
}

enum class Draws : uint8_t { kNothing, kPerhaps, kNumbers };

// Whether a node draws random numbers: surely if no kernel knows what it makes; perhaps if one does, which may be of another
// mode. A runtime may draw the same of one model each time, and others where a node is gone.
Draws DrawsOf(const Graph& graph, const Signatures& signatures) {
  Draws draws = Draws::kNothing;
  for (size_t i = 0; i < graph.num_nodes(); ++i) {
    const NodeId n(i);
    if (!graph.alive(n)) continue;
    const OpName& op = graph.op_name(graph.op(n));
    const Signature* const s = SignatureOf(graph, n, signatures);
    if (s == nullptr || s->deterministic) continue;
    if (!KernelRegistry::Evaluation().Has(op.domain, op.name)) return Draws::kNumbers;
    draws = Draws::kPerhaps;
  }
  return draws;
}

}  // namespace

// What a runtime that computes in its own order must keep of a promise.
Promise Judge::Loosened(const Promise& promise) const {
  const bool strict = promise.kind == Promise::Kind::kExact || promise.kind == Promise::Kind::kUlp;
  if (!strict) return promise;
  Promise loose =
      InNarrowFloats({.kind = Promise::Kind::kApprox, .limit = kRuntimeDb}, *given_, /*largest=*/0);
  loose.any_type = promise.any_type;
  return loose;
}

// Whether the runtime makes other numbers of a model each time, or may do so.
bool Judge::IsRandom(const Model& model, const std::vector<Tensors>& inputs) const {
  constexpr int kRuns = 8;  // where next to nothing is drawn, two are equal by chance
  const Graph& graph = std::as_const(*model.impl().file).graph();
  const Draws draws = DrawsOf(graph, court_.program.rules().signatures);
  if (draws == Draws::kNumbers) return true;
  const auto differ = [&](int fill, int other) {
    const RuntimeApart::Outcome one = court_.runtime->Run(model, inputs, fill);
    const RuntimeApart::Outcome two = court_.runtime->Run(model, inputs, other);
    const bool ran = one.end.empty() && two.end.empty() && one.status.ok() && two.status.ok();
    std::string why;
    return ran && !Keeps({Promise::Kind::kExact, 0}, one.values, two.values, why, nullptr);
  };
  // What draws numbers draws the same in each new session, and others in one that has run before.
  bool random = differ(0x55, 0xaa);
  for (int i = 0; i < (draws == Draws::kPerhaps ? kRuns : 1) && !random; ++i) random = differ(0, 0);
  return random;
}

// Whether the rule set describes an operator of the model anew that is not its own: with more attributes, say.
bool Judge::HasOwnSignature(const Model& model) const {
  const Graph& graph = std::as_const(*model.impl().file).graph();
  const Signatures& signatures = court_.program.rules().signatures;
  for (size_t i = 0; i < graph.num_nodes(); ++i) {
    if (!graph.alive(NodeId(i))) continue;
    const OpName& op = graph.op_name(graph.op(NodeId(i)));
    if (Signatures::Builtin().Newest(op.domain, op.name) == nullptr) continue;
    if (std::ranges::any_of(signatures.Versions(op.domain, op.name), &Signature::from_rule_file))
      return true;
  }
  return false;
}

// Whether the runtime runs each node of the graph as it was. It may have fused one away that it would refuse alone,
// and one that nothing reads any more, once the rule set's own operators are spelled out, it did not see.
bool Judge::TakesAllNodes(const std::vector<Tensors>& inputs) const {
  Graph shown = *given_;
  Facts facts(shown, court_.program.rules().signatures, KernelRegistry::Builtin(),
              court_.context.inference);
  for (size_t i = 0; i < given_->num_values(); ++i) {
    const ValueId v(i);
    const bool made = given_->alive(v) && given_->producer(v).valid();
    if (!made || given_->body_of(v) != given_->main() || given_->IsOutput(v)) continue;
    shown.SetDeclared(v, TypeInfo{.dtype = facts.dtype(v)});
    shown.AddOutput(shown.main(), v);
  }
  const Result<Model> model = Lowered(shown, /*in_units=*/false);
  if (!model.ok()) return true;  // then there is nothing to ask
  const RuntimeApart::Outcome whole = court_.runtime->RunShown(*model, inputs, InnerValues(*model));
  return whole.end.empty() && (whole.status.ok() || LacksKernel(whole.status));
}

bool Judge::RuntimeRunsOtherwise(const Model& model, const std::vector<Tensors>& inputs) const {
  if (inputs.empty()) return false;
  const RuntimeApart::Outcome shown =
      court_.runtime->RunShown(model, {inputs.front()}, InnerValues(model));
  return shown.end.empty() && shown.status.ok() &&
         HasOtherShapes(std::as_const(*model.impl().file).graph(), inputs.front(),
                        shown.values.front());
}

void Judge::AskRuntime(const Model& before, const Model& after, const Promise& promise,
                       const std::vector<Tensors>& inputs, bool kernels_decide, Trial& trial) {
  const RuntimeApart::Outcome a = court_.runtime->Run(before, inputs);
  // What dies of the model as it was says nothing about the rule.
  if (!a.end.empty()) {
    trial.fate = Trial::Fate::kInvalid;
    trial.why = fmt::format("{} dies of the model: {}", court_.runtime->Name(), a.end);
    return;
  }
  if (!a.status.ok()) {
    // Where it has no kernel the others decide, also where types do not count; else the graph is no model.
    const bool its_own =
        LacksKernel(a.status) || (court_.any_type && kernels_decide && IsAboutTypes(a.status));
    if (!its_own) trial.fate = Trial::Fate::kInvalid, trial.why = Message(a.status);
    return;
  }
  // Of a promise about calibrated data only sizes count at which there are many numbers (CompareAtSizes).
  if (!kernels_decide) trial.distinct = CountDistinct(a.values);
  const RuntimeApart::Outcome b = court_.runtime->Run(after, inputs);
  if (!b.end.empty()) {
    trial.fate = Trial::Fate::kUnknown;
    trial.why = fmt::format("{} dies of the result: {}", court_.runtime->Name(), b.end);
    return;
  }
  if (!b.status.ok()) {
    if (LacksKernel(b.status) || IsAboutItsOwnNodes(b.status, after)) return;
    // The result is not for ONNX Runtime.
    if (court_.any_type || HasOwnSignature(after)) return;
    if (!TakesAllNodes(inputs)) {
      trial.fate = Trial::Fate::kInvalid;
      trial.why = court_.runtime->Name() + " refuses a node of the graph";
      return;
    }
    if (RuntimeRunsOtherwise(before, inputs)) {
      trial.fate = Trial::Fate::kInvalid;
      trial.why = court_.runtime->Name() + " makes another shape of a value than inference does";
      return;
    }
    trial.fate = Trial::Fate::kBroken;
    trial.why = fmt::format("{} refuses the result: {}", court_.runtime->Name(), Message(b.status));
    return;
  }
  std::string why;
  double margin = 0;
  const bool kept = Keeps(Loosened(promise), a.values, b.values, why, &margin);
  if (!kept && IsRandom(before, inputs)) {
    trial.fate = Trial::Fate::kInvalid;
    trial.why = "the graph draws random numbers, or the runtime leaves results unwritten";
    return;
  }
  if (!kernels_decide && !kept && RuntimeRunsOtherwise(before, inputs)) {
    trial.fate = Trial::Fate::kInvalid;
    trial.why = court_.runtime->Name() + " makes another shape of a value than inference does";
    return;
  }
  if (!kernels_decide) {
    trial.fate = kept ? Trial::Fate::kHeld : Trial::Fate::kBroken;
    trial.by_runtime = !kept;
    trial.why = why;
    trial.margin = margin;
    if (Loosened(promise).kind != promise.kind) trial.excuse = Excuse::kOtherRuntime;
    return;
  }
  const bool held = trial.fate == Trial::Fate::kHeld;
  if (held == kept) return;
  // A difference that the looser comparison does not see is one nevertheless.
  if (!held && !Keeps(promise, a.values, b.values, why, nullptr)) return;
  trial.fate = Trial::Fate::kUnknown;
  trial.disputed = true;
  trial.why = fmt::format("the built-in kernels and {} disagree: {}", court_.runtime->Name(),
                          held ? why : trial.why);
}

namespace {

constexpr int64_t kMostOfWeights = 64;  // two products with 255 are within 16 bits

// Integers of eight bits as such of seven. nullopt: they are none, or are of seven.
std::optional<Tensor> OfSevenBits(const Tensor& tensor) {
  if (tensor.dtype() != DType::kInt8) return std::nullopt;
  Result<std::vector<int64_t>> numbers = ToInt64s(tensor);
  const auto is_small = [](int64_t x) { return std::abs(x) <= kMostOfWeights; };
  if (!numbers.ok() || std::ranges::all_of(*numbers, is_small)) return std::nullopt;
  for (int64_t& x : *numbers) x /= 2;
  Result<Tensor> halved = FromInt64s(DType::kInt8, tensor.dims(), *numbers);
  return halved.ok() ? std::optional(*std::move(halved)) : std::nullopt;
}

// All constants of a graph as such of seven bits. False: there are none of eight.
bool NarrowConstants(Graph& graph) {
  bool any = false;
  for (size_t i = 0; i < graph.num_values(); ++i) {
    const ValueId v(i);
    const Tensor* const tensor = graph.alive(v) ? graph.constant(v) : nullptr;
    const std::optional<Tensor> narrow = tensor != nullptr ? OfSevenBits(*tensor) : std::nullopt;
    if (!narrow) continue;
    graph.SetConstant(v, *narrow);
    any = true;
  }
  for (size_t i = 0; i < graph.num_nodes(); ++i) {
    const NodeId n(i);
    if (!graph.alive(n)) continue;
    const Attributes attributes = graph.attributes(n);
    for (const Attribute& a : attributes) {
      const auto* const tensor = std::get_if<Tensor>(&a.value);
      const std::optional<Tensor> narrow = tensor != nullptr ? OfSevenBits(*tensor) : std::nullopt;
      if (!narrow) continue;
      graph.SetAttribute(n, std::string(a.name), *narrow);
      any = true;
    }
  }
  return any;
}

bool HasInputOfEightBits(const Graph& graph) {
  return std::ranges::any_of(graph.body(graph.main()).inputs, [&](ValueId v) {
    return graph.constant(v) == nullptr && graph.declared(v).dtype == DType::kInt8;
  });
}

}  // namespace

Status Judge::NarrowInputs(std::vector<Tensors>& inputs) {
  for (Tensors& sample : inputs) {
    for (auto& [name, plain] : sample) {
      if (static_cast<DType>(plain.dtype) != DType::kInt8) continue;
      QR_ASSIGN_OR_RETURN(const Tensor tensor, FromPlain(plain));
      const std::optional<Tensor> narrow = OfSevenBits(tensor);
      if (!narrow) continue;
      QR_ASSIGN_OR_RETURN(plain, ToPlain(*narrow));
    }
  }
  return {};
}

bool Judge::IsOfCutOffSums(const Graph& graph, const Task& task, CodeId assumed) {
  if (!court_.cuts_off_sums || of_seven_bits_) return false;
  Graph narrow = graph;
  const bool constants = NarrowConstants(narrow);
  if (!constants && !HasInputOfEightBits(graph)) return false;
  of_seven_bits_ = true;
  const bool broken = Try(narrow, task, assumed).fate == Trial::Fate::kBroken;
  of_seven_bits_ = false;
  given_ = &graph;
  return !broken;
}

}  // namespace qrewrite
