// Changes that touch one thing, one after the other: every attribute of every node, every input without its
// rank and with two axes of one length, every pair of sizes, every small integer, every input of a node that may
// be absent.
#include <algorithm>
#include <cmath>

#include "engine/ops/node_signature.h"
#include "engine/prove/change.h"

namespace qrewrite {
namespace {

// Graphs stay small.
bool IsSmallSize(double value) { return value == std::rint(value) && std::fabs(value) <= 40; }

constexpr size_t kMostElements = 8;  // of a constant that may be axes or sizes

}  // namespace

bool Change::ForgetRank(ValueId v) {
  TypeInfo type = graph_.declared(v);
  // What may be a number alone is no data that quantizers were made for.
  if (!type.has_rank || words_.keeps_numbers) return false;
  type.has_rank = false;
  type.dims.clear();
  graph_.SetDeclared(v, type);
  return true;
}

bool Change::UnknownRank() {
  if (inputs_.empty()) return false;
  const ValueId v = dice_.Of(inputs_);
  return ForgetRank(v);
}

bool Change::AddAxis(bool behind) {
  constexpr int64_t kSize = 2;
  bool any = false;
  for (const ValueId v : inputs_) {
    TypeInfo type = graph_.declared(v);
    if (!type.has_rank || !type.is_tensor) continue;
    type.dims.insert(behind ? type.dims.end() : type.dims.begin(), Dim(kSize));
    graph_.SetDeclared(v, type);
    any = true;
  }
  return any;
}

bool Change::DropEverywhere(size_t input) {
  bool any = false;
  for (const NodeId n : nodes_) {
    if (IsFixed(n) || input >= graph_.num_inputs(n) || !graph_.input(n, input).valid()) continue;
    graph_.SetInput(n, input, ValueId());
    any = true;
  }
  return any;
}

bool Change::MakeEqual(ValueId v, size_t axis, size_t other, bool everywhere) {
  TypeInfo type = graph_.declared(v);
  const Dim from = type.dims[axis], to = type.dims[other];
  if (!from.known() || !to.known() || from == to) return false;
  if (everywhere) {
    Resize(from.size(), to.size());
    return true;
  }
  type.dims[axis] = to;
  graph_.SetDeclared(v, type);
  return true;
}

bool Change::EqualLengths() {
  if (inputs_.empty()) return false;
  const ValueId v = dice_.Of(inputs_);
  const size_t rank = graph_.declared(v).dims.size();
  if (rank < 2) return false;
  const size_t axis = dice_.Below(rank), other = dice_.Below(rank);
  return MakeEqual(v, axis, other, dice_.Once(2));
}

// Where sizes are not known nobody refuses a result for its shape.
bool Change::OpenSizes() {
  bool any = false;
  int symbols = 0;
  for (const ValueId v : inputs_) {
    TypeInfo type = graph_.declared(v);
    // Axes in front are batches and channels, which constants have, too.
    for (size_t i = type.dims.size() > 2 ? 2 : 0; i < type.dims.size(); ++i) {
      if (!type.dims[i].known()) continue;
      type.dims[i] = graph_.SymbolDim("S" + std::to_string(symbols++));
      any = true;
    }
    graph_.SetDeclared(v, type);
  }
  return any;
}

std::vector<ValueId> Change::Indexes() const {
  std::vector<ValueId> found;
  for (const ValueId v : constants_) {
    const Tensor& tensor = *graph_.constant(v);
    const bool wide = IsInteger(tensor.dtype()) && Info(tensor.dtype()).bits >= 32;
    if (wide && tensor.size() > 0 && tensor.size() <= static_cast<int64_t>(kMostElements))
      found.push_back(v);
  }
  return found;
}

bool Change::SetElement(ValueId v, size_t at, double value) {
  std::optional<Numbers> numbers = Numbers::Of(*graph_.constant(v));
  if (!numbers || at >= numbers->values.size() || numbers->values[at] == value) return false;
  numbers->values[at] = value;
  const Tensor tensor = numbers->ToTensor();
  if (!tensor.valid()) return false;
  graph_.SetConstant(v, tensor);
  return true;
}

// Several axes and indexes at once: those that stand for one another are changed together.
bool Change::SmallIntegers() {
  bool any = false;
  for (const ValueId v : Indexes()) {
    if (dice_.Once(2)) continue;
    const auto at = dice_.Below(static_cast<size_t>(graph_.constant(v)->size()));
    any |= SetElement(v, at, static_cast<double>(dice_.Integer(-2, 2)));
  }
  return any;
}

// An attribute that is one number.
bool Change::SetAttributeAlone(double value) {
  std::vector<AttributePlace> places = AttributePlaces();
  std::erase_if(places, [&](const AttributePlace& p) {
    const bool fits =
        p.kind == AttrKind::kFloat || (p.kind == AttrKind::kInt && IsSmallSize(value));
    return !fits || IsFixed(p.node);
  });
  if (places.empty()) return false;
  const AttributePlace& place = dice_.Of(places);
  if (place.kind == AttrKind::kFloat)
    graph_.SetAttribute(place.node, place.name, static_cast<float>(value));
  else
    graph_.SetAttribute(place.node, place.name, static_cast<int64_t>(value));
  return true;
}

bool Change::AtLimit() {
  if (words_.limits.empty()) return false;
  const double limit = dice_.Of(words_.limits);
  const double near = std::fabs(limit) * 1e-6;
  const double beside[] = {limit, limit + 1, limit - 1, limit + near, limit - near, -limit};
  const double value = beside[dice_.Below(std::size(beside))];
  if (limit > 0 && limit < 1 && dice_.Once(2)) return NearlyBy(limit);
  const int64_t way = dice_.Integer(0, 3);
  if (way <= 1 && !constants_.empty() && !words_.keeps_numbers) {
    const ValueId v = dice_.Of(constants_);
    std::optional<Numbers> numbers = Numbers::Of(*graph_.constant(v));
    if (!numbers || numbers->values.empty()) return false;
    if (way == 0)
      std::ranges::fill(numbers->values, value);
    else
      numbers->values[dice_.Below(numbers->values.size())] = value;
    return SetNumbers(v, *numbers);
  }
  if (way == 2) return SetAttributeAlone(value);
  if (!IsSmallSize(value)) return false;
  const auto whole = static_cast<int64_t>(value);
  std::vector<int64_t> sizes;
  for (const ValueId v : inputs_) {
    for (const Dim d : graph_.declared(v).dims) {
      if (d.known()) sizes.push_back(d.size());
    }
  }
  if (sizes.empty() || whole < 0) return false;
  const int64_t from = dice_.Of(sizes);
  if (from == whole) return false;
  Resize(from, whole);
  return true;
}

// A constant is off by nearly as much as is tolerated, or by a little more.
bool Change::NearlyBy(double tolerance) {
  if (constants_.empty() || words_.keeps_numbers) return false;
  const ValueId v = dice_.Of(constants_);
  std::optional<Numbers> numbers = Numbers::Of(*graph_.constant(v));
  if (!numbers || numbers->values.empty() || !IsFloat(numbers->dtype)) return false;
  const double factor = dice_.Once(3) ? 1.1 : 0.9;
  for (double& x : numbers->values) x *= 1 + (dice_.Once(2) ? 1 : -1) * factor * tolerance;
  const Tensor tensor = numbers->ToTensor();
  if (tensor.valid()) graph_.SetConstant(v, tensor);
  return tensor.valid();
}

std::optional<double> Change::WholeNumber(ValueId v) const {
  if (graph_.constant(v)->size() != 1) return std::nullopt;
  const std::optional<Numbers> numbers = Numbers::Of(*graph_.constant(v));
  if (!numbers || !numbers->AreWhole()) return std::nullopt;
  return numbers->values.front();
}

// One input gets another type.
std::optional<bool> Change::TypeOf(size_t& step) {
  for (const ValueId v : inputs_) {
    const DType from = graph_.declared(v).dtype;
    const std::vector<DType> similar = SimilarTypes(from);
    for (const DType to : std::set<DType>(similar.begin(), similar.end())) {
      if (to == from || !IsAmong(step, 1)) continue;
      ChangeType(from, to, /*everywhere=*/false, {v});
      return true;
    }
  }
  return std::nullopt;
}

// What every other type may become, everywhere.
std::vector<std::pair<DType, DType>> Change::OtherTypes() const {
  std::set<DType> used;
  for (const ValueId v : inputs_) used.insert(graph_.declared(v).dtype);
  for (const ValueId v : constants_) used.insert(graph_.constant(v)->dtype());
  std::vector<std::pair<DType, DType>> changes;
  for (const DType from : used) {
    const std::vector<DType> similar = SimilarTypes(from);
    for (const DType to : std::set<DType>(similar.begin(), similar.end())) {
      if (to != from) changes.emplace_back(from, to);
    }
  }
  return changes;
}

// Two at once: those of scales and of zero points.
std::optional<bool> Change::TwoTypes(size_t& step) {
  constexpr size_t kMostPairs = 60;
  const std::vector<std::pair<DType, DType>> changes = OtherTypes();
  size_t pairs = 0;
  for (size_t i = 0; i < changes.size(); ++i) {
    for (size_t j = i + 1; j < changes.size(); ++j) {
      const auto& [from, to] = changes[i];
      const auto& [other, as] = changes[j];
      // What became the second type is not to be changed again.
      if (from == other || to == other || ++pairs > kMostPairs || !IsAmong(step, 1)) continue;
      ChangeType(from, to, /*everywhere=*/true, {});
      ChangeType(other, as, /*everywhere=*/true, {});
      return true;
    }
  }
  return std::nullopt;
}

namespace {

bool IsReal(AttrKind kind) { return kind == AttrKind::kFloat || kind == AttrKind::kFloats; }

}  // namespace

// The other texts of a place beside which the node has numbers.
std::vector<AttrValue> Change::TextsWithNumbers(const AttributePlace& place,
                                                const std::vector<AttributePlace>& all) const {
  const auto beside = [&](const AttributePlace& other) {
    return other.node == place.node && IsReal(other.kind);
  };
  if (place.kind != AttrKind::kString || IsFixed(place.node) || words_.keeps_numbers ||
      std::ranges::none_of(all, beside))
    return {};
  // Where ONNX has none those of conditions and definitions: an activation that a case of one is for.
  constexpr size_t kMost = 24;
  std::vector<AttrValue> choices = Choices(place);
  if (!TextsOf(place.node, place.name).empty()) return choices;
  for (const std::string& text : words_.texts) {
    const AttrValue value(text);
    const auto same = [&](const AttrValue& v) { return Equal(v, value); };
    if (choices.size() < kMost && std::ranges::none_of(choices, same)) choices.push_back(value);
  }
  return choices;
}

// Attributes of one name that are equal get another value together: two orders of axes, two ends of padding.
std::optional<bool> Change::EqualAttributes(size_t& step,
                                            const std::vector<AttributePlace>& places) {
  const auto equal = [](const AttributePlace& a, const AttributePlace& b) {
    return a.written && b.written && a.name == b.name && a.node != b.node &&
           Equal(a.value, b.value);
  };
  for (size_t i = 0; i < places.size(); ++i) {
    const AttributePlace& first = places[i];
    const auto is_equal = [&](const AttributePlace& p) { return equal(first, p); };
    const auto from = places.begin() + static_cast<ptrdiff_t>(i);
    if (IsFixed(first.node) || std::any_of(places.begin(), from, is_equal) ||
        std::none_of(from, places.end(), is_equal))
      continue;
    const std::vector<AttrValue> choices = Choices(first);
    if (!IsAmong(step, choices.size())) continue;
    graph_.SetAttribute(first.node, first.name, choices[step]);
    for (const AttributePlace& other : places) {
      if (equal(first, other) && !IsFixed(other.node))
        graph_.SetAttribute(other.node, other.name, choices[step]);
    }
    return true;
  }
  return std::nullopt;
}

// Attributes, element types, operators and their operands.
std::optional<bool> Change::OneOfNodes(size_t& step) {
  const std::vector<AttributePlace> places = AttributePlaces();
  if (IsAmong(step, 2 * places.size())) {
    if (step % 2 == 1 && !OpenSizes()) return false;
    return ChangeAttribute(places[step / 2]);
  }
  for (const AttributePlace& place : places) {
    const std::vector<AttrValue> choices = Choices(place);
    if (!IsAmong(step, choices.size())) continue;
    graph_.SetAttribute(place.node, place.name, choices[step]);
    return true;
  }
  if (const std::optional<bool> made = EqualAttributes(step, places)) return made;
  // A text that asks for parameters, and all of these at once.
  for (const AttributePlace& place : places) {
    const std::vector<AttrValue> choices = TextsWithNumbers(place, places);
    if (!IsAmong(step, choices.size())) continue;
    graph_.SetAttribute(place.node, place.name, choices[step]);
    for (const AttributePlace& other : places) {
      if (other.node == place.node && IsReal(other.kind)) ChangeAttribute(other);
    }
    return true;
  }
  if (const std::optional<bool> made = TypeOf(step)) return made;
  const std::vector<std::pair<DType, DType>> types = OtherTypes();
  if (IsAmong(step, types.size())) {
    ChangeType(types[step].first, types[step].second, /*everywhere=*/true, {});
    return true;
  }
  for (const AttributePlace& place : places) {
    if (!place.written || IsFixed(place.node) || !IsAmong(step, 1)) continue;
    graph_.EraseAttribute(place.node, place.name);
    return true;
  }
  for (const NodeId n : nodes_) {
    // Those that commute, and others of the pattern, which may be of one kind: the parts of a Concat.
    const bool own = std::ranges::find(words_.of_pattern, graph_.op_name(graph_.op(n))) !=
                     words_.of_pattern.end();
    const bool may = MaySwap(n) || (own && graph_.num_inputs(n) > 1 && !words_.keeps_numbers);
    if (may && IsAmong(step, 1)) return Swap(n, 0, 1);
  }
  return OperatorOfPattern(step, /*alike=*/false);
}

std::optional<bool> Change::OneOfShapes(size_t& step) {
  if (const std::optional<bool> made = AxisWhereAlike(step)) return made;
  if (const std::optional<bool> made = ThreeAxesTurned(step)) return made;
  if (const std::optional<bool> made = SizesAlike(step)) return made;
  if (inputs_.size() > 1 && IsAmong(step, inputs_.size())) return OpenAllBut(inputs_[step]);
  for (const ValueId v : inputs_) {
    const size_t rank = graph_.declared(v).dims.size();
    if (IsAmong(step, 1)) return ForgetRank(v);
    // Each pair of axes, here alone and everywhere.
    if (!IsAmong(step, 2 * rank * rank)) continue;
    const size_t pair = step / 2;
    return MakeEqual(v, pair / rank, pair % rank, step % 2 == 1);
  }
  return SizesOfPair(step);
}

// Constants keep their numbers, nearly.
std::optional<bool> Change::OneOfZeroPoints(size_t& step) {
  if (const std::optional<bool> made = EqualWeights(step)) return made;
  if (const std::optional<bool> made = AddZeroPoint(step)) return made;
  if (const std::optional<bool> made = OwnZeroPoint(step)) return made;
  if (const std::optional<bool> made = AddOperands(step)) return made;
  if (const std::optional<bool> made = OperandApart(step)) return made;
  // A zero point of a few steps more leaves the data where it is, nearly; the end of a short range does not.
  constexpr double kFewSteps = 8;
  for (const ValueId v : constants_) {
    const std::optional<double> number = WholeNumber(v);
    if (!number || std::fabs(*number) < kFewSteps) continue;
    if (IsAmong(step, 2)) return SetElement(v, 0, *number + (step == 0 ? 3 : -3));
    // One for each place of an axis.
    for (const int64_t size : SizesUsed()) {
      if (size < 2 || size > 8 || !IsAmong(step, 1)) continue;
      std::optional<Numbers> numbers = Numbers::Of(*graph_.constant(v));
      numbers->dims = {size};
      numbers->values.clear();
      for (int64_t i = 0; i < size; ++i)
        numbers->values.push_back(*number + static_cast<double>(i % 3 - 1) * 3);
      const Tensor tensor = numbers->ToTensor();
      if (tensor.valid()) graph_.SetConstant(v, tensor);
      return tensor.valid();
    }
  }
  return AddRowsAnywhere(step);
}

// Small integers, and inputs that are there or not.
std::optional<bool> Change::OneOfNumbers(size_t& step) {
  constexpr double kValues[] = {-1, 0, 1, 2, -2, 0x1p62, -0x1p62};
  for (const NodeId n : nodes_) {
    constexpr size_t kOften = 8;  // with other shapes and numbers each time
    const std::vector<size_t> absent = AbsentInputs(n);
    if (const std::optional<bool> made = AddRows(n, step)) return made;
    if (!IsAmong(step, kOften * absent.size())) continue;
    // Of one axis there is no other order.
    if (step % kOften < 4) Deepen(step % 2 == 0);
    return AddInputAt(n, absent[step / kOften]);
  }
  constexpr size_t kDeepened = 4;  // with other numbers each time
  if (IsAmong(step, 2 * kDeepened)) return Deepen(step % 2 == 0);
  if (const std::optional<bool> made = LeaveOutAxis(step)) return made;
  for (const ValueId v : Indexes()) {
    const auto count = static_cast<size_t>(graph_.constant(v)->size());
    if (!IsAmong(step, count * std::size(kValues))) continue;
    double value = kValues[step % std::size(kValues)];
    // Sums beyond 32 bits have no result.
    if (graph_.constant(v)->dtype() == DType::kInt32) value = std::clamp(value, -0x1p29, 0x1p29);
    return SetElement(v, step / std::size(kValues), value);
  }
  // Axes, sizes, pads in another order.
  for (const ValueId v : Indexes()) {
    if (graph_.constant(v)->size() < 2 || !IsAmong(step, 1)) continue;
    std::optional<Numbers> numbers = Numbers::Of(*graph_.constant(v));
    if (!numbers) return false;
    std::ranges::reverse(numbers->values);
    return SetNumbers(v, *numbers);
  }
  if (const std::optional<bool> made = NumbersForEach(step)) return made;
  if (const std::optional<bool> made = OperandApart(step)) return made;
  // The third and fourth input are zero points, biases, axes: those of a quantizer and its dequantizer go
  // together.
  if (IsAmong(step, 2)) return DropEverywhere(step + 2);
  for (const NodeId n : nodes_) {
    for (size_t i = 1; i < graph_.num_inputs(n); ++i) {
      if (IsFixed(n) || !graph_.input(n, i).valid() || !IsAmong(step, 1)) continue;
      graph_.SetInput(n, i, ValueId());
      return true;
    }
  }
  return std::nullopt;
}

// Of which there are many, each of use to few rules.
std::optional<bool> Change::OneOfMany(size_t& step) {
  if (const std::optional<bool> made = OpsetAtEdge(step)) return made;
  if (const std::optional<bool> made = OneSize(step)) return made;
  if (const std::optional<bool> made = PlacesOfMoreAxes(step)) return made;
  if (words_.keeps_numbers) {
    constexpr size_t kDeepened = 4;  // with another order of axes each time
    if (IsAmong(step, 2 * kDeepened)) return Deepen(step % 2 == 0);
  }
  if (const std::optional<bool> made = OneLonger(step)) return made;
  if (const std::optional<bool> made = OperatorAsked(step)) return made;
  // Outputs that nobody's test reads: the states of a recurrent layer.
  for (const NodeId n : nodes_) {
    const Signature* const s = SignatureOf(graph_, n, signatures_);
    if (s != nullptr && static_cast<int>(graph_.num_outputs(n)) < s->max_outputs &&
        IsAmong(step, 1))
      return AddOutputOf(n);
  }
  if (words_.keeps_numbers) {
    if (const std::optional<bool> made = FirstAgain(step)) return made;
    if (const std::optional<bool> made = Backwards(step)) return made;
    // Inputs are made to fit the quantizers that read them, which what stands in front of them would hide.
    return OneAxisLess(step);
  }
  if (const std::optional<bool> made = InFront(step)) return made;
  if (const std::optional<bool> made = OperatorAsSeen(step)) return made;
  if (const std::optional<bool> made = NumberWithSize(step)) return made;
  if (const std::optional<bool> made = OperatorOfPattern(step, /*alike=*/true)) return made;
  if (const std::optional<bool> made = TwiceTheSame(step)) return made;
  if (const std::optional<bool> made = TwoLists(step)) return made;
  if (const std::optional<bool> made = TwoTypes(step)) return made;
  if (const std::optional<bool> made = ShorterList(step)) return made;
  if (const std::optional<bool> made = OppositeEnds(step)) return made;
  if (const std::optional<bool> made = FirstAgain(step)) return made;
  if (const std::optional<bool> made = Backwards(step)) return made;
  // Last of all: few rules look at the axes of weights.
  constexpr size_t kDeepened = 16;  // with other numbers each time
  const size_t rank = RankOfWeights();
  if (rank > 0 && IsAmong(step, kDeepened)) return Deepen(rank, step % 2 == 0);
  return OneAxisLess(step);
}

std::optional<bool> Change::One(size_t step) {
  // Where sizes are open nobody refuses a result for its shape: first of all (kOpenThings).
  if (IsAmong(step, 2)) return OpenAll(/*apart=*/step == 1);
  if (IsAmong(step, 1)) return ForgetRanks();
  if (IsAmong(step, 2)) return AddAxis(step == 1);
  if (const std::optional<bool> made = OneOfConstants(step)) return made;
  if (const std::optional<bool> made = OneOfNodes(step)) return made;
  if (IsAmong(step, 2)) return EnlargeAll(step == 0 ? 2 : 3);
  if (const std::optional<bool> made = OneOfShapes(step)) return made;
  const std::optional<bool> made =
      words_.keeps_numbers ? OneOfZeroPoints(step) : OneOfNumbers(step);
  return made ? made : OneOfMany(step);
}

}  // namespace qrewrite
