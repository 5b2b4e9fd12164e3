#include "engine/debug/validate.h"

#include <algorithm>
#include <set>

#include "engine/api/model_impl.h"
#include "engine/debug/absorbed.h"
#include "engine/debug/measurement.h"
#include "engine/fold/cast.h"
#include "qrewrite/rewrite.h"

namespace qrewrite {
namespace {

std::string Quoted(const std::string& text) {
  std::string quoted;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = byte >= 0x80 || c == '_' || std::isalnum(byte) != 0;
    if (!plain) quoted += '\\';
    quoted += c;
  }
  return quoted;
}

// The operators of these names read the float weights.
Status RestoreWeights(const Stripping& s, const std::set<std::string>& nodes, Graph& graph) {
  const NamedGraph original(s.original);
  std::map<std::string, std::pair<std::string, Tensor>> weights;  // by what is made of the integers
  for (size_t i = 0; i < s.values.weights.size(); ++i) {
    const std::string& name = s.matching.weights[i].name;
    const std::string& restored = s.values.weights[i].restored;
    const ValueId theirs = original.Find(name);
    const Tensor* const tensor = theirs.valid() ? original.graph().constant(theirs) : nullptr;
    if (const auto folded = s.folded.find(i); folded != s.folded.end()) {
      weights[restored] = {name.empty() ? restored : name, folded->second};
    } else if (tensor != nullptr) {
      QR_ASSIGN_OR_RETURN(Tensor weight, InShapeOf(s.values.weights[i], *tensor));
      if (weight.dims() == s.values.weights[i].integers.dims())
        weights[restored] = {name, std::move(weight)};
      const std::string& turned = s.values.weights[i].turned;
      if (!turned.empty()) weights[turned] = {name, *tensor};
    }
  }
  for (const QuantizedWeight& w : s.values.weights) {
    for (const std::string& made : {w.restored, w.turned}) {
      const auto weight = weights.find(made);
      if (weight == weights.end() || !w.scheme.scale.valid()) continue;
      Tensor& tensor = weight->second.second;  // in half precision, if the quantized model is
      QR_ASSIGN_OR_RETURN(tensor, fold::CastTensor(tensor, w.scheme.scale.dtype()));
    }
  }
  for (const NodeId n : std::vector<NodeId>(graph.body(graph.main()).nodes)) {
    const bool named =
        graph.alive(n) && (nodes.contains(std::string(graph.name(n))) ||
                           (graph.num_outputs(n) > 0 && graph.output(n, 0).valid() &&
                            nodes.contains(std::string(graph.name(graph.output(n, 0))))));
    for (size_t i = 0; named && i < graph.num_inputs(n); ++i) {
      const ValueId v = graph.input(n, i);
      const auto weight = v.valid() ? weights.find(std::string(graph.name(v))) : weights.end();
      if (weight == weights.end()) continue;
      const auto& [stem, tensor] = weight->second;
      const std::string_view name = graph.FreshName(stem + "_float");
      graph.SetInput(n, i, graph.AddConstant(graph.main(), name, tensor));
    }
  }
  return {};
}

// What quantizers stood for that are gone, as the float model has it: their own bounds may be what is wrong.
Status RestoreAbsorbed(const Stripping& s, const std::set<std::string>& values, Graph& graph,
                       const NamedGraph& named) {
  const NamedGraph original(s.original), form(s.form);
  for (size_t i = 0; i < s.values.activations.size(); ++i) {
    const QuantizedActivation& a = s.values.activations[i];
    const std::string& reference = s.matching.activations[i].name;
    const ValueId v = values.contains(reference) ? named.Find(a.source) : ValueId();
    const std::string op = form.OpOf(form.Find(a.source));
    const auto last = s.absorbable.find(reference);
    if (!v.valid() || last == s.absorbable.end() || last->second == op) continue;
    const std::vector<AbsorbedActivation> absorbed =
        AbsorbedBefore(original, s.absorbable, reference, op);
    const DType floats = a.scheme.scale.valid() ? a.scheme.scale.dtype() : DType::kFloat;
    for (auto one = absorbed.rbegin(); one != absorbed.rend(); ++one)
      QR_RETURN_IF_ERROR(one->PutBehind(graph, v, floats));
  }
  return {};
}

// `values`: those of the float model of which the suggestions speak.
Result<Model> Stripped(const Stripping& s, const std::vector<std::string>& nodes,
                       const std::set<std::string>& values) {
  QR_ASSIGN_OR_RETURN(Model model, s.form.Clone());
  QR_RETURN_IF_ERROR(RestoreWeights(s, {nodes.begin(), nodes.end()}, model.impl().file->graph()));
  QR_ASSIGN_OR_RETURN(const Rules rules, Rules::Load("strip_qdq", {.tests = false}));
  const RewriteOptions options{.set = {{"nodes", NodePattern(nodes)}, {"saturation", "relu"}}};
  QR_RETURN_IF_ERROR(Rewrite(model, rules, options).status());
  QR_RETURN_IF_ERROR(RestoreAbsorbed(s, values, model.impl().file->graph(), NamedGraph(model)));
  return model;
}

// The worst output, in dB; nullopt: none has a number.
std::optional<double> Worst(const std::vector<DebugOutput>& outputs) {
  std::optional<double> worst;
  for (const DebugOutput& output : outputs) {
    const std::optional<double>& db = output.cumulative.db;
    if (db && (!worst || *db < *worst)) worst = db;
  }
  return worst;
}

Result<DebugGain> Gained(const Stripping& s, const std::vector<std::string>& nodes,
                         const std::set<std::string>& values, Evaluator& evaluator,
                         const Samples& samples, const DebugReport& report) {
  QR_ASSIGN_OR_RETURN(const Model model, Stripped(s, nodes, values));
  Measurement measurement({s.original, model, model, false}, evaluator);
  const std::vector<ModelValue> outputs = model.Outputs();
  for (size_t i = 0; i < report.outputs.size(); ++i) {  // by name, else by place
    const std::string& name = report.outputs[i].name;
    const bool same = std::ranges::find(outputs, name, &ModelValue::name) != outputs.end();
    if (same || outputs.size() == report.outputs.size())
      measurement.pairs.push_back(
          {.float_name = name, .quantized_name = same ? name : outputs[i].name});
  }
  QR_RETURN_IF_ERROR(measurement.Run(samples));
  std::vector<DebugOutput> after;
  for (const Pair& pair : measurement.pairs) {
    after.push_back({pair.float_name, pair.cumulative.Get(false)});
  }
  const std::optional<double> before = Worst(report.outputs), now = Worst(after);
  if (!before) return DebugGain();
  if (now) return DebugGain{.db = *now - *before};
  return DebugGain{.lossless = std::ranges::all_of(after, [](const DebugOutput& output) {
                     return output.cumulative.status == SqnrStatus::kIdentical;
                   })};
}

}  // namespace

std::string NodePattern(const std::vector<std::string>& names) {
  std::string pattern;
  for (const std::string& name : names) pattern += (pattern.empty() ? "" : "|") + Quoted(name);
  return "^(" + pattern + ")$";
}

Status Validate(const Stripping& stripping, Evaluator& evaluator, const Samples& samples,
                DebugReport& report) {
  std::vector<std::string> all;
  std::set<std::string> values;
  for (DebugSuggestion& s : report.suggestions) {
    QR_ASSIGN_OR_RETURN(s.gained,
                        Gained(stripping, s.quantized_nodes, {s.name}, evaluator, samples, report));
    all.insert(all.end(), s.quantized_nodes.begin(), s.quantized_nodes.end());
    values.insert(s.name);
  }
  QR_ASSIGN_OR_RETURN(report.all_gained,
                      Gained(stripping, all, values, evaluator, samples, report));
  return {};
}

}  // namespace qrewrite
