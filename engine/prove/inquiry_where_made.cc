// Whether the promise holds of the values that a rule changed, where it does not of an output: what reads them may
// make more of a difference (y = Add(a, a)).
#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "engine/prove/changed_values.h"
#include "engine/prove/inquiry.h"
#include "engine/prove/promised.h"
#include "engine/prove/sizes_of_data.h"
#include "engine/prove/units.h"

namespace qrewrite {
namespace {

constexpr const char* kHiddenInBody =
    "what reads the result in a body may make more of a difference";

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

std::optional<std::pair<Ran, Ran>> Inquiry::WhereMade(const Graph& before, const Graph& after,
                                                      const Promise& promise,
                                                      const InputsWanted& wanted) const {
  std::optional<std::set<Reading>> readings = ChangedReadings(before, after);
  if (!readings) return std::nullopt;
  if (promise.kind == Promise::Kind::kLsb) {
    const Signatures& signatures = court_.signatures();
    std::set<Reading> of_integers;
    for (const Reading& r : *readings) of_integers.insert(AtIntegers(before, after, r, signatures));
    readings = std::move(of_integers);
  }
  Ran ran[2];
  std::vector<Tensors> inputs;
  for (const bool second : {false, true}) {
    Graph graph = second ? after : before;
    std::set<std::string> names;
    for (const Reading& r : *readings) {
      const std::string& name = *names.insert(fmt::format("reading {}", names.size())).first;
      if (!AddNamedOutput(graph, second ? r.second : r.first, name)) return std::nullopt;
    }
    const Result<Model> model = Lowered(court_, graph, /*in_units=*/false);
    if (!model.ok()) return std::nullopt;
    if (!second) {
      Result<std::vector<Tensors>> samples = TrialInputs(court_, *model, promise, wanted);
      if (!samples.ok()) return std::nullopt;
      inputs = *std::move(samples);
    }
    Ran& outcome = ran[second ? 1 : 0];
    outcome = second ? RunModel(court_.kernels, *model, inputs)
                     : RunWhereDefined(court_.kernels, *model, inputs);
    if (!outcome.status.ok()) return std::nullopt;
    for (Tensors& sample : outcome.values)
      std::erase_if(sample, [&](const auto& entry) { return !names.contains(entry.first); });
  }
  return std::pair(std::move(ran[0]), std::move(ran[1]));
}

bool Inquiry::KeepsWhereMade(const Graph& before, const Graph& after, const Promise& promise,
                             bool turned) const {
  const auto made = WhereMade(before, after, promise, {.turned = turned});
  std::string why;
  return made && Keeps(promise, made->first.values, made->second.values, why, nullptr);
}

bool Inquiry::FitsWhereMade(const Graph& before, const Graph& after, const Promise& promise) const {
  std::vector<size_t> held;
  size_t most = 0;
  for (const double size : kSizesOfData) {
    if (is_smooth_ && size != 1) break;
    const auto made = WhereMade(before, after, promise, {.size = size});
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

void Inquiry::AcquitWhereMade(const Graph& after, const Promise& promise, bool turned,
                              Trial& trial) const {
  using Kind = Promise::Kind;
  // In no other units than they were: a reader would be told something else.
  const bool may_differ =
      IsInSteps(promise) || promise.kind == Kind::kApprox || promise.kind == Kind::kRescaled;
  if (trial.of_data && FitsWhereMade(given_, after, promise)) {
    trial.Set(Trial::Fate::kUnknown,
              "data that its quantizers were made for is none for what is behind them");
  } else if (!trial.of_data && may_differ && KeepsWhereMade(given_, after, promise, turned)) {
    trial.Set(Trial::Fate::kHeld, "");
    trial.excuse = Excuse::kWhereMade;
  } else if (IsInSteps(promise) && IsReadInBody(given_, after)) {
    trial.Set(Trial::Fate::kUnknown, kHiddenInBody);
  }
}

void Inquiry::AcquitEachTime(int64_t rewrites, bool turned, Trial& trial) {
  constexpr int64_t kMostRewrites = 16;
  const auto in_steps = [&](const std::string& rule) {
    return IsInSteps(WeakestOf(court_.program.rules(), {rule}));
  };
  if (rewrites < 2 || rewrites > kMostRewrites || std::ranges::none_of(trial.fired, in_steps))
    return;
  bool seen = true;
  Graph before = given_;
  RunReport told;
  for (int64_t i = 1; i <= rewrites; ++i) {
    RunOptions options = task_.Options(assumed_);
    options.stop_after = i;
    Graph after = given_;
    Result<RunResult> result = Run(after, court_.program, options, court_.context);
    if (!result.ok()) return;
    const Promise promise =
        PromiseOf(court_, FiredSince(told, result->report), before, task_.other_steps);
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
  trial.Set(seen ? Trial::Fate::kHeld : Trial::Fate::kUnknown, seen ? "" : kHiddenInBody);
  if (seen) trial.excuse = Excuse::kEachFiring;
}

bool Inquiry::KeepsOutputs(const Graph& before, const Graph& after, Promise promise, bool turned) {
  const bool in_units = promise.kind == Promise::Kind::kRescaled;
  if (in_units && !HaveSameInputs(before, after)) return false;
  if (in_units) AddUnits(before, after, promise);
  const Result<Model> a = Lowered(court_, before, in_units);
  const Result<Model> b = Lowered(court_, after, in_units);
  Trial trial;
  if (a.ok() && b.ok()) Compare({*a, *b}, promise, {.turned = turned}, trial);
  return trial.fate == Trial::Fate::kHeld;
}

}  // namespace qrewrite
