// Whether the promise holds of the values that a rule changed, where it does not of an output: what reads them may
// make more of a difference (y = Add(a, a)).
#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "engine/api/constant.h"
#include "engine/api/model_impl.h"
#include "engine/ops/quantizer.h"
#include "engine/prove/judge.h"
#include "engine/prove/units.h"

namespace qrewrite {
namespace {

// What something reads: before, and after.
using Reading = std::pair<ValueId, ValueId>;

// Values that have another producer, or none any more.
void AddMadeAnew(const Graph& before, const Graph& after, std::set<Reading>& readings) {
  for (size_t i = 0; i < before.num_values(); ++i) {
    const ValueId v(i);
    const bool made = before.alive(v) && before.producer(v).valid();
    if (made && after.alive(v) && before.producer(v) != after.producer(v)) readings.emplace(v, v);
  }
}

// What nodes that are still there read instead of what they read before. False: another number of inputs.
bool AddReadElsewhere(const Graph& before, const Graph& after, std::set<Reading>& readings) {
  for (size_t i = 0; i < before.num_nodes(); ++i) {
    const NodeId n(i);
    if (!before.alive(n) || !after.alive(n)) continue;
    if (before.num_inputs(n) != after.num_inputs(n)) return false;
    for (size_t k = 0; k < before.num_inputs(n); ++k) {
      const ValueId a = before.input(n, k), b = after.input(n, k);
      if (a != b) readings.emplace(a, b);
    }
  }
  return true;
}

// The same of graph outputs.
bool AddOutputsElsewhere(const Graph& before, const Graph& after, std::set<Reading>& readings) {
  const size_t outputs = before.body(before.main()).outputs.size();
  if (outputs != after.body(after.main()).outputs.size()) return false;
  for (size_t i = 0; i < outputs; ++i) {
    const ValueId a = before.output(before.main(), i), b = after.output(after.main(), i);
    if (a != b) readings.emplace(a, b);
  }
  return true;
}

// All readings in which the two differ: where they agree, all that is behind them does. nullopt: some are in
// bodies, where they cannot be looked at, or nothing was read before.
std::optional<std::set<Reading>> ChangedReadings(const Graph& before, const Graph& after) {
  std::set<Reading> readings;
  AddMadeAnew(before, after, readings);
  if (!AddReadElsewhere(before, after, readings) || !AddOutputsElsewhere(before, after, readings))
    return std::nullopt;
  const auto is_seen = [&](const Reading& r) {
    return r.first.valid() && r.second.valid() && before.body_of(r.first) == before.main() &&
           after.body_of(r.second) == after.main();
  };
  if (readings.empty() || !std::ranges::all_of(readings, is_seen)) return std::nullopt;
  return readings;
}

bool AreEqual(const Graph& before, ValueId a, const Graph& after, ValueId b) {
  if (a == b) return true;
  if (!a.valid() || !b.valid()) return false;
  const Tensor *const x = before.constant(a), *const y = after.constant(b);
  return x != nullptr && y != nullptr && Equal(AttrValue(*x), AttrValue(*y));
}

bool HaveEqualAttributes(const Graph& before, NodeId n, const Graph& after, NodeId m) {
  const Attributes &x = before.attributes(n), &y = after.attributes(m);
  return x.size() == y.size() && std::ranges::all_of(x, [&](const Attribute& a) {
           const AttrValue* const other = y.Find(a.name);
           return other != nullptr && Equal(a.value, *other);
         });
}

// The integers of a dequantizer in place of what it makes of them, if nothing else of it is another: its scale is the
// step, and each column may have one of its own.
Reading AtIntegers(const Graph& before, const Graph& after, Reading reading,
                   const Signatures& signatures) {
  for (;;) {
    const NodeId n = before.producer(reading.first), m = after.producer(reading.second);
    if (!n.valid() || !m.valid() || before.op(n) != after.op(m)) return reading;
    if (RoleOf(before, n, signatures) != QuantizerRole::kDequantizer) return reading;
    const size_t inputs = before.num_inputs(n);
    if (after.num_inputs(m) != inputs || !HaveEqualAttributes(before, n, after, m)) return reading;
    for (size_t i = 1; i < inputs; ++i) {
      if (!AreEqual(before, before.input(n, i), after, after.input(m, i))) return reading;
    }
    reading = {before.input(n, 0), after.input(m, 0)};
  }
}

constexpr std::string_view kHiddenInBody =
    "what reads the result in a body may make more of a difference";

bool IsReadByNode(const Graph& graph, ValueId v) {
  for (const UseId use : graph.uses(v)) {
    if (!graph.user(use).is_output()) return true;
  }
  return false;
}

// Values that have another producer than before.
std::vector<ValueId> Redefined(const Graph& before, const Graph& after) {
  std::vector<ValueId> values;
  for (size_t i = 0; i < before.num_values(); ++i) {
    const ValueId v(i);
    if (!before.alive(v) || !after.alive(v)) continue;
    if (!before.producer(v).valid() || !after.producer(v).valid()) continue;
    if (before.producer(v) != after.producer(v)) values.push_back(v);
  }
  return values;
}

bool IsReadInBody(const Graph& before, const Graph& after) {
  return std::ranges::any_of(Redefined(before, after), [&](ValueId v) {
    return before.body_of(v) != before.main() && IsReadByNode(after, v);
  });
}

// Nothing that was made anew can be looked at: it is in bodies.
bool ChangedBodiesAlone(const Graph& before, const Graph& after) {
  return std::ranges::none_of(Redefined(before, after),
                              [&](ValueId v) { return before.body_of(v) == before.main(); });
}

}  // namespace

std::optional<double> Judge::LargestNumber(const Graph& graph) {
  Graph shown = graph;
  size_t count = 0;
  for (size_t i = 0; i < graph.num_values(); ++i) {
    const ValueId v(i);
    const bool made = graph.alive(v) && graph.body_of(v) == graph.main() &&
                      (graph.producer(v).valid() || graph.constant(v) != nullptr);
    if (made && !AddNamedOutput(shown, v, fmt::format("number {}", count++))) return std::nullopt;
  }
  const Result<Model> model = Lowered(shown, /*in_units=*/false);
  if (!model.ok()) return std::nullopt;
  Result<std::vector<Tensors>> inputs =
      Inputs(*model, {Promise::Kind::kNone, 0}, 1, /*turned=*/false);
  if (!inputs.ok()) return std::nullopt;
  const Outcome ran = RunWhereDefined(court_.kernels, *model, *inputs);
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

namespace {

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

}  // namespace

bool Judge::MeasureUnreached(const Model& before, const std::vector<Tensors>& values,
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
  const std::optional<double> largest = LargestNumber(std::as_const(*before.impl().file).graph());
  for (const std::string& name : unreached) {
    if (largest) promise.least_of[name] = *largest;
  }
  return largest.has_value();
}

bool Judge::ChangesConstantsAlone(const Graph& before, const Graph& after) {
  const std::optional<std::set<Reading>> readings = ChangedReadings(before, after);
  if (!readings) return false;
  std::vector<ValueId> values;
  for (const Reading& r : *readings) values.push_back(r.first);
  std::set<ValueId> seen;
  while (!values.empty()) {
    const ValueId v = values.back();
    values.pop_back();
    if (!v.valid() || before.constant(v) != nullptr || !seen.insert(v).second) continue;
    const NodeId n = before.producer(v);
    if (!n.valid() || before.HasSubgraphs(n)) return false;
    for (size_t i = 0; i < before.num_inputs(n); ++i) values.push_back(before.input(n, i));
  }
  return true;
}

std::optional<std::pair<Judge::Outcome, Judge::Outcome>> Judge::WhereMade(
    const Graph& before, const Graph& after, const Promise& promise, double size, bool turned) {
  std::optional<std::set<Reading>> readings = ChangedReadings(before, after);
  if (!readings) return std::nullopt;
  if (promise.kind == Promise::Kind::kLsb) {
    const Signatures& signatures = court_.program.rules().signatures;
    std::set<Reading> of_integers;
    for (const Reading& r : *readings) of_integers.insert(AtIntegers(before, after, r, signatures));
    readings = std::move(of_integers);
  }
  Outcome outcomes[2];
  std::vector<Tensors> inputs;
  for (const bool second : {false, true}) {
    Graph graph = second ? after : before;
    std::set<std::string> names;
    for (const Reading& r : *readings) {
      const std::string& name = *names.insert(fmt::format("reading {}", names.size())).first;
      if (!AddNamedOutput(graph, second ? r.second : r.first, name)) return std::nullopt;
    }
    const Result<Model> model = Lowered(graph, /*in_units=*/false);
    if (!model.ok()) return std::nullopt;
    if (!second) {
      Result<std::vector<Tensors>> samples = Inputs(*model, promise, size, turned);
      if (!samples.ok()) return std::nullopt;
      inputs = *std::move(samples);
    }
    Outcome& outcome = outcomes[second ? 1 : 0];
    outcome = second ? RunModel(court_.kernels, *model, inputs)
                     : RunWhereDefined(court_.kernels, *model, inputs);
    if (!outcome.status.ok()) return std::nullopt;
    for (Tensors& sample : outcome.values)
      std::erase_if(sample, [&](const auto& entry) { return !names.contains(entry.first); });
  }
  return std::pair(std::move(outcomes[0]), std::move(outcomes[1]));
}

bool Judge::KeepsWhereMade(const Graph& before, const Graph& after, const Promise& promise,
                           bool turned) {
  const auto made = WhereMade(before, after, promise, 1, turned);
  std::string why;
  return made && Keeps(promise, made->first.values, made->second.values, why, nullptr);
}

bool Judge::FitsWhereMade(const Graph& before, const Graph& after, const Promise& promise) {
  std::vector<size_t> held;
  size_t most = 0;
  for (const double size : kSizesOfData) {
    if (is_smooth_ && size != 1) break;
    const auto made = WhereMade(before, after, promise, size, /*turned=*/false);
    if (!made) return false;
    const size_t distinct = CountDistinct(made->first.values);
    most = std::max(most, distinct);
    std::string why;
    if (Keeps(promise, made->first.values, made->second.values, why, nullptr))
      held.push_back(distinct);
  }
  return std::ranges::any_of(held,
                             [&](size_t n) { return n >= kSeveralNumbers && ShowsData(n, most); });
}

namespace {

bool IsInSteps(const Promise& promise) {
  return promise.kind == Promise::Kind::kUlp || promise.kind == Promise::Kind::kLsb;
}

// Whether a promise can be looked at where the rule fired.
bool IsOfValues(const Promise& promise) {
  return IsInSteps(promise) || AreDecibelsOfAnyData(promise) ||
         promise.kind == Promise::Kind::kExact;
}

// Rules that fired more often than before.
std::vector<std::string> FiredSince(const RunReport& before, const RunReport& after) {
  std::vector<std::string> fired;
  for (const RuleCount& count : after.rules) {
    const auto same = std::ranges::find(before.rules, count.rule, &RuleCount::rule);
    if (count.fired > (same == before.rules.end() ? 0 : same->fired)) fired.push_back(count.rule);
  }
  return fired;
}

}  // namespace

// Held if each firing keeps the promise of its rule, where one reads what another made and promises a number of
// steps: one step of a coarse value may be several of a fine one behind it, or more than the decibels of another.
void Judge::AcquitEachTime(const Graph& graph, const Task& task, CodeId assumed, int64_t rewrites,
                           bool turned, Trial& trial) {
  constexpr int64_t kMostRewrites = 16;
  const auto in_steps = [&](const std::string& rule) { return IsInSteps(WeakestOf({rule})); };
  if (rewrites < 2 || rewrites > kMostRewrites || std::ranges::none_of(trial.fired, in_steps))
    return;
  bool seen = true;
  Graph before = graph;
  RunReport told;
  for (int64_t i = 1; i <= rewrites; ++i) {
    RunOptions options = task.Options(assumed);
    options.stop_after = i;
    Graph after = graph;
    Result<RunResult> result = Run(after, court_.program, options, court_.context);
    if (!result.ok()) return;
    const Promise promise = PromiseOf(FiredSince(told, result->report), before, task.other_steps);
    const bool of_outputs =
        promise.kind == Promise::Kind::kRescaled || ChangedBodiesAlone(before, after);
    const bool kept = of_outputs
                          ? KeepsOutputs(before, after, promise, turned)
                          : IsOfValues(promise) && KeepsWhereMade(before, after, promise, turned);
    const bool hidden = !kept && IsInSteps(promise) && IsReadInBody(before, after);
    if (!kept && !hidden) return;
    seen = seen && !hidden;
    told = std::move(result->report);
    before = std::move(after);
  }
  trial.fate = seen ? Trial::Fate::kHeld : Trial::Fate::kUnknown;
  trial.why = seen ? "" : kHiddenInBody;
  if (seen) trial.excuse = Excuse::kEachFiring;
}

bool Judge::KeepsOutputs(const Graph& before, const Graph& after, Promise promise, bool turned) {
  const bool in_units = promise.kind == Promise::Kind::kRescaled;
  if (in_units && !HaveSameInputs(before, after)) return false;
  if (in_units) AddUnits(before, after, promise);
  const Result<Model> a = Lowered(before, in_units);
  const Result<Model> b = Lowered(after, in_units);
  Trial trial;
  if (a.ok() && b.ok()) Compare(*a, *b, promise, 1, turned, trial);
  return trial.fate == Trial::Fate::kHeld;
}

void Judge::AcquitWhereMade(const Graph& before, const Graph& after, const Promise& promise,
                            bool turned, Trial& trial) {
  using Kind = Promise::Kind;
  const auto set_unknown = [&trial](std::string_view why) {
    trial.fate = Trial::Fate::kUnknown;
    trial.why = why;
  };
  // In no other units than they were: a reader would be told something else.
  const bool may_differ =
      IsInSteps(promise) || promise.kind == Kind::kApprox || promise.kind == Kind::kRescaled;
  if (trial.of_data && FitsWhereMade(before, after, promise)) {
    set_unknown("data that its quantizers were made for is none for what is behind them");
  } else if (!trial.of_data && may_differ && KeepsWhereMade(before, after, promise, turned)) {
    trial.fate = Trial::Fate::kHeld, trial.why.clear(), trial.excuse = Excuse::kWhereMade;
  } else if (IsInSteps(promise) && IsReadInBody(before, after)) {
    set_unknown(kHiddenInBody);
  }
}

void Judge::LearnOutputs(const Promise& promise, const std::vector<Tensors>& before,
                         const std::vector<Tensors>& after, bool kept, Trial& trial) {
  if (promise.kind != Promise::Kind::kApprox || promise.limit >= kAnySizeDb) return;
  const auto alone = [](const std::vector<Tensors>& samples, const std::string& name) {
    std::vector<Tensors> one;
    for (const Tensors& sample : samples) one.push_back({{name, sample.at(name)}});
    return one;
  };
  for (const auto& [name, series] : SeriesOf(before)) {
    trial.spreads[name] = SpreadOf(series);
    std::string why;
    if (!kept && Keeps(promise, alone(before, name), alone(after, name), why, nullptr))
      trial.keeps.insert(name);
  }
}

}  // namespace qrewrite
