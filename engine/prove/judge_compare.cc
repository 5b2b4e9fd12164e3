// The numbers of a graph and of what became of it, as the kernels compute them.
#include <algorithm>
#include <cmath>
#include <set>

#include "engine/api/constant.h"
#include "engine/api/model_impl.h"
#include "engine/base/diagnostics.h"
#include "engine/fold/no_result.h"
#include "engine/prove/judge.h"
#include "engine/prove/scales.h"

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

}  // namespace

// Data that is next to nothing larger changes most of what the model makes of it (not what it makes of 0, say): nothing
// rounds it. Of a quantizer of 8 bits one element in a hundred is another one then.
bool Judge::IsSmooth(const Model& model, const Promise& promise) {
  constexpr double kLittle = 1.0 / (1 << 14);
  constexpr size_t kEnough = 8;  // numbers
  std::vector<std::vector<double>> made[2];
  for (const bool larger : {false, true}) {
    Result<std::vector<Tensors>> inputs =
        Inputs(model, promise, larger ? 1 + kLittle : 1, /*turned=*/false);
    if (!inputs.ok()) return false;
    const Outcome ran = RunModel(court_.kernels, model, *inputs);
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
  size_t changed = 0, same = 0;
  if (made[0].size() != made[1].size()) return false;
  for (size_t i = 0; i < made[0].size(); ++i) {
    const std::vector<double>&a = made[0][i], &b = made[1][i];
    if (a.size() != b.size()) return false;
    for (size_t k = 0; k < a.size(); ++k) {
      if (a[k] == 0 && b[k] == 0) continue;
      ++(a[k] == b[k] ? same : changed);
    }
  }
  return changed >= kEnough && changed >= 3 * same;
}

// What is said of data that the quantizers were made for holds at some size of the inputs: one of those where
// the original makes many different numbers, as quantizers do of the data that they were made for.
void Judge::CompareAtSizes(const Model& before, const Model& after, const Promise& promise,
                           bool any_size, Trial& trial) {
  std::vector<Trial> tried;
  size_t most = 0;
  for (const double size : kSizesOfData) {
    Trial& at_size = tried.emplace_back(trial);
    Compare(before, after, promise, size, /*turned=*/false, at_size);
    most = std::max(most, at_size.distinct);
    const bool first_decides = size == 1 && at_size.fate != Trial::Fate::kBroken;
    if (first_decides || !any_size) break;
    if (size == 1 && at_size.by_numbers)
      is_smooth_ = IsSmooth(before, promise) && IsSmooth(after, promise);
    if (is_smooth_) break;
  }
  const auto shows = [&](const Trial& t) {
    return t.fate == Trial::Fate::kHeld && ShowsData(t.distinct, most);
  };
  const auto held = std::ranges::find_if(tried, shows);
  trial = held != tried.end() ? *held : tried.front();
  if (trial.of_data && trial.fate == Trial::Fate::kBroken &&
      (most < kSeveralNumbers || (trial.by_numbers && BreaksWithoutData(tried, most)))) {
    trial.fate = Trial::Fate::kUnknown;
    trial.why = "at no size of the data are there several numbers that are not cut off";
  }
  if (trial.of_data && trial.fate == Trial::Fate::kBroken && HasNumberAsData(*given_)) {
    trial.fate = Trial::Fate::kUnknown;
    trial.why = "data that is a number alone has one size";
  }
}

// How many different numbers there are: of a large tensor among the first ones, which tell as much.
size_t Judge::CountDistinct(const std::vector<Tensors>& samples) {
  constexpr size_t kMost = 1 << 12;
  std::set<double> numbers;
  for (const Tensors& sample : samples) {
    for (const auto& [name, plain] : sample) {
      const Result<Tensor> tensor = FromPlain(plain);
      if (!tensor.ok()) continue;
      const Result<std::vector<double>> values = ToDoubles(*tensor);
      if (!values.ok()) continue;
      const auto count = static_cast<ptrdiff_t>(std::min(values->size(), kMost));
      numbers.insert(values->begin(), values->begin() + count);
    }
  }
  return numbers.size();
}

namespace {

bool HasAny(const ConstTensor& plain, bool (*is_one)(double)) {
  const Result<Tensor> tensor = FromPlain(plain);
  if (!tensor.ok() || !IsFloat(tensor->dtype())) return false;
  const Result<std::vector<double>> values = ToDoubles(*tensor);
  return values.ok() && std::ranges::any_of(*values, is_one);
}

}  // namespace

std::set<std::string> Judge::ReadByRule(const Graph& before, const Graph& after) {
  std::set<std::string> names;
  for (size_t i = 0; i < before.num_nodes(); ++i) {
    const NodeId n(i);
    if (!before.alive(n) || after.alive(n)) continue;
    for (size_t k = 0; k < before.num_inputs(n); ++k) {
      const ValueId v = before.input(n, k);
      const NodeId maker = v.valid() ? before.producer(v) : NodeId();
      if (maker.valid() && after.alive(maker)) names.emplace(before.name(v));
    }
  }
  return names;
}

bool Judge::DropBeyondPromise(const Model& model, bool of_data, std::vector<Tensors>& inputs,
                              Outcome& a, Outcome& b) const {
  const auto is_infinite = [](double v) { return std::isinf(v); };
  const auto is_none = [](double v) { return std::isnan(v); };
  const auto is_beyond = [&](size_t i) {
    if (of_data && std::ranges::any_of(a.values[i], [&](const auto& output) {
          return HasAny(output.second, is_none);
        }))
      return true;
    const std::optional<Tensors> values =
        read_.empty() ? std::nullopt : AllValues(model, inputs[i]);
    return values && std::ranges::any_of(*values, [&](const auto& value) {
             return read_.contains(value.first) && HasAny(value.second, is_infinite);
           });
  };
  std::vector<Tensors> rest;
  Outcome before, after;
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

// The kernels run the graph and not the result: a shape that does not fit, say, or an operator that they lack.
void Judge::CompareUnrun(const Model& before, const Model& after, const Promise& promise,
                         const std::vector<Tensors>& inputs, const Status& status, Trial& trial) {
  if (NeedsBodyNotEntered(before, inputs)) {
    trial.fate = Trial::Fate::kInvalid;
    return;
  }
  // An index of an element that is not there is one that the rule made: the graph ran on the same numbers.
  const bool lacks_kernel = status.code() == StatusCode::kUnsupported &&
                            Message(status).find(fold::kOutside) == std::string::npos;
  trial.fate = lacks_kernel ? Trial::Fate::kUnknown : Trial::Fate::kBroken;
  trial.why = "the result does not run: " + Message(status);
  // Shapes that do not fit, say, where the graph as it was ran.
  const Graph& graph = std::as_const(*after.impl().file).graph();
  const bool misfits = trial.fate == Trial::Fate::kUnknown && !inputs.empty() &&
                       Misfits(after, inputs.front()) && !Misfits(before, inputs.front());
  if (misfits) trial.fate = Trial::Fate::kBroken;
  if (const std::string fault = ResultFault(graph); !fault.empty() && !IsTooLarge(fault)) {
    trial.fate = Trial::Fate::kBroken;
    trial.why = "the result is no valid model: " + fault;
    // Where operators of the rule set's own hid it, the graph was none before.
    const Graph& given = std::as_const(*before.impl().file).graph();
    if (!ResultFault(given).empty()) {
      trial.fate = Trial::Fate::kInvalid;
      return;
    }
  }
  if (trial.fate == Trial::Fate::kBroken && RunOtherwise(before, inputs, trial.types)) {
    trial.fate = Trial::Fate::kInvalid;
    trial.why = kOtherShape;
    return;
  }
  // Runtimes wrap such sums, or cut them off.
  const bool has_result = Message(status).find(fold::kSumBeyond) == std::string::npos;
  if (court_.runtime != nullptr && has_result)
    AskRuntime(before, after, promise, inputs, /*kernels_decide=*/false, trial);
}

void Judge::Compare(const Model& before, const Model& after, Promise promise, double size,
                    bool turned, Trial& trial) {
  Result<std::vector<Tensors>> inputs = Inputs(before, promise, size, turned);
  if (!inputs.ok()) {
    trial.fate = Trial::Fate::kUnknown;
    trial.why = Message(inputs.status());
    return;
  }
  if (promise.kind == Promise::Kind::kRescaled)
    AddScales(*inputs, promise.any_type, promise.scales);
  for (const Tensors& sample : *inputs) trial.types.insert(TypesOf(sample));
  Outcome a = RunWhereDefined(court_.kernels, before, *inputs);
  if (!a.status.ok()) {
    trial.fate = Trial::Fate::kUnknown;
    trial.why = Message(a.status);
    // Some runtimes join parts without elements whatever their other sizes are.
    if (a.status.code() == StatusCode::kInvalidModel ||
        (!inputs->empty() && Misfits(before, inputs->front())))
      trial.fate = Trial::Fate::kInvalid;
    else if (court_.runtime != nullptr && !fold::HasNoResult(Message(a.status)))
      AskRuntime(before, after, promise, *inputs, /*kernels_decide=*/false, trial);
    return;
  }
  trial.distinct = CountDistinct(a.values);
  Outcome b = RunModel(court_.kernels, after, *inputs);
  if (!b.status.ok()) {
    CompareUnrun(before, after, promise, *inputs, b.status, trial);
    return;
  }
  bool kept = Keeps(promise, a.values, b.values, trial.why, &trial.margin);
  if (!kept && MeasureUnreached(before, a.values, promise)) {
    kept = Keeps(promise, a.values, b.values, trial.why, &trial.margin);
    trial.excuse = Excuse::kNoData;
  }
  if (!kept && DropBeyondPromise(before, trial.of_data, *inputs, a, b)) {
    if (inputs->empty()) {
      trial.fate = Trial::Fate::kUnknown;
      trial.why = "what the rule reads is infinite, or what it is tried with has no result";
      return;
    }
    kept = Keeps(promise, a.values, b.values, trial.why, &trial.margin);
  }
  LearnOutputs(promise, a.values, b.values, kept, trial);
  trial.by_numbers = !kept;
  // CompareAtSizes() hears of other sizes than the first one where the promise was kept.
  if (!kept && size != 1) {
    trial.fate = Trial::Fate::kBroken;
    return;
  }
  // The kernels run some that no other runtime takes: pads below 0.
  const std::string fault = kept ? NewFault(before, after) : "";
  const bool right = kept && fault.empty();
  if (!right &&
      (NeedsBodyNotEntered(before, *inputs) || RunOtherwise(before, *inputs, trial.types))) {
    trial.fate = Trial::Fate::kInvalid;
    trial.why = kOtherShape;
    return;
  }
  trial.fate = kept ? Trial::Fate::kHeld : Trial::Fate::kBroken;
  if (!fault.empty()) {
    trial.fate = Trial::Fate::kBroken;
    trial.why = "the result is no valid model: " + fault;
  }
  const bool shown =
      !kept || (kinds_.insert(trial.kind).second && kinds_.size() <= kShownToRuntime);
  if (court_.runtime == nullptr || !shown) return;
  AskRuntime(before, after, promise, *inputs, /*kernels_decide=*/true, trial);
}

}  // namespace qrewrite
