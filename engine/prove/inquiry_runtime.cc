// ONNX Runtime's opinion of a trial.
#include <algorithm>

#include <fmt/format.h>

#include "engine/base/diagnostics.h"
#include "engine/base/message.h"
#include "engine/ops/node_signature.h"
#include "engine/prove/inquiry.h"
#include "engine/prove/other_shapes.h"
#include "engine/prove/promised.h"

namespace qrewrite {
namespace {

constexpr const char* kRunsOtherwise = " makes another shape of a value than inference does";

// What nodes of the main graph make.
std::vector<std::string> InnerValues(const Model& model) {
  const Graph& graph = GraphOf(model);
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
  const Graph& graph = GraphOf(model);
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

// Whether the runtime makes other numbers of a model each time, or may do so.
bool IsRandom(const Court& court, const Model& model, const std::vector<Tensors>& inputs) {
  constexpr int kRuns = 8;  // where next to nothing is drawn, two are equal by chance
  const Draws draws = DrawsOf(GraphOf(model), court.signatures());
  if (draws == Draws::kNumbers) return true;
  const auto differ = [&](int fill, int other) {
    const RuntimeApart::Outcome one = court.runtime->Run(model, inputs, fill);
    const RuntimeApart::Outcome two = court.runtime->Run(model, inputs, other);
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
bool HasOwnSignature(const Model& model, const Signatures& signatures) {
  const Graph& graph = GraphOf(model);
  for (size_t i = 0; i < graph.num_nodes(); ++i) {
    if (!graph.alive(NodeId(i))) continue;
    const OpName& op = graph.op_name(graph.op(NodeId(i)));
    if (Signatures::Builtin().Newest(op.domain, op.name) == nullptr) continue;
    if (std::ranges::any_of(signatures.Versions(op.domain, op.name), &Signature::from_rule_file))
      return true;
  }
  return false;
}

}  // namespace

// Whether the runtime runs each node of the graph as it was. It may have fused one away that it would refuse alone,
// and one that nothing reads any more, once the rule set's own operators are spelled out, it did not see.
bool Inquiry::TakesAllNodes(const std::vector<Tensors>& inputs) const {
  Graph shown = given_;
  Facts facts(shown, court_.signatures(), KernelRegistry::Builtin(), court_.context.inference);
  for (size_t i = 0; i < given_.num_values(); ++i) {
    const ValueId v(i);
    const bool made = given_.alive(v) && given_.producer(v).valid();
    if (!made || given_.body_of(v) != given_.main() || given_.IsOutput(v)) continue;
    shown.SetDeclared(v, TypeInfo{.dtype = facts.dtype(v)});
    shown.AddOutput(shown.main(), v);
  }
  const Result<Model> model = Lowered(court_, shown, /*in_units=*/false);
  if (!model.ok()) return true;  // then there is nothing to ask
  const RuntimeApart::Outcome whole = court_.runtime->RunShown(*model, inputs, InnerValues(*model));
  return whole.end.empty() && (whole.status.ok() || LacksKernel(whole.status));
}

bool Inquiry::RuntimeRunsOtherwise(const Model& model, const std::vector<Tensors>& inputs) const {
  if (inputs.empty()) return false;
  const RuntimeApart::Outcome shown =
      court_.runtime->RunShown(model, {inputs.front()}, InnerValues(model));
  return shown.end.empty() && shown.status.ok() &&
         HasOtherShapes(court_, GraphOf(model), inputs.front(), shown.values.front());
}

void Inquiry::NoteUnrunGraph(const RuntimeApart::Outcome& ran, bool kernels_decide,
                             Trial& trial) const {
  // What dies of the model as it was says nothing about the rule.
  if (!ran.end.empty()) {
    trial.Set(Trial::Fate::kInvalid,
              fmt::format("{} dies of the model: {}", court_.runtime->Name(), ran.end));
    return;
  }
  // Where it has no kernel the others decide, also where types do not count; else the graph is no model.
  const bool its_own =
      LacksKernel(ran.status) || (court_.any_type && kernels_decide && IsAboutTypes(ran.status));
  if (!its_own) trial.Set(Trial::Fate::kInvalid, Message(ran.status));
}

void Inquiry::NoteUnrunResult(const Pair& pair, const RuntimeApart::Outcome& ran,
                              const std::vector<Tensors>& inputs, Trial& trial) const {
  const std::string name = court_.runtime->Name();
  if (!ran.end.empty()) {
    trial.Set(Trial::Fate::kUnknown, fmt::format("{} dies of the result: {}", name, ran.end));
    return;
  }
  if (LacksKernel(ran.status) || IsAboutItsOwnNodes(ran.status, pair.after)) return;
  // The result is not for ONNX Runtime.
  if (court_.any_type || HasOwnSignature(pair.after, court_.signatures())) return;
  if (!TakesAllNodes(inputs))
    trial.Set(Trial::Fate::kInvalid, name + " refuses a node of the graph");
  else if (RuntimeRunsOtherwise(pair.before, inputs))
    trial.Set(Trial::Fate::kInvalid, name + kRunsOtherwise);
  else
    trial.Set(Trial::Fate::kBroken,
              fmt::format("{} refuses the result: {}", name, Message(ran.status)));
}

void Inquiry::AskRuntime(const Pair& pair, const Promise& promise,
                         const std::vector<Tensors>& inputs, bool kernels_decide,
                         Trial& trial) const {
  const RuntimeApart::Outcome a = court_.runtime->Run(pair.before, inputs);
  if (!a.end.empty() || !a.status.ok()) return NoteUnrunGraph(a, kernels_decide, trial);
  // Of a promise about calibrated data only sizes count at which there are many numbers (CompareAtSizes).
  if (!kernels_decide) trial.distinct = CountDistinct(a.values);
  const RuntimeApart::Outcome b = court_.runtime->Run(pair.after, inputs);
  if (!b.end.empty() || !b.status.ok()) return NoteUnrunResult(pair, b, inputs, trial);
  const Promise loose = Loosened(promise, given_);
  std::string why;
  double margin = 0;
  const bool kept = Keeps(loose, a.values, b.values, why, &margin);
  if (!kept && IsRandom(court_, pair.before, inputs)) {
    trial.Set(Trial::Fate::kInvalid,
              "the graph draws random numbers, or the runtime leaves results unwritten");
    return;
  }
  if (!kernels_decide && !kept && RuntimeRunsOtherwise(pair.before, inputs)) {
    trial.Set(Trial::Fate::kInvalid, court_.runtime->Name() + kRunsOtherwise);
    return;
  }
  if (!kernels_decide) {
    trial.Set(kept ? Trial::Fate::kHeld : Trial::Fate::kBroken, why);
    trial.by_runtime = !kept;
    trial.margin = margin;
    if (loose.kind != promise.kind) trial.excuse = Excuse::kOtherRuntime;
    return;
  }
  const bool held = trial.fate == Trial::Fate::kHeld;
  if (held == kept) return;
  // A difference that the looser comparison does not see is one nevertheless.
  if (!held && !Keeps(promise, a.values, b.values, why, nullptr)) return;
  trial.disputed = true;
  trial.Set(Trial::Fate::kUnknown, fmt::format("the built-in kernels and {} disagree: {}",
                                               court_.runtime->Name(), held ? why : trial.why));
}

}  // namespace qrewrite
