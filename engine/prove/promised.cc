#include "engine/prove/promised.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "engine/api/constant.h"
#include "engine/prove/changed_values.h"
#include "engine/prove/run_model.h"
#include "engine/prove/scales.h"
#include "engine/prove/trial_inputs.h"
#include "engine/prove/units.h"

namespace qrewrite {

Promise WeakestOf(const RuleSet& rules, const std::vector<std::string>& fired) {
  // By kind, then by how much is allowed. Steps are looked at where they are made, of each firing (AcquitEachTime); so
  // decibels count, where there are some, for the whole.
  const auto rank = [](const Promise& p) -> std::pair<int, double> {
    switch (p.kind) {
      case Promise::Kind::kNone: return {0, 0};
      case Promise::Kind::kRescaled: return {1, 0};
      case Promise::Kind::kApprox: return {2, p.limit};
      case Promise::Kind::kLsb: return {3, -p.limit};
      case Promise::Kind::kUlp: return {4, -p.limit};
      case Promise::Kind::kExact: return {5, 0};
    }
    return {0, 0};
  };
  std::optional<Promise> weakest;
  for (const std::string& name : fired) {
    const Rule* rule = rules.FindRule(name);
    const Promise p = Promise::Of(rule == nullptr ? "" : rule->equivalence);
    if (!weakest || rank(p) < rank(*weakest)) weakest = p;
  }
  return weakest.value_or(Promise{Promise::Kind::kExact, 0});
}

namespace {

// Element types of inputs and constants, in whatever form.
std::set<DType> TypesOfData(const Graph& graph) {
  std::set<DType> types;
  for (size_t i = 0; i < graph.num_values(); ++i) {
    const ValueId v(i);
    if (!graph.alive(v) || graph.producer(v).valid()) continue;
    const Tensor* const tensor = graph.constant(v);
    types.insert(tensor != nullptr ? tensor->dtype() : graph.declared(v).dtype);
  }
  for (size_t i = 0; i < graph.num_nodes(); ++i) {
    if (!graph.alive(NodeId(i))) continue;
    for (const Attribute& a : graph.attributes(NodeId(i))) {
      const auto* const tensor = std::get_if<Tensor>(&a.value);
      if (tensor != nullptr) types.insert(tensor->dtype());
    }
  }
  return types;
}

bool IsSubnormal(DType dtype, double v) {
  const double least = dtype == DType::kFloat16 ? 0x1p-14 : 0x1p-126;
  return v != 0 && std::fabs(v) < least;
}

// Constants of 16 bits below the least number that has all its bits: products with them are rounded to a few steps.
bool HasSubnormalConstants(const Graph& graph) {
  for (size_t i = 0; i < graph.num_values(); ++i) {
    const ValueId v(i);
    const Tensor* const tensor = graph.alive(v) ? graph.constant(v) : nullptr;
    if (tensor == nullptr) continue;
    const DType dtype = tensor->dtype();
    if (dtype != DType::kFloat16 && dtype != DType::kBfloat16) continue;
    const Result<std::vector<double>> values = ToDoubles(*tensor);
    if (values.ok() &&
        std::ranges::any_of(*values, [&](double number) { return IsSubnormal(dtype, number); }))
      return true;
  }
  return false;
}

// A few constants are no data whose sums say something, and a condition that chooses is none.
bool HasData(const Graph& graph) {
  return std::ranges::any_of(graph.inputs(), [&](ValueId v) {
    return graph.constant(v) == nullptr && graph.declared(v).dtype != DType::kBool;
  });
}

// Nothing but the shape is compared.
const Promise kOfShapes = {Promise::Kind::kApprox, -std::numeric_limits<double>::infinity()};

// The numbers of a tensor of floats, if they are few.
std::set<double> FewNumbers(const ConstTensor& plain) {
  constexpr size_t kMost = 16;
  const Result<Tensor> tensor = FromPlain(plain);
  if (!tensor.ok() || !IsFloat(tensor->dtype())) return {};
  const Result<std::vector<double>> values = ToDoubles(*tensor);
  std::set<double> numbers;
  for (const double v : values.ok() ? *values : std::vector<double>()) {
    if (!std::isfinite(v) || numbers.size() > kMost) return {};
    numbers.insert(v);
  }
  return numbers;
}

// A promise in ulps or decibels is one about FLOAT and DOUBLE: where numbers of 16 bits are computed with, sums of
// these decide. `largest`: of the numbers that the graph computes with, if it has no data.
Promise InNarrowFloats(Promise promise, const Graph& graph, std::optional<double> largest) {
  constexpr double kFloat16Db = 60, kBfloat16Db = 40;
  constexpr double kFloat16Step = 0x1p-24;  // of the smallest numbers, which have fewer bits
  // Sums overflow where integers do not, and many integers are no numbers of 16 bits.
  const bool steps =
      promise.kind == Promise::Kind::kLsb || promise.kind == Promise::Kind::kRescaled;
  if (promise.kind != Promise::Kind::kUlp && promise.kind != Promise::Kind::kApprox && !steps)
    return promise;
  double most = std::numeric_limits<double>::infinity(), unseen = 0;
  for (const DType dtype : TypesOfData(graph)) {
    if (dtype == DType::kFloat16) most = std::min(most, kFloat16Db), unseen = kFloat16Step;
    if (dtype == DType::kBfloat16) most = std::min(most, kBfloat16Db);
  }
  // Decibels are said of data: of one number that is a small difference of larger ones little is left.
  if (AreDecibelsOfAnyData(promise) && !HasData(graph)) {
    if (!largest) return kOfShapes;
    promise.least = *largest;
  }
  if (std::isinf(most)) return promise;
  if (!HasData(graph) || steps || HasSubnormalConstants(graph)) return kOfShapes;
  const double limit = promise.kind == Promise::Kind::kUlp ? most : promise.limit;
  return {.kind = Promise::Kind::kApprox, .limit = std::min(limit, most), .unseen = unseen};
}

}  // namespace

// What two runtimes may differ by, where a rule promises equality.
constexpr double kRuntimeDb = 80;

Promise Loosened(const Promise& promise, const Graph& graph) {
  const bool strict = promise.kind == Promise::Kind::kExact || promise.kind == Promise::Kind::kUlp;
  if (!strict) return promise;
  Promise loose =
      InNarrowFloats({.kind = Promise::Kind::kApprox, .limit = kRuntimeDb}, graph, /*largest=*/0);
  loose.any_type = promise.any_type;
  return loose;
}

void AddUnits(const Graph& before, const Graph& after, Promise& promise) {
  promise.retyped = RetypedOutputs(before, after);
  promise.scales = ScalesOf(before);
}

Excuse ExcuseOf(const Promise& promise, const Promise& weakest) {
  if (promise.other_steps) return Excuse::kOtherSteps;
  if (promise.kind == Promise::Kind::kApprox && std::isinf(promise.limit))
    return Excuse::kShapesAlone;
  if (promise.kind != weakest.kind || promise.limit != weakest.limit) return Excuse::kNarrowFloats;
  return promise.least > 0 ? Excuse::kNoData : Excuse::kNone;
}

std::optional<double> LargestNumber(const Court& court, const Graph& graph) {
  Graph shown = graph;
  size_t count = 0;
  for (size_t i = 0; i < graph.num_values(); ++i) {
    const ValueId v(i);
    const bool made = graph.alive(v) && graph.body_of(v) == graph.main() &&
                      (graph.producer(v).valid() || graph.constant(v) != nullptr);
    if (made && !AddNamedOutput(shown, v, fmt::format("number {}", count++))) return std::nullopt;
  }
  const Result<Model> model = Lowered(court, shown, /*in_units=*/false);
  if (!model.ok()) return std::nullopt;
  Result<std::vector<Tensors>> inputs = TrialInputs(court, *model, {Promise::Kind::kNone, 0}, {});
  if (!inputs.ok()) return std::nullopt;
  const Ran ran = RunWhereDefined(court.kernels, *model, *inputs);
  if (!ran.status.ok()) return std::nullopt;
  double largest = 0;
  for (const Tensors& sample : ran.values) {
    for (const auto& [name, plain] : sample) {
      const Result<Tensor> tensor = FromPlain(plain);
      if (!tensor.ok() || !IsFloat(tensor->dtype())) continue;
      const Result<std::vector<double>> numbers = ToDoubles(*tensor);
      for (const double v : numbers.ok() ? *numbers : std::vector<double>()) {
        if (std::isfinite(v)) largest = std::max(largest, std::fabs(v));
      }
    }
  }
  return largest;
}

bool MeasureUnreached(const Court& court, const Model& model, const std::vector<Tensors>& values,
                      Promise& promise) {
  if (!AreDecibelsOfAnyData(promise) || values.size() < 2) return false;
  std::vector<std::string> unreached;
  for (const auto& output : values.front()) {
    const std::string& name = output.first;
    // Of open sizes that are others in each sample the numbers are the same, of each channel one.
    const std::set<double> numbers = FewNumbers(output.second);
    const auto same = [&](const Tensors& sample) { return FewNumbers(sample.at(name)) == numbers; };
    if (!numbers.empty() && std::ranges::all_of(values, same)) unreached.push_back(name);
  }
  if (unreached.empty()) return false;
  const std::optional<double> largest = LargestNumber(court, GraphOf(model));
  for (const std::string& name : unreached) {
    if (largest) promise.least_of[name] = *largest;
  }
  return largest.has_value();
}

Promise PromiseOf(const Court& court, const std::vector<std::string>& fired, const Graph& graph,
                  bool other_steps) {
  Promise promise = WeakestOf(court.program.rules(), fired);
  const bool alone = AreDecibelsOfAnyData(promise) && !HasData(graph);
  promise = InNarrowFloats(promise, graph, alone ? LargestNumber(court, graph) : std::nullopt);
  promise.any_type = court.any_type;
  promise.other_steps = other_steps && promise.kind == Promise::Kind::kApprox;
  if (promise.kind != Promise::Kind::kLsb) return promise;
  promise.scales = ScalesOf(graph);
  if (promise.any_type) promise.whole_scales = WholeScales(graph);
  return promise;
}

}  // namespace qrewrite
