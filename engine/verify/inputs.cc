#include "engine/verify/inputs.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "engine/api/constant.h"
#include "engine/api/model_impl.h"
#include "engine/verify/number_of.h"
#include "qrewrite/match.h"

namespace qrewrite {
namespace {

constexpr uint64_t kMostElements = uint64_t{1} << 31;  // of one input

bool CanMake(DType dtype) {
  if (dtype == DType::kBool) return true;
  return IsInteger(dtype) || (IsFloat(dtype) && Info(dtype).bits >= 16);
}

// The end of a range of integers; of UINT64 its bits. Doubles have 2^63 and 2^64, which are beyond the types, and nothing
// between them and 2^10 less.
int64_t End(double end, DType dtype) {
  if (end < 0x1p63) return static_cast<int64_t>(end);
  if (dtype != DType::kUint64) return INT64_MAX;
  return static_cast<int64_t>(end < 0x1p64 ? static_cast<uint64_t>(end) : UINT64_MAX);
}

}  // namespace

std::string_view Name(SampleKind kind) {
  switch (kind) {
    case SampleKind::kNormal: return "normal";
    case SampleKind::kUniform: return "uniform";
    case SampleKind::kWhole: return "whole numbers";
    case SampleKind::kTies: return "half-way between steps";
    case SampleKind::kExtreme: return "out of range";
    case SampleKind::kZero: return "zeros";
  }
  return "";
}

SampleKind InputMaker::KindOf(int index) const {
  constexpr SampleKind kFirst[] = {SampleKind::kNormal, SampleKind::kTies,    SampleKind::kExtreme,
                                   SampleKind::kWhole,  SampleKind::kUniform, SampleKind::kZero};
  if (index >= static_cast<int>(std::size(kFirst))) {
    return index % 2 == 0 ? SampleKind::kNormal : SampleKind::kTies;
  }
  const bool out_of_range = kFirst[index] == SampleKind::kExtreme;
  return in_range_ && out_of_range ? SampleKind::kNormal : kFirst[index];
}

Result<Rules> LoadInputRoles() { return Rules::Load("input_roles", {.tests = false}); }

Result<InputMaker> InputMaker::Make(const Model& model, const VerifyOptions& options,
                                    const Rules* roles) {
  InputMaker maker;
  maker.seed_ = options.seed;
  maker.in_range_ = options.tolerance.kind == Tolerance::Kind::kSqnr;
  QR_RETURN_IF_ERROR(maker.AddInputs(model, options));
  if (roles != nullptr) {
    QR_RETURN_IF_ERROR(maker.AddRoles(model, *roles));
    return maker;
  }
  QR_ASSIGN_OR_RETURN(const Rules loaded, LoadInputRoles());
  QR_RETURN_IF_ERROR(maker.AddRoles(model, loaded));
  return maker;
}

InputMaker::Input* InputMaker::Find(const std::string& name) {
  const auto it = std::ranges::find(inputs_, name, &Input::name);
  return it == inputs_.end() ? nullptr : &*it;
}

Status InputMaker::AddInputs(const Model& model, const VerifyOptions& options) {
  const Graph& graph = std::as_const(*model.impl().file).graph();
  std::vector<Dim> symbols;  // unknown sizes have none, and are each their own
  const auto open = [&](Dim dim) -> int64_t {
    const auto known = dim.symbolic() ? std::ranges::find(symbols, dim) : symbols.end();
    const auto number = known - symbols.begin();
    if (known == symbols.end()) symbols.push_back(dim);
    return -1 - number;
  };
  for (const ValueId v : graph.inputs()) {
    if (graph.constant(v) != nullptr) continue;
    const TypeInfo& type = graph.declared(v);
    Input input{.name = std::string(graph.name(v)), .dtype = type.dtype};
    if (!type.is_tensor || !CanMake(type.dtype)) {
      return {StatusCode::kUnsupported,
              fmt::format("no numbers are made for input `{}`, which is {}; give some (--inputs)",
                          input.name, type.is_tensor ? Info(type.dtype).name : "no tensor")};
    }
    for (const Dim dim : type.dims) input.dims.push_back(dim.known() ? dim.size() : open(dim));
    const auto shape = options.shapes.find(input.name);
    if (shape != options.shapes.end()) {
      if (type.has_rank && shape->second.size() != input.dims.size()) {
        return {StatusCode::kUsage,
                fmt::format("input `{}` has rank {}, but {} sizes are given", input.name,
                            input.dims.size(), shape->second.size())};
      }
      input.dims = shape->second;
    } else if (!type.has_rank) {
      return {StatusCode::kUsage,
              fmt::format("the rank of input `{}` is not known; say its shape (--shape {}=1x3x8x8)",
                          input.name, input.name)};
    }
    inputs_.push_back(std::move(input));
  }
  FindLengths();
  return AddRanges(options);
}

// Integers, one for each row of another input: how much of the row counts.
void InputMaker::FindLengths() {
  for (const Input& input : inputs_) {
    if (input.dims.size() < 2 || input.dims[0] >= 0) continue;
    const auto open =
        std::find_if(input.dims.begin() + 1, input.dims.end(), [](int64_t d) { return d < 0; });
    int64_t& next = leading_[input.dims[0]];
    if (next == 0 && open != input.dims.end()) next = *open;
  }
  for (Input& input : inputs_) {
    const bool integers = IsInteger(input.dtype) && Info(input.dtype).bits >= 32;
    if (!integers || input.dims.size() != 1) continue;
    const auto leads = leading_.find(input.dims[0]);
    if (leads != leading_.end()) input.length_of = leads->second;
  }
}

Status InputMaker::AddRanges(const VerifyOptions& options) {
  const auto unknown = [](const std::string& name) {
    return Status(StatusCode::kUsage, fmt::format("the model has no input `{}`", name));
  };
  for (const auto& [name, shape] : options.shapes) {
    if (Find(name) == nullptr) return unknown(name);
  }
  for (const auto& [name, range] : options.ranges) {
    Input* input = Find(name);
    if (input == nullptr) return unknown(name);
    const bool whole = !IsFloat(input->dtype);
    const double low = whole ? std::ceil(range.first) : range.first;
    const double high = whole ? std::floor(range.second) : range.second;
    const double least = input->dtype == DType::kBool ? 0
                         : whole                      ? static_cast<double>(IntMin(input->dtype))
                                                      : low;
    const double most = input->dtype == DType::kBool     ? 1
                        : input->dtype == DType::kUint64 ? 0x1p64
                        : whole                          ? static_cast<double>(IntMax(input->dtype))
                                                         : high;
    if (!(low <= high) || !std::isfinite(high - low) || low < least || high > most) {
      return {StatusCode::kUsage,
              fmt::format("{},{} is no range of input `{}`, which is {}", range.first, range.second,
                          name, Info(input->dtype).name)};
    }
    input->range = {low, high};
  }
  return {};
}

Status InputMaker::AddRoles(const Model& model, const Rules& rules) {
  const Result<Matches> found = Match(model, rules, {.max_matches = 100'000});
  // Of a model beyond the opsets of the rules nothing is known.
  if (!found.ok() && found.status().code() == StatusCode::kUnsupported) return {};
  if (!found.ok()) return found.status();
  for (const RuleMatch& match : found->matches) {
    const Binding* of = match.Find("input");
    Input* input = of == nullptr ? nullptr : Find(of->text);
    if (input == nullptr) continue;
    if (const std::optional<double> limit = NumberOf(match, "limit")) {
      const auto rows = static_cast<int64_t>(*limit);
      input->rows = std::min(input->rows.value_or(rows), rows);
    }
    input->positive |= NumberOf(match, "positive").has_value();
    const auto scale = NumberOf(match, "scale");
    const auto low = NumberOf(match, "low"), high = NumberOf(match, "high");
    // The first quantizer in the order of the graph; an input has rarely two that differ.
    if (scale && low && high && !input->step) input->step = Step{*scale, *low, *high};
  }
  return {};
}

bool InputMaker::has_open_sizes() const {
  return std::ranges::any_of(inputs_, [](const Input& input) {
    return std::ranges::any_of(input.dims, [](int64_t d) { return d < 0; });
  });
}

int64_t InputMaker::LargestInput(Sizes sizes) const {
  int64_t largest = 0;
  for (const Input& input : inputs_) {
    const auto count = CheckedCount(DimsOf(input, 0, sizes), INT64_MAX);
    largest = std::max(largest, count ? static_cast<int64_t>(*count) : INT64_MAX);
  }
  return largest;
}

bool InputMaker::Counts(const std::string& input) const {
  const auto it = std::ranges::find(inputs_, input, &Input::name);
  return it != inputs_.end() && it->rows.has_value();
}

bool InputMaker::IsScale(const std::string& input) const {
  const auto it = std::ranges::find(inputs_, input, &Input::name);
  return it != inputs_.end() && it->positive;
}

std::vector<std::string> InputMaker::TakeSteps(
    const InputMaker& other, FunctionRef<std::string(const std::string&)> name_in_other) {
  std::vector<std::string> names;
  for (Input& input : inputs_) {
    const auto it = std::ranges::find(other.inputs_, name_in_other(input.name), &Input::name);
    const bool takes = it != other.inputs_.end() && it->step && it->step->scale > 0 &&
                       IsFloat(input.dtype) && !input.step && !input.range && !input.positive;
    if (!takes) continue;
    input.step = it->step;
    input.on_steps = true;
    names.push_back(input.name);
  }
  return names;
}

int64_t InputMaker::SizeOf(int64_t open, int index, Sizes sizes) const {
  if (sizes.leading > 0 && leading_.contains(open)) return sizes.leading;
  const int64_t number = sizes.equal ? 0 : -1 - open;
  return (index + number) % 2 == 0 ? sizes.even : sizes.odd;
}

std::vector<int64_t> InputMaker::DimsOf(const Input& input, int index, Sizes sizes) const {
  std::vector<int64_t> dims = input.dims;
  for (int64_t& d : dims) {
    if (d < 0) d = SizeOf(d, index, sizes);
  }
  return dims;
}

Result<Tensors> InputMaker::Sample(SampleKind kind, int index, Sizes sizes,
                                   double amplitude) const {
  Dice dice(seed_ * 0x9e3779b97f4a7c15u + static_cast<uint64_t>(index));
  Tensors sample;
  for (const Input& input : inputs_) {
    const int64_t length = input.length_of == 0 ? 0 : SizeOf(input.length_of, index, sizes);
    QR_ASSIGN_OR_RETURN(const Tensor tensor,
                        Numbers(input, DimsOf(input, index, sizes), kind, amplitude, length, dice));
    QR_ASSIGN_OR_RETURN(sample[input.name], ToPlain(tensor));
  }
  return sample;
}

double InputMaker::Float(const Input& input, SampleKind kind, Dice& dice) {
  if (input.range) {
    const auto [low, high] = *input.range;
    return std::clamp(dice.Uniform(low, high), low, high);
  }
  if (input.positive) return 0.01 * std::exp2(dice.Uniform(0, 6));
  const double scale = input.step ? input.step->scale : 1.0 / 64;
  const double low = input.step ? input.step->low : -4, high = input.step ? input.step->high : 4;
  switch (kind) {
    // Ranges are calibrated on what occurs at all: some four standard deviations to each side.
    case SampleKind::kNormal: return (low + high) / 2 + dice.Normal() * (high - low) / 8;
    case SampleKind::kUniform: return dice.Uniform(low, high);
    case SampleKind::kWhole:
      return std::clamp(std::round(dice.Normal() * (high - low) / 4), low, high);
    case SampleKind::kTies: return (std::floor(dice.Uniform(low, high) / scale) + 0.5) * scale;
    case SampleKind::kExtreme: return (low + high) / 2 + dice.Uniform(-2, 2) * (high - low);
    case SampleKind::kZero: break;
  }
  return 0;
}

int64_t InputMaker::Integer(const Input& input, SampleKind kind, int64_t length, Dice& dice) {
  if (input.range) {
    return dice.Integer(End(input.range->first, input.dtype),
                        End(input.range->second, input.dtype));
  }
  const bool data = input.dtype != DType::kBool && Info(input.dtype).bits <= 16;
  if (input.rows) return kind == SampleKind::kZero ? 0 : dice.Integer(0, *input.rows - 1);
  if (length > 0) return dice.Integer((length + 1) / 2, length);
  // A length, a step, an axis: runtimes divide by them without a look.
  if (!data && input.dtype != DType::kBool && input.dims.empty()) return 1;
  if (kind == SampleKind::kZero) return 0;
  if (data) return dice.Integer(IntMin(input.dtype), IntMax(input.dtype));
  // Integers of 32 bits and more that index nothing are masks, nearly always.
  return dice.Integer(0, 1);
}

Result<Tensor> InputMaker::Numbers(const Input& input, std::vector<int64_t> dims, SampleKind kind,
                                   double amplitude, int64_t length, Dice& dice) const {
  const auto count = CheckedCount(dims, kMostElements);
  if (!count) {
    return Status(StatusCode::kLimit,
                  fmt::format("input `{}` would have too many elements", input.name));
  }
  if (!IsFloat(input.dtype)) {
    std::vector<int64_t> values(static_cast<size_t>(*count));
    for (int64_t& v : values) v = Integer(input, kind, length, dice);
    if (input.dtype == DType::kUint64) {  // they may be beyond INT64
      const std::vector<uint64_t> bits(values.begin(), values.end());
      return Tensor::Of<uint64_t>(input.dtype, std::move(dims), bits);
    }
    return FromInt64s(input.dtype, std::move(dims), values);
  }
  std::vector<double> values(static_cast<size_t>(*count));
  const double factor = input.range || input.positive ? 1 : amplitude;
  for (double& v : values) {
    v = factor * Float(input, kind, dice);
    if (input.on_steps) v = std::round(v / input.step->scale) * input.step->scale;
  }
  return FromDoubles(input.dtype, std::move(dims), values);
}

}  // namespace qrewrite
