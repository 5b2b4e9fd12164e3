// What nodes read, or may read: zero points that are absent, one number that stands for several, one value twice.
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/graph/tensor_type.h"
#include "engine/ops/node_signature.h"
#include "engine/prove/change.h"

namespace qrewrite {
namespace {

constexpr double kFewSteps = 3;     // leave the data of a quantizer where it is, nearly
constexpr double kLargeNumber = 8;  // no scale of a test

bool IsNarrow(DType dtype) { return IsInteger(dtype) && Info(dtype).bits <= 8; }

// Steps of quantizers keep their numbers; other integers are what data was measured for.
bool MoveZeroPoints(Numbers& numbers) {
  if (!IsNarrow(numbers.dtype)) return false;
  const auto middle = static_cast<double>(IntMin(numbers.dtype) + IntMax(numbers.dtype)) / 2;
  for (double& value : numbers.values) value += value < middle ? kFewSteps : -kFewSteps;
  return true;
}

}  // namespace

std::optional<bool> Change::EqualWeights(size_t& step) {
  constexpr double kSteps[] = {0, 1, -1, 2, -2};
  constexpr double kParts[] = {1, 0.75, 0.5, 0.875, 0.625};
  for (const ValueId v : constants_) {
    const Tensor& tensor = *graph_.constant(v);
    const bool narrow = IsNarrow(tensor.dtype());
    if (tensor.dims().size() < 2 || (!narrow && !IsFloat(tensor.dtype()))) continue;
    std::optional<Numbers> numbers = Numbers::Of(tensor);
    if (!numbers || numbers->values.size() < 2 || numbers->values.front() == 0) continue;
    const auto is_first = [&](double x) { return x == numbers->values.front(); };
    if (!std::ranges::all_of(numbers->values, is_first) || !IsAmong(step, 1)) continue;
    for (size_t i = 0; i < numbers->values.size(); ++i) {
      double& x = numbers->values[i];
      const size_t way = i % std::size(kSteps);
      x = narrow ? std::clamp(x + kSteps[way], static_cast<double>(IntMin(tensor.dtype())),
                              static_cast<double>(IntMax(tensor.dtype())))
                 : x * kParts[way];
    }
    const Tensor other = numbers->ToTensor();
    if (other.valid()) graph_.SetConstant(v, other);
    return other.valid();
  }
  return std::nullopt;
}

std::optional<bool> Change::AddZeroPoint(size_t& step) {
  for (const NodeId n : nodes_) {
    for (const size_t at : AbsentInputs(n)) {
      if (IsFixed(n) || !IsAmong(step, 1)) continue;
      const Tensor some = SomeOperand(n, at);
      std::optional<Numbers> numbers = some.valid() ? Numbers::Of(some) : std::nullopt;
      if (!numbers || !IsNarrow(numbers->dtype)) return false;
      numbers->dims.clear();
      numbers->values = {kFewSteps};
      return AddInputAt(n, at, numbers->ToTensor());
    }
  }
  return std::nullopt;
}

std::optional<bool> Change::AddOperands(size_t& step) {
  constexpr size_t kOften = 4;  // with another shape each time
  for (const NodeId n : nodes_) {
    const std::vector<size_t> absent = IsFixed(n) ? std::vector<size_t>() : AbsentInputs(n);
    const size_t ways = absent.size() + (absent.size() > 1 ? 1 : 0);  // the last: all of them
    if (!IsAmong(step, kOften * ways)) continue;
    std::map<size_t, Tensor> added;
    for (size_t i = 0; i < absent.size(); ++i) {
      if (step / kOften != i && step / kOften != absent.size()) continue;
      const Tensor some = SomeOperand(n, absent[i]);
      std::optional<Numbers> numbers = some.valid() ? Numbers::Of(some) : std::nullopt;
      if (!numbers || IsNarrow(numbers->dtype)) continue;
      // Beside data of about 1; what comes of it is near what quantizers were made for.
      for (double& x : numbers->values) x = IsFloat(numbers->dtype) ? (x - 2.5) / 2 : x;
      added.emplace(absent[i], numbers->ToTensor());
    }
    return AddInputsAt(n, added);
  }
  return std::nullopt;
}

std::optional<bool> Change::OwnZeroPoint(size_t& step) {
  constexpr double kMoves[] = {kFewSteps, -kFewSteps};
  const auto is_of_own = [&](const User& use) {
    return use.node.valid() && use.index > 0 && IsFixed(use.node);
  };
  for (const ValueId v : constants_) {
    const std::optional<double> number = WholeNumber(v);
    if (!number || !IsFloat(graph_.constant(v)->dtype())) continue;
    // 1 may be a scale; neither 0 nor a larger one is.
    if (*number != 0 && std::fabs(*number) < kLargeNumber) continue;
    bool own = false;
    for (const UseId u : graph_.uses(v)) own |= is_of_own(graph_.user(u));
    if (own && IsAmong(step, std::size(kMoves))) return SetElement(v, 0, *number + kMoves[step]);
  }
  return std::nullopt;
}

std::optional<bool> Change::OperandApart(size_t& step) {
  for (const NodeId n : nodes_) {
    for (size_t i = 0; i < graph_.num_inputs(n); ++i) {
      const ValueId v = graph_.input(n, i);
      const Tensor* const shared = v.valid() ? graph_.constant(v) : nullptr;
      if (shared == nullptr || graph_.num_uses(v) < 2 || !IsAmong(step, 1)) continue;
      std::optional<Numbers> numbers = Numbers::Of(*shared);
      if (!numbers) return false;
      const auto base = static_cast<uint64_t>(dice_.Integer(0, INT64_MAX));
      const bool other = words_.keeps_numbers ? MoveZeroPoints(*numbers)
                                              : numbers->Shake(base, words_.keeps_whole);
      const Tensor tensor = numbers->ToTensor();
      if (!other || !tensor.valid()) return false;
      const std::string name(graph_.FreshName(Name(v).empty() ? "own" : Name(v)));
      graph_.SetInput(n, i, graph_.AddConstant(graph_.body_of(n), name, tensor));
      return true;
    }
  }
  return std::nullopt;
}

// Zero points of such sums stay 0.
std::optional<bool> Change::LargeSums(size_t& step) {
  constexpr double kFactor = 64, kMost = 0x1p20;
  constexpr size_t kOften = 3;  // with other values of an attribute each time
  const auto grow = [&](ValueId v) {
    std::optional<Numbers> numbers = Numbers::Of(*graph_.constant(v));
    if (!numbers) return false;
    for (double& x : numbers->values) x = std::clamp(x * kFactor, -kMost, kMost);
    const Tensor tensor = numbers->ToTensor();
    if (tensor.valid()) graph_.SetConstant(v, tensor);
    return tensor.valid();
  };
  std::vector<ValueId> sums;
  for (const ValueId v : constants_) {
    if (graph_.constant(v)->dtype() != DType::kInt32) continue;
    const std::optional<Numbers> numbers = Numbers::Of(*graph_.constant(v));
    const auto is_zero = [](double x) { return x == 0; };
    if (!numbers || std::ranges::all_of(numbers->values, is_zero)) continue;
    sums.push_back(v);
    if (IsAmong(step, 1)) return grow(v);
  }
  if (sums.empty()) return std::nullopt;
  for (const AttributePlace& place : AttributePlaces()) {
    if (!IsAmong(step, kOften)) continue;
    bool any = ChangeAttribute(place);
    for (const ValueId v : sums) any = grow(v) && any;
    return any;
  }
  return std::nullopt;
}

// An operator of the pattern reads one value twice: what is moved off it may be moved off both. Operators with attributes
// mostly want another shape of each operand.
std::optional<bool> Change::TwiceTheSame(size_t& step) {
  const auto& ops = words_.of_pattern;
  for (const NodeId n : nodes_) {
    const OpName& op = graph_.op_name(graph_.op(n));
    const Signature* const s = SignatureOf(graph_, n, signatures_);
    const bool plain = s != nullptr && s->attributes.empty() && !IsFixed(n);
    if (!plain || std::ranges::find(ops, op) == ops.end()) continue;
    for (size_t i = 1; i < graph_.num_inputs(n); ++i) {
      const ValueId first = graph_.input(n, 0), other = graph_.input(n, i);
      if (!first.valid() || !other.valid() || first == other || !IsAmong(step, 1)) continue;
      graph_.SetInput(n, i, first);
      return true;
    }
  }
  return std::nullopt;
}

std::vector<size_t> Change::AbsentInputs(NodeId n) const {
  const OpName& op = graph_.op_name(graph_.op(n));
  const Signature* s = SignatureOf(graph_, n, signatures_);
  std::vector<size_t> absent;
  if (s == nullptr || HasFixedAttributes(n) || graph_.HasSubgraphs(n)) return absent;
  for (size_t i = 0; i < s->inputs.size(); ++i) {
    const bool there = i < graph_.num_inputs(n) && graph_.input(n, i).valid();
    if (there || s->inputs[i].arity != Arity::kOptional) continue;
    // Of operators of a rule set's own only what its tests say.
    if (!IsFixed(n) || words_.operands.contains({op, i})) absent.push_back(i);
  }
  return absent;
}

bool Change::AddInput() {
  if (nodes_.empty()) return false;
  const NodeId n = dice_.Of(nodes_);
  const std::vector<size_t> absent = AbsentInputs(n);
  return !absent.empty() && AddInputAt(n, dice_.Of(absent));
}

DType Change::TypeOfData(ValueId v) const {
  const Tensor* const tensor = graph_.constant(v);
  return tensor != nullptr ? tensor->dtype() : graph_.declared(v).dtype;
}

// What a test has there, of an operator whose operands are any.
Tensor Change::KnownOperand(NodeId n, size_t at) const {
  const std::vector<Tensor>& known = words_.operands.at({graph_.op_name(graph_.op(n)), at});
  if (known.empty()) return {};
  std::optional<Numbers> numbers = Numbers::Of(dice_.Of(known));
  if (!numbers) return {};
  // A zero point is of the type of the integers.
  const DType first =
      graph_.input(n, 0).valid() ? TypeOfData(graph_.input(n, 0)) : DType::kUndefined;
  if (IsInteger(first) && IsInteger(numbers->dtype)) numbers->dtype = first;
  return numbers->ToTensor();
}

// The type of another input of the same kind, else one that is allowed.
DType Change::TypeOfOperand(NodeId n, size_t at) const {
  const Signature* s = SignatureOf(graph_, n, signatures_);
  const int var = s->inputs[at].type_var;
  DType dtype = DType::kUndefined;
  for (size_t i = 0; i < graph_.num_inputs(n); ++i) {
    const ValueId v = graph_.input(n, i);
    if (!v.valid()) continue;
    const DType has = TypeOfData(v);
    if (i < s->inputs.size() && s->inputs[i].type_var == var && has != DType::kUndefined)
      dtype = has;
  }
  if (dtype != DType::kUndefined || var < 0) return dtype;
  constexpr DType kUsual[] = {DType::kFloat, DType::kUint8, DType::kInt8, DType::kInt64,
                              DType::kInt32};
  std::vector<DType> allowed;
  for (const DType t : kUsual) {
    if (s->types[static_cast<size_t>(var)].Allows(t)) allowed.push_back(t);
  }
  return allowed.empty() ? dtype : dice_.Of(allowed);
}

Tensor Change::SomeOperand(NodeId n, size_t at) const {
  if (IsFixed(n)) return KnownOperand(n, at);
  const DType dtype = TypeOfOperand(n, at);
  if (dtype == DType::kUndefined) return {};
  // What a test has there has a shape that nobody would guess: the peepholes of a recurrent layer.
  const auto known = words_.operands.find({graph_.op_name(graph_.op(n)), at});
  if (known != words_.operands.end() && !known->second.empty() && dice_.Once(2)) {
    std::optional<Numbers> seen = Numbers::Of(dice_.Of(known->second));
    if (seen && seen->dtype == dtype) return seen->ToTensor();
  }
  Numbers numbers{.dtype = dtype, .dims = {}, .values = {1}};
  // Zero points are any number of their type, lists of indexes may be an order of axes.
  const bool small = IsInteger(dtype) && Info(dtype).bits <= 8 && dice_.Once(2);
  const bool order = IsInteger(dtype) && Info(dtype).bits >= 32 && dice_.Once(2);
  const std::set<int64_t> ranks = Ranks();
  const bool of_rank = order && !ranks.empty() && *ranks.rbegin() > 0;
  numbers.Resize(of_rank ? Dims{*ranks.rbegin()} : dice_.Of(OperandShapes(n)), dice_);
  auto next = static_cast<double>(numbers.values.size());
  for (double& x : numbers.values) {
    if (order)
      x = --next;
    else if (small)
      x = static_cast<double>(dice_.Integer(IntMin(dtype), static_cast<int64_t>(IntMax(dtype))));
    else
      x = static_cast<double>(dice_.Integer(1, 4));
  }
  return numbers.ToTensor();
}

std::optional<bool> Change::AddRowsAnywhere(size_t& step) {
  for (const NodeId n : nodes_) {
    if (const std::optional<bool> made = AddRows(n, step)) return made;
  }
  return std::nullopt;
}

std::optional<bool> Change::AddRows(NodeId n, size_t& step) {
  if (IsFixed(n)) return std::nullopt;
  const std::vector<size_t> absent = AbsentInputs(n);
  const std::vector<Dims> rows = RowsForEach(n);
  if (rows.empty() || !IsAmong(step, absent.size() * rows.size())) return std::nullopt;
  const size_t at = absent[step / rows.size()];
  const DType dtype = TypeOfOperand(n, at);
  if (!IsFloat(dtype)) return false;
  Numbers numbers{.dtype = dtype, .dims = {}, .values = {1}};
  numbers.Resize(rows[step % rows.size()], dice_);
  // Of both signs: behind a gate that is open anyway the others make no difference.
  for (double& x : numbers.values) {
    x = static_cast<double>(dice_.Integer(1, 4)) * (dice_.Once(2) ? 1 : -1);
  }
  return AddInputAt(n, at, numbers.ToTensor());
}

// Biases and peepholes of recurrent layers: a row for each direction, with several numbers for each place of a state. And the
// states: each axis as long as that of some input.
std::vector<Dims> Change::RowsForEach(NodeId n) const {
  constexpr int64_t kTimes[] = {1, 2, 3, 6, 8};
  std::vector<Dims> rows;
  std::set<int64_t> sizes[3];  // of each axis
  for (size_t i = 0; i < graph_.num_inputs(n); ++i) {
    const ValueId v = graph_.input(n, i);
    if (!v.valid()) continue;
    const Tensor* const tensor = graph_.constant(v);
    const TypeInfo type = tensor != nullptr ? TypeOfTensor(*tensor) : graph_.declared(v);
    if (!type.known_shape() || type.dims.size() != 3) continue;
    Dims dims;
    for (const Dim d : type.dims) dims.push_back(d.known() ? d.size() : 1);
    for (size_t axis = 0; axis < 3; ++axis) sizes[axis].insert(dims[axis]);
    for (const int64_t times : kTimes) {
      rows.push_back({dims[0], times * dims[2]});
      rows.push_back({dims[0], times * dims[1]});  // com.microsoft has them the other way round
    }
  }
  for (const int64_t a : sizes[0]) {
    for (const int64_t b : sizes[1]) {
      for (const int64_t c : sizes[2]) rows.push_back({a, b, c});
    }
  }
  std::ranges::sort(rows);
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  return rows;
}

std::vector<Dims> Change::OperandShapes(NodeId n) const {
  std::vector<Dims> shapes = {{1}};
  std::map<size_t, std::vector<Dims>> by_rank;  // of the inputs
  for (size_t i = 0; i < graph_.num_inputs(n); ++i) {
    const ValueId v = graph_.input(n, i);
    if (!v.valid()) continue;
    const Tensor* const tensor = graph_.constant(v);
    Dims dims = tensor != nullptr ? tensor->dims() : Dims();
    if (tensor == nullptr) {
      if (!graph_.declared(v).known_shape()) continue;
      for (const Dim d : graph_.declared(v).dims) dims.push_back(d.size());
    }
    // A bias has a number for each place of an axis, also where all that is there is data.
    if (tensor != nullptr) shapes.push_back(dims);
    for (const int64_t size : dims) {
      if (tensor != nullptr || std::ranges::count(shapes, Dims{size}) == 0)
        shapes.push_back({size});
    }
    by_rank[dims.size()].push_back(std::move(dims));
  }
  // Each axis as long as that of some input with as many: a state of a recurrent layer, a residual.
  for (const auto& [rank, known] : by_rank) {
    Dims mixed(rank);
    for (size_t i = 0; i < rank; ++i) mixed[i] = dice_.Of(known)[i];
    if (known.size() > 1) shapes.insert(shapes.end(), shapes.size(), mixed);
  }
  return shapes;
}

bool Change::AddInputAt(NodeId n, size_t at) { return AddInputAt(n, at, SomeOperand(n, at)); }

bool Change::AddInputAt(NodeId n, size_t at, const Tensor& tensor) {
  return AddInputsAt(n, {{at, tensor}});
}

bool Change::AddInputsAt(NodeId n, const std::map<size_t, Tensor>& added) {
  const auto is_none = [](const auto& entry) { return !entry.second.valid(); };
  if (added.empty() || std::ranges::any_of(added, is_none)) return false;
  const BodyId body = graph_.body_of(n);
  std::vector<ValueId> operands;
  for (size_t i = 0; i < graph_.num_inputs(n); ++i) operands.push_back(graph_.input(n, i));
  operands.resize(std::max(operands.size(), added.rbegin()->first + 1));
  for (const auto& [at, tensor] : added)
    operands[at] = graph_.AddConstant(body, graph_.FreshName("added"), tensor);
  if (operands.size() == graph_.num_inputs(n)) {
    for (const auto& [at, tensor] : added) graph_.SetInput(n, at, operands[at]);
  } else {
    ReadInstead(n, operands);
  }
  return true;
}

void Change::ReadInstead(NodeId n, const std::vector<ValueId>& operands) {
  const BodyId body = graph_.body_of(n);
  std::vector<ValueId> outputs;
  for (size_t i = 0; i < graph_.num_outputs(n); ++i) {
    const ValueId old = graph_.output(n, i);
    if (old.valid()) graph_.DropProducer(old);
    outputs.push_back(old);
  }
  const Attributes attributes = graph_.attributes(n);
  const OpId id = graph_.op(n);
  graph_.RemoveNode(n);
  graph_.AddNode(body, id, operands, outputs, attributes, "");
}

}  // namespace qrewrite
