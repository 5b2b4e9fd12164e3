#include "engine/prove/trial_inputs.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "engine/api/constant.h"
#include "engine/api/model_impl.h"
#include "engine/ops/quantizer.h"
#include "engine/prove/numbers.h"
#include "engine/prove/run_model.h"
#include "engine/prove/seven_bits.h"
#include "engine/prove/variation.h"
#include "engine/rule/check.h"
#include "engine/verify/inputs.h"

namespace qrewrite {
namespace {

constexpr int kSamples = 4;  // normal, ties, out of range, whole numbers
// Where sums over all samples decide: more of few elements, of which one that is rounded the other way would
// decide else.
constexpr int64_t kLeastSamplesOfSums = 12, kMostSamplesOfSums = 48, kElementsOfSums = 128;

// Data times `size`: floats, and integers of few bits if they become smaller.
Status Multiply(Tensors& sample, const InputMaker& maker, double size) {
  for (auto& [name, plain] : sample) {
    // A number alone is a step, not data. So is what a quantizer takes its step from: the data would have one size beside
    // it, which may be none that it was made for.
    if (maker.IsScale(name)) continue;
    const auto dtype = static_cast<DType>(plain.dtype);
    const bool is_small = IsInteger(dtype) && Info(dtype).bits <= 16;
    const bool data = (IsFloat(dtype) || (is_small && size < 1)) && !plain.dims.empty();
    if (size == 1 || !data) continue;
    QR_ASSIGN_OR_RETURN(const Tensor tensor, FromPlain(plain));
    QR_ASSIGN_OR_RETURN(std::vector<double> values, ToDoubles(tensor));
    for (double& v : values) v = is_small ? std::rint(v * size) : v * size;
    const std::vector<int64_t> whole(values.begin(), values.end());
    QR_ASSIGN_OR_RETURN(const Tensor scaled, is_small ? FromInt64s(dtype, tensor.dims(), whole)
                                                      : FromDoubles(dtype, tensor.dims(), values));
    QR_ASSIGN_OR_RETURN(plain, ToPlain(scaled));
  }
  return {};
}

// Ranges of integers of 32 bits and more that are no single number: masks, indices and sizes, nearly always, and
// accumulators where a graph takes larger ones.
// kLarge: such that a FLOAT does not hold, nor, of 64 bits, 32 of these. kWhole: all of 32 bits, of which the other sign
// does not hold half.
enum class Accumulators { kUsual, kLarge, kWhole };
std::map<std::string, std::pair<double, double>> RangesOfAccumulators(const Model& model,
                                                                      Accumulators which) {
  const bool large = which != Accumulators::kUsual;
  std::map<std::string, std::pair<double, double>> ranges;
  for (const ModelValue& input : model.Inputs()) {
    const auto dtype = static_cast<DType>(input.dtype);
    const double most = Info(dtype).bits > 32 ? 0x1p33 : 0x1p26;
    const double low = large ? -most : -120, high = large ? most : 600;
    const bool wide = IsInteger(dtype) && Info(dtype).bits >= 32;
    const bool single = input.has_shape && input.dims.empty();
    if (!wide || single) continue;
    ranges[input.name] = {IntMin(dtype) < 0 ? low : 0, high};
    if (which == Accumulators::kWhole && Info(dtype).bits == 32)
      ranges[input.name] = {static_cast<double>(IntMin(dtype)), static_cast<double>(IntMax(dtype))};
  }
  return ranges;
}

// The largest number from `least` to `limit` that a constant of the type, or an attribute, has alone; 0 if there is none.
double LargestAlone(const Graph& graph, DType dtype, double least, double limit) {
  double most = 0;
  const auto add = [&](double number) {
    const double size = std::abs(number);
    if (std::isfinite(number) && size >= least && size <= limit) most = std::max(most, size);
  };
  for (size_t i = 0; i < graph.num_values(); ++i) {
    const ValueId v(i);
    const Tensor* const tensor = graph.alive(v) ? graph.constant(v) : nullptr;
    if (tensor == nullptr || tensor->dtype() != dtype || tensor->size() != 1) continue;
    const Result<std::vector<double>> numbers = ToDoubles(*tensor);
    if (numbers.ok()) add(numbers->front());
  }
  for (size_t i = 0; i < graph.num_nodes(); ++i) {
    const NodeId n(i);
    if (!graph.alive(n)) continue;
    for (const Attribute& a : graph.attributes(n)) {
      if (const auto* const number = std::get_if<float>(&a.value)) add(*number);
    }
  }
  return most;
}

// Floats of the type that are no single number, as multiples of each other that they were, the largest of them `most`.
Status Stretch(Tensors& sample, DType dtype, double most) {
  for (auto& [name, plain] : sample) {
    if (static_cast<DType>(plain.dtype) != dtype || plain.dims.empty()) continue;
    QR_ASSIGN_OR_RETURN(const Tensor tensor, FromPlain(plain));
    QR_ASSIGN_OR_RETURN(std::vector<double> values, ToDoubles(tensor));
    double largest = 0;
    for (const double v : values) largest = std::max(largest, std::abs(v));
    if (largest == 0 || largest >= most || !std::isfinite(largest)) continue;
    for (double& v : values) v *= most / largest;
    QR_ASSIGN_OR_RETURN(const Tensor far, FromDoubles(dtype, tensor.dims(), values));
    QR_ASSIGN_OR_RETURN(plain, ToPlain(far));
  }
  return {};
}

// Floats of the type that are infinite, since a range that they were made for ends beyond it, become the largest ones:
// what rules promise is said of finite numbers.
Status BringBack(Tensors& sample, DType dtype, double most) {
  for (auto& [name, plain] : sample) {
    if (static_cast<DType>(plain.dtype) != dtype) continue;
    QR_ASSIGN_OR_RETURN(const Tensor tensor, FromPlain(plain));
    QR_ASSIGN_OR_RETURN(std::vector<double> values, ToDoubles(tensor));
    for (double& v : values) v = std::isinf(v) ? std::copysign(most, v) : v;
    QR_ASSIGN_OR_RETURN(const Tensor back, FromDoubles(dtype, tensor.dims(), values));
    QR_ASSIGN_OR_RETURN(plain, ToPlain(back));
  }
  return {};
}

// Of integers of few bits some are the ends of their type, of which the lowest has no negative. False: there are no
// such integers.
Result<bool> MakeEnds(Tensors& sample, Dice& dice) {
  bool any = false;
  for (auto& [name, plain] : sample) {
    const auto dtype = static_cast<DType>(plain.dtype);
    if (!IsInteger(dtype) || Info(dtype).bits > 16 || plain.dims.empty()) continue;
    QR_ASSIGN_OR_RETURN(const Tensor tensor, FromPlain(plain));
    QR_ASSIGN_OR_RETURN(std::vector<int64_t> values, ToInt64s(tensor));
    for (int64_t& v : values) {
      if (!dice.Once(4)) continue;
      v = dice.Once(2) ? IntMin(dtype) : static_cast<int64_t>(IntMax(dtype));
      any = true;
    }
    QR_ASSIGN_OR_RETURN(const Tensor ends, FromInt64s(dtype, tensor.dims(), values));
    QR_ASSIGN_OR_RETURN(plain, ToPlain(ends));
  }
  return any;
}

// Shapes of inputs whose open sizes say which ones they stand for.
std::map<std::string, std::vector<int64_t>> NamedShapes(const Model& model) {
  const Graph& graph = GraphOf(model);
  std::map<std::string, std::vector<int64_t>> shapes;
  for (const ValueId v : graph.inputs()) {
    const TypeInfo& type = graph.declared(v);
    if (graph.constant(v) != nullptr || !type.has_rank) continue;
    std::vector<int64_t> dims;
    bool any = false;
    for (const Dim dim : type.dims) {
      std::optional<int64_t> size;
      if (dim.known()) size = dim.size();
      if (dim.symbolic()) size = SizeOfOpen(graph.symbol_name(dim));
      if (!size) break;
      any |= !dim.known();
      dims.push_back(*size);
    }
    if (any && dims.size() == type.dims.size()) shapes[std::string(graph.name(v))] = dims;
  }
  return shapes;
}

// What lists of small numbers above 0 add up to: the size of an axis that is cut into such parts.
std::set<int64_t> TotalsOfLists(const Model& model) {
  constexpr size_t kMostParts = 8, kMostTotals = 3;
  constexpr int64_t kMostTotal = 64;
  const Graph& graph = GraphOf(model);
  std::set<int64_t> totals;
  const auto add = [&](const std::vector<int64_t>& list) {
    if (list.size() < 2 || list.size() > kMostParts || totals.size() >= kMostTotals) return;
    int64_t total = 0;
    for (const int64_t v : list) {
      if (v <= 0 || v > kMostTotal) return;
      total += v;
    }
    if (total <= kMostTotal) totals.insert(total);
  };
  for (size_t i = 0; i < graph.num_values(); ++i) {
    const Tensor* const tensor = graph.alive(ValueId(i)) ? graph.constant(ValueId(i)) : nullptr;
    if (tensor == nullptr || !IsInteger(tensor->dtype()) || tensor->dims().size() != 1) continue;
    if (Info(tensor->dtype()).bits < 32 || tensor->size() > static_cast<int64_t>(kMostParts))
      continue;
    if (const Result<std::vector<int64_t>> list = ToInt64s(*tensor); list.ok()) add(*list);
  }
  for (size_t i = 0; i < graph.num_nodes(); ++i) {
    if (!graph.alive(NodeId(i))) continue;
    for (const Attribute& a : graph.attributes(NodeId(i))) {
      if (const auto* const list = std::get_if<std::vector<int64_t>>(&a.value)) add(*list);
    }
  }
  return totals;
}

int64_t SamplesFor(const Promise& promise, const Tensors& sample) {
  if (promise.kind != Promise::Kind::kApprox) return kSamples;
  int64_t most = 1;
  for (const auto& [name, plain] : sample) most = std::max(most, Count(plain.dims));
  return std::clamp(kElementsOfSums / most, kLeastSamplesOfSums, kMostSamplesOfSums);
}

// Every other sample has large integers, one has very large ones if these are wanted, the largest with which the model
// runs.
Status AddAccumulators(const Court& court, const Model& model, const VerifyOptions& options,
                       const InputMaker& plain, InputMaker::Sizes sizes, double size,
                       bool very_large, std::vector<Tensors>& inputs) {
  for (const auto which : {Accumulators::kUsual, Accumulators::kLarge, Accumulators::kWhole}) {
    const bool large = which != Accumulators::kUsual;
    if (large && !very_large) break;
    auto ranges = RangesOfAccumulators(model, which);
    std::erase_if(ranges, [&](const auto& range) { return plain.Counts(range.first); });
    if (ranges.empty()) return {};
    VerifyOptions wide = options;
    wide.ranges.insert(ranges.begin(), ranges.end());
    QR_ASSIGN_OR_RETURN(const InputMaker maker, InputMaker::Make(model, wide, &court.roles));
    for (size_t i = large ? 3 : 1; i < inputs.size(); i += 2) {
      QR_ASSIGN_OR_RETURN(Tensors sample, maker.Sample(static_cast<int>(i), sizes));
      QR_RETURN_IF_ERROR(Multiply(sample, maker, size));
      if (!RunModel(court.kernels, model, {sample}).status.ok()) break;
      inputs[i] = std::move(sample);
      if (large) break;
    }
  }
  return {};
}

// One sample goes beyond the bounds of the graph, where the model runs with such: numbers that data comes near, of a Clip
// say; and, if `far`, also those that nothing reaches, or that are taken for none.
Status AddFarFloats(const Court& court, const Model& model, bool far,
                    std::vector<Tensors>& inputs) {
  constexpr size_t kOutOfRange = 2;
  constexpr double kMost = 3.4e38;  // of FLOAT
  constexpr double kFar = 1e20, kNear = 1e6;
  const Graph& graph = GraphOf(model);
  constexpr DType kFloat = DType::kFloat;
  double bound = far ? LargestAlone(graph, kFloat, kFar, std::numeric_limits<float>::max()) : 0;
  if (bound == 0) bound = LargestAlone(graph, kFloat, 0, kNear);
  if (bound == 0 || inputs.size() <= kOutOfRange) return {};
  Tensors sample = inputs[kOutOfRange];
  QR_RETURN_IF_ERROR(Stretch(sample, kFloat, std::min(4 * bound, kMost)));
  if (RunModel(court.kernels, model, {sample}).status.ok()) inputs[kOutOfRange] = std::move(sample);
  return {};
}

// One sample more goes to the end of the type, where a number of the graph is so large that a range in steps of it would
// end beyond.
Status AddEndsOfFloats(const Court& court, const Model& model, std::vector<Tensors>& inputs) {
  constexpr size_t kOutOfRange = 2;
  const Graph& graph = GraphOf(model);
  for (const DType dtype : {DType::kFloat, DType::kFloat16}) {
    const double most = LargestFinite(dtype);
    if (inputs.size() <= kOutOfRange || !EndsBeyond(dtype, LargestAlone(graph, dtype, 0, most)))
      continue;
    Tensors sample = inputs[kOutOfRange];
    QR_RETURN_IF_ERROR(Stretch(sample, dtype, most));
    if (RunModel(court.kernels, model, {sample}).status.ok()) inputs.push_back(std::move(sample));
  }
  return {};
}

// One sample has ends of integers, where the model runs with such.
Status AddEnds(const Court& court, const Model& model, std::vector<Tensors>& inputs) {
  constexpr size_t kOutOfRange = 2;
  if (inputs.size() <= kOutOfRange) return {};
  Tensors sample = inputs[kOutOfRange];
  Dice dice(court.seed);
  QR_ASSIGN_OR_RETURN(const bool any, MakeEnds(sample, dice));
  if (any && RunModel(court.kernels, model, {sample}).status.ok())
    inputs[kOutOfRange] = std::move(sample);
  return {};
}

// Whether the node reads the input as a step or a zero point, not as data.
bool ReadsStep(const Graph& graph, const User& use, const Signatures& signatures) {
  const NodeId n = use.node;
  if (!n.valid() || use.index == 0) return false;
  return RoleOf(graph, n, signatures) != QuantizerRole::kNone ||
         IsPrivateDomain(graph.op_name(graph.op(n)).domain);
}

}  // namespace

Result<std::vector<Tensors>> TrialInputs(const Court& court, const Model& model,
                                         const Promise& promise, const InputsWanted& wanted) {
  // Open sizes: two that differ; models that want them equal get them so. Inputs of no known rank: a matrix,
  // then others, a number last: where it is one, parameters of shape [1] make it a list.
  // Those that say what they stand for get that first of all.
  struct Tried {
    InputMaker::Sizes sizes;
    std::vector<int64_t> dims;
    bool named = false;
  };
  std::vector<Tried> tries = {{{2, 3}, {2, 3}, true},
                              {{2, 3}, {2, 3}},
                              {{2, 3, true}, {1, 2, 3, 3}},
                              {{2, 3, true}, {1, 1, 1, 2}},
                              {{2, 3}, {2}},
                              {{2, 3, true}, {3, 3}},
                              {{2, 3, true}, {}}};
  for (const int64_t total : TotalsOfLists(model))
    tries.push_back({{total, total, true}, {total, total}});
  if (wanted.turned) std::ranges::reverse(tries);
  const std::map<std::string, std::vector<int64_t>> named = NamedShapes(model);
  std::vector<std::string> unranked;
  for (const ModelValue& input : model.Inputs()) {
    if (!input.has_shape) unranked.push_back(input.name);
  }
  std::vector<Tensors> inputs;
  for (const Tried& tried : tries) {
    if (tried.named && named.empty()) continue;
    VerifyOptions options{.seed = court.seed};
    if (tried.named) options.shapes = named;
    if (promise.kind == Promise::Kind::kApprox) options.tolerance.kind = Tolerance::Kind::kSqnr;
    for (const std::string& name : unranked) options.shapes[name] = tried.dims;
    QR_ASSIGN_OR_RETURN(const InputMaker maker, InputMaker::Make(model, options, &court.roles));
    inputs.clear();
    int64_t samples = 1;
    for (int i = 0; i < samples; ++i) {
      QR_ASSIGN_OR_RETURN(inputs.emplace_back(), maker.Sample(i, tried.sizes));
      if (i == 0) samples = SamplesFor(promise, inputs.front());
      QR_RETURN_IF_ERROR(Multiply(inputs.back(), maker, wanted.size));
      for (const DType dtype : {DType::kFloat, DType::kFloat16})
        QR_RETURN_IF_ERROR(BringBack(inputs.back(), dtype, LargestFinite(dtype)));
    }
    const bool runs = (!maker.has_open_sizes() && unranked.empty()) ||
                      RunModel(court.kernels, model, {inputs.front()}).status.ok();
    if (!runs) continue;
    const bool large = promise.kind == Promise::Kind::kExact || promise.kind == Promise::Kind::kUlp;
    QR_RETURN_IF_ERROR(
        AddAccumulators(court, model, options, maker, tried.sizes, wanted.size, large, inputs));
    const bool steps = promise.kind == Promise::Kind::kLsb;
    if (large || steps)
      QR_RETURN_IF_ERROR(AddFarFloats(court, model, promise.kind == Promise::Kind::kExact, inputs));
    if (promise.kind == Promise::Kind::kExact)
      QR_RETURN_IF_ERROR(AddEndsOfFloats(court, model, inputs));
    if (promise.kind != Promise::Kind::kApprox) QR_RETURN_IF_ERROR(AddEnds(court, model, inputs));
    break;
  }
  if (court.of_seven_bits) QR_RETURN_IF_ERROR(NarrowInputs(inputs));
  return inputs;
}

bool HasNumberAsData(const Graph& graph, const Signatures& signatures) {
  return std::ranges::any_of(graph.inputs(), [&](ValueId v) {
    const TypeInfo& type = graph.declared(v);
    const bool small = IsInteger(type.dtype) && Info(type.dtype).bits <= 16;
    if (graph.constant(v) != nullptr || !type.has_rank || !type.dims.empty() ||
        (!small && !IsFloat(type.dtype)))
      return false;
    for (const UseId u : graph.uses(v)) {
      if (!ReadsStep(graph, graph.user(u), signatures)) return true;
    }
    return false;
  });
}

}  // namespace qrewrite
