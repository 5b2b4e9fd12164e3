// The numbers of a graph and of what became of it, as the kernels compute them.
#include <algorithm>
#include <cmath>
#include <map>

#include "engine/api/constant.h"
#include "engine/base/diagnostics.h"
#include "engine/base/message.h"
#include "engine/fold/no_result.h"
#include "engine/prove/graph_faults.h"
#include "engine/prove/inquiry.h"
#include "engine/prove/other_shapes.h"
#include "engine/prove/promised.h"
#include "engine/prove/scales.h"
#include "engine/prove/sizes_of_data.h"

namespace qrewrite {
namespace {

constexpr size_t kShownToRuntime = 40;  // kinds of graphs that ONNX Runtime is asked about anyway
constexpr const char* kOtherShape = "a value has another shape than inference says";

// Whether nothing breaks but outputs that are one number or two, or cut off, whatever the data is: no quantizer was made
// for that. The others keep the promise at one size at which there are many numbers. `most`: numbers at any size.
bool BreaksWithoutData(const std::vector<Trial>& tried, size_t most) {
  std::set<std::string> others;
  for (const auto& [name, spread] : tried.front().spreads) {
    std::vector<Spread> spreads;
    for (const Trial& t : tried) {
      const auto at_size = t.spreads.find(name);
      if (at_size != t.spreads.end()) spreads.push_back(at_size->second);
    }
    if (!IsSingle(spreads) && !IsCutOff(spreads)) others.insert(name);
  }
  const auto keeps_others = [&](const Trial& t) {
    return ShowsData(t.distinct, most) && std::ranges::all_of(others, [&](const auto& name) {
             return t.keeps.contains(name) && t.spreads.at(name).distinct >= kSeveralNumbers;
           });
  };
  return others.empty() || std::ranges::any_of(tried, keeps_others);
}

// Data that is next to nothing larger changes most of what the model makes of it (not what it makes of 0, say), and by next
// to nothing: nothing rounds it. Of a quantizer of 8 bits one element in a hundred is another one then, by a whole step; of a
// sum of many of these nearly each.
bool IsSmooth(const Court& court, const Model& model, const Promise& promise) {
  constexpr double kLittle = 1.0 / (1 << 14);
  constexpr size_t kEnough = 8;  // numbers
  std::vector<std::vector<double>> made[2];
  for (const bool larger : {false, true}) {
    const InputsWanted wanted{.size = larger ? 1 + kLittle : 1};
    Result<std::vector<Tensors>> inputs = TrialInputs(court, model, promise, wanted);
    if (!inputs.ok()) return false;
    const Ran ran = RunModel(court.kernels, model, *inputs);
    if (!ran.status.ok()) return false;
    for (const Tensors& sample : ran.values) {
      for (const auto& [name, plain] : sample) {
        const Result<Tensor> tensor = FromPlain(plain);
        if (!tensor.ok() || !IsFloat(tensor->dtype())) return false;
        Result<std::vector<double>> numbers = ToDoubles(*tensor);
        if (!numbers.ok()) return false;
        made[larger ? 1 : 0].push_back(*std::move(numbers));
      }
    }
  }
  constexpr double kMostGain = 64;  // of the model
  size_t changed = 0, rounded = 0;
  if (made[0].size() != made[1].size()) return false;
  for (size_t i = 0; i < made[0].size(); ++i) {
    const std::vector<double>&a = made[0][i], &b = made[1][i];
    if (a.size() != b.size()) return false;
    double largest = 0;
    for (const double v : a) largest = std::max(largest, std::fabs(v));
    for (size_t k = 0; k < a.size(); ++k) {
      if (a[k] == 0 && b[k] == 0) continue;
      const bool jumps = std::fabs(b[k] - a[k]) > kMostGain * kLittle * largest;
      ++(a[k] == b[k] || jumps ? rounded : changed);
    }
  }
  return changed >= kEnough && changed >= 3 * rounded;
}

bool HasAny(const ConstTensor& plain, bool (*is_one)(double)) {
  const Result<Tensor> tensor = FromPlain(plain);
  if (!tensor.ok() || !IsFloat(tensor->dtype())) return false;
  const Result<std::vector<double>> values = ToDoubles(*tensor);
  return values.ok() && std::ranges::any_of(*values, is_one);
}

// Of a promise about calibrated data: sets Trial::spreads, and Trial::keeps if it was not kept.
void LearnOutputs(const Promise& promise, const std::vector<Tensors>& before,
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

}  // namespace

// What is said of data that the quantizers were made for holds at some size of the inputs: one of those where
// the original makes many different numbers, as quantizers do of the data that they were made for.
void Inquiry::CompareAtSizes(const Pair& pair, const Promise& promise, bool any_size,
                             Trial& trial) {
  std::vector<Trial> tried;
  size_t most = 0;
  for (const double size : kSizesOfData) {
    Trial& at_size = tried.emplace_back(trial);
    Compare(pair, promise, {.size = size}, at_size);
    most = std::max(most, at_size.distinct);
    const bool first_decides = size == 1 && at_size.fate != Trial::Fate::kBroken;
    if (first_decides || !any_size) break;
    if (size == 1 && at_size.by_numbers)
      is_smooth_ = IsSmooth(court_, pair.before, promise) && IsSmooth(court_, pair.after, promise);
    if (is_smooth_) break;
  }
  const auto shows = [&](const Trial& t) {
    return t.fate == Trial::Fate::kHeld && ShowsData(t.distinct, most);
  };
  const auto held = std::ranges::find_if(tried, shows);
  trial = held != tried.end() ? *held : tried.front();
  if (trial.of_data && trial.fate == Trial::Fate::kBroken &&
      (most < kSeveralNumbers || (trial.by_numbers && BreaksWithoutData(tried, most)))) {
    trial.Set(Trial::Fate::kUnknown,
              "at no size of the data are there several numbers that are not cut off");
  }
  if (trial.of_data && trial.fate == Trial::Fate::kBroken &&
      HasNumberAsData(given_, court_.signatures()))
    trial.Set(Trial::Fate::kUnknown, "data that is a number alone has one size");
}

bool Inquiry::DropBeyondPromise(const Model& model, bool of_data, std::vector<Tensors>& inputs,
                                Ran& a, Ran& b) const {
  const auto is_infinite = [](double v) { return std::isinf(v); };
  const auto is_none = [](double v) { return std::isnan(v); };
  const auto is_beyond = [&](size_t i) {
    if (of_data && std::ranges::any_of(a.values[i], [&](const auto& output) {
          return HasAny(output.second, is_none);
        }))
      return true;
    const std::optional<Tensors> values =
        read_.empty() ? std::nullopt : AllValues(court_, model, inputs[i]);
    return values && std::ranges::any_of(*values, [&](const auto& value) {
             return read_.contains(value.first) && HasAny(value.second, is_infinite);
           });
  };
  std::vector<Tensors> rest;
  Ran before, after;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (is_beyond(i)) continue;
    rest.push_back(std::move(inputs[i]));
    before.values.push_back(std::move(a.values[i]));
    after.values.push_back(std::move(b.values[i]));
  }
  const bool any = rest.size() < inputs.size();
  inputs = std::move(rest);
  a = std::move(before), b = std::move(after);
  return any;
}

void Inquiry::CompareUnrunGraph(const Pair& pair, const Promise& promise,
                                const std::vector<Tensors>& inputs, const Status& status,
                                Trial& trial) {
  trial.Set(Trial::Fate::kUnknown, Message(status));
  // Some runtimes join parts without elements whatever their other sizes are.
  if (status.code() == StatusCode::kInvalidModel ||
      (!inputs.empty() && Misfits(court_, pair.before, inputs.front())))
    trial.fate = Trial::Fate::kInvalid;
  else if (court_.runtime != nullptr && !fold::HasNoResult(trial.why))
    AskRuntime(pair, promise, inputs, /*kernels_decide=*/false, trial);
}

// A shape that does not fit, say, or an operator that they lack.
void Inquiry::CompareUnrunResult(const Pair& pair, const Promise& promise,
                                 const std::vector<Tensors>& inputs, const Status& status,
                                 Trial& trial) {
  if (NeedsBodyNotEntered(court_, pair.before, inputs)) {
    trial.fate = Trial::Fate::kInvalid;
    return;
  }
  // An index of an element that is not there is one that the rule made: the graph ran on the same numbers.
  const bool lacks_kernel = status.code() == StatusCode::kUnsupported &&
                            Message(status).find(fold::kOutside) == std::string::npos;
  trial.Set(lacks_kernel ? Trial::Fate::kUnknown : Trial::Fate::kBroken,
            "the result does not run: " + Message(status));
  // Shapes that do not fit, say, where the graph as it was ran.
  const bool misfits = trial.fate == Trial::Fate::kUnknown && !inputs.empty() &&
                       Misfits(court_, pair.after, inputs.front()) &&
                       !Misfits(court_, pair.before, inputs.front());
  if (misfits) trial.fate = Trial::Fate::kBroken;
  if (const std::string fault = ResultFault(court_, GraphOf(pair.after));
      !fault.empty() && !IsTooLarge(fault)) {
    trial.Set(Trial::Fate::kBroken, "the result is no valid model: " + fault);
    // Where operators of the rule set's own hid it, the graph was none before.
    if (!ResultFault(court_, GraphOf(pair.before)).empty()) {
      trial.fate = Trial::Fate::kInvalid;
      return;
    }
  }
  if (trial.fate == Trial::Fate::kBroken &&
      RunOtherwise(court_, given_, pair.before, inputs, trial.types)) {
    trial.Set(Trial::Fate::kInvalid, kOtherShape);
    return;
  }
  // Runtimes wrap such sums, or cut them off.
  const bool has_result = Message(status).find(fold::kSumBeyond) == std::string::npos;
  if (court_.runtime != nullptr && has_result)
    AskRuntime(pair, promise, inputs, /*kernels_decide=*/false, trial);
}

std::optional<bool> Inquiry::KeepNumbers(const Model& before, Promise& promise,
                                         std::vector<Tensors>& inputs, Ran& a, Ran& b,
                                         Trial& trial) const {
  bool kept = Keeps(promise, a.values, b.values, trial.why, &trial.margin);
  if (!kept && MeasureUnreached(court_, before, a.values, promise)) {
    kept = Keeps(promise, a.values, b.values, trial.why, &trial.margin);
    trial.excuse = Excuse::kNoData;
  }
  if (!kept && DropBeyondPromise(before, trial.of_data, inputs, a, b)) {
    if (inputs.empty()) {
      trial.Set(Trial::Fate::kUnknown,
                "what the rule reads is infinite, or what it is tried with has no result");
      return std::nullopt;
    }
    kept = Keeps(promise, a.values, b.values, trial.why, &trial.margin);
  }
  LearnOutputs(promise, a.values, b.values, kept, trial);
  trial.by_numbers = !kept;
  return kept;
}

void Inquiry::Compare(const Pair& pair, Promise promise, const InputsWanted& wanted, Trial& trial) {
  Result<std::vector<Tensors>> inputs = TrialInputs(court_, pair.before, promise, wanted);
  if (!inputs.ok()) {
    trial.Set(Trial::Fate::kUnknown, Message(inputs.status()));
    return;
  }
  if (promise.kind == Promise::Kind::kRescaled)
    AddScales(*inputs, promise.any_type, promise.scales);
  for (const Tensors& sample : *inputs) trial.types.insert(TypesOf(sample));
  Ran a = RunWhereDefined(court_.kernels, pair.before, *inputs);
  if (!a.status.ok()) return CompareUnrunGraph(pair, promise, *inputs, a.status, trial);
  trial.distinct = CountDistinct(a.values);
  Ran b = RunModel(court_.kernels, pair.after, *inputs);
  if (!b.status.ok()) return CompareUnrunResult(pair, promise, *inputs, b.status, trial);
  const std::optional<bool> kept = KeepNumbers(pair.before, promise, *inputs, a, b, trial);
  if (!kept) return;
  // CompareAtSizes() hears of other sizes than the first one where the promise was kept.
  if (!*kept && wanted.size != 1) {
    trial.fate = Trial::Fate::kBroken;
    return;
  }
  // The kernels run some that no other runtime takes: pads below 0.
  const std::string fault = *kept ? NewFault(court_, pair.before, pair.after) : "";
  const bool right = *kept && fault.empty();
  if (!right && (NeedsBodyNotEntered(court_, pair.before, *inputs) ||
                 RunOtherwise(court_, given_, pair.before, *inputs, trial.types))) {
    trial.Set(Trial::Fate::kInvalid, kOtherShape);
    return;
  }
  trial.fate = *kept ? Trial::Fate::kHeld : Trial::Fate::kBroken;
  if (!fault.empty()) trial.Set(Trial::Fate::kBroken, "the result is no valid model: " + fault);
  const bool shown = !*kept || (memory_.kinds.insert(trial.kind).second &&
                                memory_.kinds.size() <= kShownToRuntime);
  if (court_.runtime != nullptr && shown)
    AskRuntime(pair, promise, *inputs, /*kernels_decide=*/true, trial);
}

}  // namespace qrewrite
