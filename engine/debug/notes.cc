#include "engine/debug/notes.h"

#include <fmt/format.h>

#include "engine/api/model_impl.h"
#include "engine/base/message.h"
#include "qrewrite/evaluator.h"

namespace qrewrite {
namespace {

// Why an output has no number.
std::string Uncompared(const Pair& output) {
  const auto because = [&](std::string_view why) {
    return fmt::format("output `{}` is not compared: {}", output.float_name, why);
  };
  if (output.quantized_name.empty()) return because("the quantized model has none of that name");
  return because(output.misfit ? "it has another size in the quantized model"
                               : "it is no tensor of numbers");
}

}  // namespace

void AddNotes(const ModelPair& c, const Measurement& measurement, DebugReport& report) {
  report.notes.insert(report.notes.end(), measurement.notes.begin(), measurement.notes.end());
  for (const MeasuredActivation& place : measurement.places) {
    if (!place.misfit) continue;
    report.notes.push_back(fmt::format("`{}` of the float model has another size than `{}`",
                                       place.reference, place.activation->q));
  }
  for (const auto& [restored, q] : c.values.misread) {
    report.notes.push_back(
        fmt::format("`{}` makes `{}` real with another scale or zero point than it was quantized "
                    "with: no quantizer and no operator is blamed for what that changes",
                    restored, q));
  }
  for (size_t i = 0; i < c.original.Outputs().size(); ++i) {
    const Pair& output = measurement.pairs[i];
    if (output.cumulative.empty()) report.notes.push_back(Uncompared(output));
  }
  if (const size_t lost = CountLost(c.matching); lost > 0) {
    report.notes.push_back(fmt::format("{} of {} quantized activations have no counterpart", lost,
                                       CountQuantized(c.values)));
  }
  if (c.in_bodies > 0) {
    report.notes.push_back(
        fmt::format("quantized values inside Loop, Scan and branches that some samples take are "
                    "left out, only what comes out of them is compared: {}",
                    c.in_bodies));
  }
}

void AddUnnamed(const ModelPair& c, DebugReport& report) {
  for (const DebugSuggestion& s : report.suggestions) {
    for (const std::string& name : s.nodes) {
      const ValueId v = c.float_graph.Find(name);
      const NodeId n = v.valid() ? c.float_graph.graph().producer(v) : NodeId();
      if (!n.valid() || !c.float_graph.graph().name(n).empty()) continue;
      report.notes.push_back(fmt::format(
          "the node that makes `{}` has no name: give it one, for nodes_to_exclude", name));
    }
  }
}

void AddSecondOpinion(const ModelPair& c, const Measurement& measurement, const Tensors& sample,
                      Evaluator& evaluator, Evaluator& second, DebugReport& report) {
  const NamedGraph quantized(c.quantized);
  std::vector<std::string> references, integers;
  for (const MeasuredActivation& place : measurement.places) {
    if (c.float_graph.Has(place.reference)) references.push_back(place.reference);
    if (quantized.Has(place.activation->q)) integers.push_back(place.activation->q);
  }
  const auto ask = [&](const char* name, const Model& model,
                       const std::vector<std::string>& observe) {
    const Result<Tensors> inputs = measurement.InputsOf(model, sample);
    if (!inputs.ok()) return;
    const Result<std::vector<Disagreement>> found =
        FindDisagreements(model, *inputs, evaluator, second, observe);
    if (!found.ok()) {
      report.notes.push_back(
          fmt::format("no second opinion about the {} model: {}", name, Message(found.status())));
    } else if (!found->empty()) {
      report.notes.push_back(fmt::format(
          "{} and {} disagree on the {} model: first on `{}` ({:.1f} dB), on {} values in all",
          evaluator.Name(), second.Name(), name, found->front().value, found->front().sqnr_db,
          found->size()));
    }
  };
  ask("float", c.original, references);
  ask("quantized", c.quantized, integers);
}

}  // namespace qrewrite
