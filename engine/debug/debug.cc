// Debug(): from two models to a report.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>
#include <span>

#include <fmt/format.h>

#include "engine/api/constant.h"
#include "engine/api/model_impl.h"
#include "engine/base/message.h"
#include "engine/debug/classify.h"
#include "engine/debug/flatten.h"
#include "engine/debug/float_pairs.h"
#include "engine/debug/float_places.h"
#include "engine/debug/flow.h"
#include "engine/debug/folded_weights.h"
#include "engine/debug/measurement.h"
#include "engine/debug/model_pair.h"
#include "engine/debug/notes.h"
#include "engine/debug/validate.h"
#include "engine/driver/versions.h"

namespace qrewrite {
namespace {

void PlanPlaces(const ModelPair& c, const DebugOptions& options, Measurement& measurement) {
  for (size_t i = 0; i < c.values.activations.size(); ++i) {
    const QuantizedActivation& a = c.values.activations[i];
    MeasuredActivation place{.activation = &a,
                             .reference = c.matching.activations[i].name,
                             .order = c.matching.activations[i].order,
                             .factor = c.matching.activations[i].factor};
    if (options.compat_ort && place.factor.valid()) place.reference.clear();
    const std::string op = c.form_graph.OpOf(c.form_graph.Find(a.source));
    if (!options.compat_ort && !place.factor.valid() && c.absorbable.contains(place.reference)) {
      place.absorbed = AbsorbedBefore(c.float_graph, c.absorbable, place.reference, op);
      place.left_out = !op.empty() && op != c.absorbable.at(place.reference);
    }
    const bool as_it_is = options.compat_ort || a.is_float || place.factor.valid();
    if (!as_it_is && !place.reference.empty())
      place.behind = KeptBehind(c.float_graph, c.form_graph, c.absorbable, place.reference, a);
    measurement.places.push_back(std::move(place));
  }
}

// Outputs by name; by place where both models have as many.
void PlanOutputs(const ModelPair& c, Measurement& measurement) {
  const std::vector<ModelValue> theirs = c.original.Outputs();
  const std::vector<ModelValue> ours = c.quantized.Outputs();
  for (size_t i = 0; i < theirs.size(); ++i) {
    Pair pair{.float_name = theirs[i].name, .quantized_name = theirs[i].name};
    const auto same = std::find_if(ours.begin(), ours.end(),
                                   [&](const ModelValue& v) { return v.name == theirs[i].name; });
    if (same == ours.end()) {
      pair.quantized_name = ours.size() == theirs.size() ? ours[i].name : "";
    }
    for (const QuantizedActivation& a : c.values.activations) {
      if (a.q == pair.quantized_name) pair.activation = &a;
    }
    measurement.pairs.push_back(std::move(pair));
  }
}

// Weights whose counterpart has their size, as it is or transposed.
size_t CountWeights(const ModelPair& c) {
  size_t count = 0;
  for (size_t i = 0; i < c.values.weights.size(); ++i) {
    const ValueId v = c.float_graph.Find(c.matching.weights[i].name);
    const Tensor* tensor = v.valid() ? c.float_graph.graph().constant(v) : nullptr;
    count +=
        c.folded.contains(i) ||
        (v.valid() && (tensor == nullptr || tensor->size() == c.values.weights[i].integers.size()));
  }
  return count;
}

// Models of one origin have counterparts for half of what is quantized.
Status CheckMatched(const ModelPair& c, const Measurement& measurement, DebugReport& report) {
  report.quantized_values = CountQuantized(c.values) + c.values.weights.size();
  report.matched = CountQuantized(c.values) - CountLost(c.matching) + CountWeights(c);
  if (report.quantized_values == 0) {
    report.compared_by_name = measurement.pairs.size() - c.original.Outputs().size();
    if (measurement.pairs.size() > c.original.Outputs().size()) return {};
    return {StatusCode::kRefused,
            "nothing is quantized in the quantized model, and the two models share no names"};
  }
  if (2 * report.matched >= report.quantized_values) return {};
  return {
      StatusCode::kRefused,
      fmt::format("{} of {} quantized values have a counterpart in the float model: the models are "
                  "not of one origin, or their names differ (--map FLOAT=QUANTIZED joins two)",
                  report.matched, report.quantized_values)};
}

// What is compared with what the float model computes: its inputs are not.
std::vector<const SqnrSum*> Sums(const ModelPair& c, const Measurement& measurement) {
  std::vector<const SqnrSum*> sums;
  const auto add = [&](const std::string& reference, const SqnrSum& sum) {
    const ValueId v = c.float_graph.Find(reference);
    if (!v.valid() || !c.float_graph.graph().IsInput(v)) sums.push_back(&sum);
  };
  for (const Pair& pair : measurement.pairs) add(pair.float_name, pair.cumulative);
  for (const MeasuredActivation& place : measurement.places) add(place.reference, place.cumulative);
  return sums;
}

// NaN and infinity everywhere say nothing of the quantized model.
Status CheckFinite(const ModelPair& c, const Measurement& measurement) {
  size_t compared = 0;
  for (const auto* sum : Sums(c, measurement)) {
    if (sum->has_reference()) return {};
    compared += sum->Get(false).status == SqnrStatus::kNonFinite;
  }
  if (compared == 0) {
    return {
        StatusCode::kRefused,
        "nothing could be compared: values of the two models are no tensors of numbers, or have "
        "different sizes"};
  }
  return {StatusCode::kRefused,
          "on these samples the float model gives NaN or infinity alone: nothing can be measured"};
}

// The axis that a weight's channels lie along.
int64_t ChannelAxis(const QuantizedWeight& w) {
  if (w.scheme.scale.size() > 1 && w.scheme.block == 0) return w.scheme.axis;
  return w.columns ? -1 : 0;
}

Result<DebugWeight> MeasureWeight(const ModelPair& c, size_t i, const Tensors& constants,
                                  bool compat_ort) {
  const QuantizedWeight& w = c.values.weights[i];
  const Counterpart& counterpart = c.matching.weights[i];
  DebugWeight weight{.name = counterpart.name.empty() ? w.q : counterpart.name,
                     .quantized = w.q,
                     .matched_by = counterpart.method,
                     .type = std::string(Info(w.integers.dtype()).text_name)};
  Tensor wanted;
  if (const auto folded = c.folded.find(i); folded != c.folded.end()) {
    wanted = folded->second;
    weight.folded = true;
    if (weight.matched_by.empty()) weight.matched_by = "structure";
  } else {
    const auto reference = constants.find(counterpart.name);
    if (reference == constants.end()) return weight;
    QR_ASSIGN_OR_RETURN(wanted, FromPlain(reference->second));
  }
  QR_ASSIGN_OR_RETURN(wanted, InShapeOf(w, wanted));
  QR_ASSIGN_OR_RETURN(const std::vector<double> numbers, ToDoubles(wanted));
  QR_ASSIGN_OR_RETURN(const std::vector<double> real,
                      Dequantize(w.integers, w.scheme, {.round = compat_ort, .wrap = compat_ort}));
  SqnrSum sum;
  const Dims& dims = w.integers.dims();
  const Channels channels = dims.size() < 2 ? Channels() : Channels::Of(dims, ChannelAxis(w));
  sum.Add(numbers, real, channels);
  if (!sum.empty() && w.scheme.block > 0) {
    const Channels along = Channels::Of(dims, w.scheme.axis);
    sum.AddBlocks(numbers, real, w.scheme.block, along.count, along.inner);
  }
  weight.sqnr = sum.Get(compat_ort);
  return weight;
}

// One line a float weight: the worst of those that are made of it. An operator may make real with a scale of its own what
// others read as well (ONNX Runtime's QOperator models share a bias so).
Status AddWeights(const ModelPair& c, const Tensors& constants, DebugReport& report,
                  std::vector<std::string>& names, std::vector<Sqnr>& sqnrs) {
  std::map<std::string, size_t> listed;
  for (size_t i = 0; i < c.values.weights.size(); ++i) {
    QR_ASSIGN_OR_RETURN(DebugWeight weight, MeasureWeight(c, i, constants, report.compat_ort));
    names.push_back(weight.name);
    sqnrs.push_back(weight.sqnr);
    const auto [at, is_new] = listed.emplace(weight.name, report.weights.size());
    if (is_new) {
      report.weights.push_back(std::move(weight));
      continue;
    }
    DebugWeight& other = report.weights[at->second];
    if (weight.sqnr.db && (!other.sqnr.db || *weight.sqnr.db < *other.sqnr.db))
      other = std::move(weight);
  }
  return {};
}

// Nodes of the float model between the reference and what the operator reads.
std::vector<std::string> NodesOf(const NamedGraph& graph, ValueId v, const std::string& op) {
  std::vector<std::string> nodes;
  for (int step = 0; step < 8 && v.valid() && graph.graph().producer(v).valid(); ++step) {
    nodes.insert(nodes.begin(), graph.NodeName(v));
    if (graph.OpOf(v) == op) break;
    const NodeId n = graph.graph().producer(v);
    v = graph.graph().num_inputs(n) > 0 ? graph.graph().input(n, 0) : ValueId();
  }
  return nodes;
}

// Which operators of the two models make what is compared.
void SetNodes(const ModelPair& c, ValueId reference, ValueId source, const Operands& operands,
              DebugActivation& row) {
  const Graph& graph = c.form_graph.graph();
  const bool known = operands.node.valid();
  row.op = known ? graph.op_name(graph.op(operands.node)).text() : c.form_graph.OpOf(source);
  row.quantized_node = known ? c.form_graph.NodeName(operands.node) : c.form_graph.NodeName(source);
  for (auto n = operands.nodes.rbegin(); n != operands.nodes.rend(); ++n) {
    if (graph.num_outputs(*n) > 0)
      row.quantized_nodes.push_back(c.form_graph.NodeName(graph.output(*n, 0)));
  }
  if (row.quantized_nodes.empty()) row.quantized_nodes = {row.quantized_node};
  row.node = c.float_graph.NodeName(reference);
  if (reference.valid()) row.nodes = NodesOf(c.float_graph, reference, row.op);
}

DebugActivation Describe(const ModelPair& c, size_t i, const MeasuredActivation& place,
                         const Operands& operands, bool compat_ort) {
  const QuantizedActivation& a = *place.activation;
  const ValueId source = c.form_graph.Find(a.source);
  const ValueId reference = c.float_graph.Find(place.reference);
  const bool is_other = place.reference.empty() || place.factor.valid();
  DebugActivation row{.name = is_other ? a.source : place.reference,
                      .quantized = a.q,
                      .matched_by = c.matching.activations[i].method,
                      .absorbed = place.absorbed.empty() ? "" : place.absorbed.back().op(),
                      .left_out = place.left_out,
                      .local = place.local.Get(compat_ort),
                      .cumulative = place.cumulative.Get(compat_ort),
                      .isolated = place.isolated.Get(false)};
  SetNodes(c, reference, source, operands, row);
  if (place.behind && !place.read_local.empty())
    row.read = {place.behind->op(), place.read_local.Get(false), place.read_cumulative.Get(false),
                place.read_isolated.Get(false)};
  if (place.runs > 0) row.saturation_percent = place.saturated / static_cast<double>(place.runs);
  return row;
}

// The weights of each row, and what is lost behind its operands. `operands`: of each row.
void AddOperands(const std::vector<Operands>& operands,
                 const std::vector<std::string>& weight_names,
                 const std::vector<Sqnr>& weight_sqnrs, DebugReport& report) {
  for (size_t i = 0; i < report.activations.size(); ++i) {
    DebugActivation& row = report.activations[i];
    for (const size_t w : operands[i].weights) {
      row.weights.push_back(weight_names[w]);
      const Sqnr& sqnr = weight_sqnrs[w];
      if (sqnr.breaks) row.worst_weight = -INFINITY;
      for (const std::optional<double>& db : {sqnr.db, sqnr.min_channel}) {
        if (db) row.worst_weight = std::min(row.worst_weight.value_or(*db), *db);
      }
    }
    if (row.cumulative.db) row.drop_db = Drop(report.activations, operands, i);
  }
}

void AddActivations(const ModelPair& c, const Measurement& measurement,
                    const std::vector<Operands>& operands,
                    const std::vector<std::string>& weight_names,
                    const std::vector<Sqnr>& weight_sqnrs, DebugReport& report) {
  for (size_t i = 0; i < measurement.places.size(); ++i) {
    report.activations.push_back(
        Describe(c, i, measurement.places[i], operands[i], report.compat_ort));
  }
  AddOperands(operands, weight_names, weight_sqnrs, report);
}

// What is compared as floats (float_pairs.h).
void AddFloats(const ModelPair& c, std::span<const Pair> all,
               const std::vector<std::string>& weight_names, const std::vector<Sqnr>& weight_sqnrs,
               DebugReport& report) {
  std::vector<Pair> pairs;
  std::ranges::copy_if(all, std::back_inserter(pairs), [](const Pair& p) { return !p.has_codes; });
  if (report.compared_by_name > 0) report.compared_by_name = pairs.size();
  std::vector<ValueId> floats;
  for (const Pair& pair : pairs) floats.push_back(c.form_graph.Find(pair.quantized_name));
  std::vector<Operands> operands(floats.size());
  if (!c.values.weights.empty()) operands = OperandsOfFloats(c.form_graph, c.values, floats);
  for (size_t i = 0; i < pairs.size(); ++i) {
    DebugActivation& row = report.activations.emplace_back();
    row.name = pairs[i].float_name;
    row.matched_by = pairs[i].float_name == pairs[i].quantized_name ? "name" : "structure";
    row.cumulative = pairs[i].cumulative.Get(report.compat_ort);
    SetNodes(c, c.float_graph.Find(row.name), floats[i], operands[i], row);
  }
  AddOperands(operands, weight_names, weight_sqnrs, report);
}

// One line a float value: that of its worst quantizer, if it has several.
void KeepWorst(std::vector<DebugActivation>& rows) {
  std::map<std::string, size_t> first;
  std::vector<DebugActivation> kept;
  for (DebugActivation& row : rows) {
    const auto [at, is_new] = first.emplace(row.name, kept.size());
    if (is_new) {
      kept.push_back(std::move(row));
      continue;
    }
    DebugActivation& other = kept[at->second];
    if (row.local.db && (!other.local.db || *row.local.db < *other.local.db))
      other = std::move(row);
  }
  rows = std::move(kept);
}

// Values of bodies exist many times in a run, or not at all, and cannot be observed: they go. Stored
// integers of the main graph stay, whoever reads them. Returns how many went.
size_t LeaveOutBodies(const NamedGraph& main, QuantizedValues& values) {
  return std::erase_if(values.activations, [&](const auto& a) { return !main.Has(a.quantizer); }) +
         std::erase_if(values.weights,
                       [&](const auto& w) { return !main.Has(w.restored) && !main.Has(w.q); });
}

Result<ModelPair> Compare(const Model& original, const Model& quantized,
                          const DebugOptions& options) {
  bool differs = false;
  QR_ASSIGN_OR_RETURN(Model form, ToQdqForm(quantized, &differs));
  QR_ASSIGN_OR_RETURN(QuantizedValues values, FindQuantizedValues(form));
  QR_ASSIGN_OR_RETURN(Absorbable absorbable, FindAbsorbable(original));
  const NamedGraph float_graph(original), form_graph(form);
  const size_t in_bodies = LeaveOutBodies(form_graph, values);
  QR_ASSIGN_OR_RETURN(const Products float_products, FindProducts(original));
  QR_ASSIGN_OR_RETURN(const Products form_products, FindProducts(form));
  QR_ASSIGN_OR_RETURN(Matching matching, MatchValues(float_graph, form_graph, values, absorbable,
                                                     float_products, form_products, options.map));
  FoldedWeights folded;
  if (!options.compat_ort && !values.activations.empty())
    AddFloatPlaces(float_graph, form_graph, values, matching);
  if (!options.compat_ort) {
    QR_ASSIGN_OR_RETURN(
        folded, FindFoldedWeights(original, float_graph, form_graph, values, absorbable, matching));
  }
  return ModelPair{original,
                   quantized,
                   std::move(form),
                   differs,
                   float_graph,
                   form_graph,
                   std::move(values),
                   std::move(absorbable),
                   std::move(matching),
                   std::move(folded),
                   in_bodies};
}

}  // namespace

Result<DebugReport> Debug(const Model& float_model, const Model& quantized_model,
                          Evaluator& evaluator, const Samples& samples,
                          const DebugOptions& options) {
  if (samples.count == 0) return Status(StatusCode::kUsage, "there are no samples");
  QR_RETURN_IF_ERROR(CheckVersions(float_model.impl().file->graph(), "the float model"));
  QR_RETURN_IF_ERROR(CheckVersions(quantized_model.impl().file->graph(), "the quantized model"));
  std::vector<std::string> form_rules;
  QR_ASSIGN_OR_RETURN(const Model standard, WithStandardQuantizers(quantized_model, form_rules));
  QR_ASSIGN_OR_RETURN(const FlatModels flat, Flatten(float_model, standard, evaluator, samples));
  QR_ASSIGN_OR_RETURN(const ModelPair c, Compare(flat.original, flat.quantized, options));
  DebugReport report{.evaluator = evaluator.Name(),
                     .samples = samples.origin,
                     .num_samples = samples.count,
                     .compat_ort = options.compat_ort,
                     .isolated = options.isolate,
                     .form_rules = std::move(form_rules)};
  for (const std::string& rules : report.form_rules) {
    report.notes.push_back(fmt::format(
        "quantizers of the model's own domains are measured as rule set `{}` writes them", rules));
  }
  if (c.form_differs) report.form_rules.emplace_back("qdq_form");
  Measurement measurement({c.original, c.quantized, c.form, c.form_differs}, evaluator);
  measurement.isolate = options.isolate;
  measurement.compat_ort = options.compat_ort;
  measurement.most_bytes = options.most_bytes;
  PlanOutputs(c, measurement);
  const size_t outputs = measurement.pairs.size();
  PlanPlaces(c, options, measurement);
  if (c.values.activations.empty()) {
    AddFloatPairs(c.float_graph, c.form_graph, c.values, c.matching, measurement.pairs);
  }
  for (const Counterpart& w : c.matching.weights) {
    if (!w.name.empty()) measurement.constants.push_back(w.name);
  }
  QR_RETURN_IF_ERROR(CheckMatched(c, measurement, report));
  const std::vector<Operands> operands = OperandsOf(c.form_graph, c.values);
  for (const Operands& of_place : operands) measurement.operands.push_back(of_place.activations);
  QR_RETURN_IF_ERROR(measurement.Run(samples));
  QR_RETURN_IF_ERROR(CheckFinite(c, measurement));
  std::vector<std::string> weight_names;
  std::vector<Sqnr> weight_sqnrs;
  QR_RETURN_IF_ERROR(
      AddWeights(c, measurement.constant_values, report, weight_names, weight_sqnrs));
  if (c.values.activations.empty()) {
    AddFloats(c, std::span(measurement.pairs).subspan(outputs), weight_names, weight_sqnrs, report);
  } else {
    AddActivations(c, measurement, operands, weight_names, weight_sqnrs, report);
  }
  for (size_t i = 0; i < outputs; ++i) {
    const Pair& pair = measurement.pairs[i];
    report.outputs.push_back({pair.float_name, pair.cumulative.Get(options.compat_ort)});
  }
  Classify(report);
  KeepWorst(report.activations);
  AddNotes(c, measurement, report);
  if (options.second_opinion != nullptr) {
    QR_ASSIGN_OR_RETURN(const Tensors sample, samples.get(0));
    AddSecondOpinion(c, measurement, sample, evaluator, *options.second_opinion, report);
  }
  report.suggestions = Suggest(report, options.suggest);
  AddUnnamed(c, report);
  if (options.validate && !report.suggestions.empty()) {
    QR_RETURN_IF_ERROR(
        Validate({c.original, c.quantized, c.form, c.values, c.matching, c.folded, c.absorbable},
                 evaluator, samples, report));
  }
  return report;
}

}  // namespace qrewrite
