// Constants, element types and shapes of a graph that is varied.
#include <algorithm>
#include <climits>
#include <cmath>

#include "engine/graph/tensor_type.h"
#include "engine/prove/change.h"

namespace qrewrite {
// --- constants

bool Change::ConstantNumbers() {
  if (constants_.empty()) return false;
  const ValueId v = dice_.Of(constants_);
  std::optional<Numbers> numbers = Numbers::Of(*graph_.constant(v));
  if (!numbers) return false;
  const bool stays_whole = words_.keeps_whole && numbers->AreWhole();
  if (!numbers->Disturb(dice_)) return false;
  if (stays_whole) numbers->MakeWhole();
  return SetNumbers(v, *numbers);
}

bool Change::SetNumbers(ValueId v, const Numbers& numbers) {
  const Tensor tensor = numbers.ToTensor();
  if (!tensor.valid()) return false;
  const std::vector<ValueId> all = dice_.Once(3) ? EqualOnes(v) : std::vector{v};
  for (const ValueId c : all) graph_.SetConstant(c, tensor);
  return true;
}

std::vector<ValueId> Change::EqualOnes(ValueId v) const {
  const Tensor& tensor = *graph_.constant(v);
  std::vector<ValueId> found;
  for (const ValueId c : constants_) {
    if (c == v || Equal(AttrValue(*graph_.constant(c)), AttrValue(tensor))) found.push_back(c);
  }
  return found;
}

std::optional<bool> Change::NumbersForEach(size_t& step) {
  constexpr int64_t kMostSize = 8;
  std::set<ValueId> seen;
  for (const ValueId v : constants_) {
    if (graph_.constant(v)->size() != 1 || seen.contains(v)) continue;
    const std::vector<ValueId> all = EqualOnes(v);
    seen.insert(all.begin(), all.end());
    if (all.size() < 2 && graph_.num_uses(v) < 2) continue;
    for (const int64_t size : SizesUsed()) {
      if (size < 2 || size > kMostSize || !IsAmong(step, 1)) continue;
      std::optional<Numbers> numbers = Numbers::Of(*graph_.constant(v));
      if (!numbers) return false;
      numbers->Resize({size}, dice_);
      const Tensor tensor = numbers->ToTensor();
      for (const ValueId c : all) {
        if (tensor.valid()) graph_.SetConstant(c, tensor);
      }
      return tensor.valid();
    }
  }
  return std::nullopt;
}

// The numbers of one constant with the other sign.
std::optional<bool> Change::SignOf(size_t& step) {
  for (const ValueId v : constants_) {
    std::optional<Numbers> numbers = Numbers::Of(*graph_.constant(v));
    if (!numbers || !IsFloat(numbers->dtype) || !IsAmong(step, 1)) continue;
    for (double& x : numbers->values) x = -x;
    const Tensor tensor = numbers->ToTensor();
    if (tensor.valid()) graph_.SetConstant(v, tensor);
    return tensor.valid();
  }
  return std::nullopt;
}

// Constants of small numbers that are 0, and are not: a zero point that is none, a step of 0. Equal ones stay equal.
std::optional<bool> Change::ZeroOrNot(size_t& step) {
  constexpr double kNotZero = 3;
  std::set<ValueId> seen;
  for (const ValueId v : constants_) {
    const DType dtype = graph_.constant(v)->dtype();
    const bool wide = IsInteger(dtype) && Info(dtype).bits >= 32;  // axes, sizes
    if (wide || (!IsInteger(dtype) && !IsFloat(dtype)) || seen.contains(v)) continue;
    const std::vector<ValueId> all = EqualOnes(v);
    seen.insert(all.begin(), all.end());
    std::optional<Numbers> numbers = Numbers::Of(*graph_.constant(v));
    if (!numbers || numbers->values.empty() || !IsAmong(step, 1)) continue;
    const bool zero = std::ranges::all_of(numbers->values, [](double x) { return x == 0; });
    std::ranges::fill(numbers->values, zero ? kNotZero : 0);
    const Tensor tensor = numbers->ToTensor();
    for (const ValueId c : all) {
      if (tensor.valid()) graph_.SetConstant(c, tensor);
    }
    return tensor.valid();
  }
  return std::nullopt;
}

// Constants of floats, equal ones together, are nearly as large as a bound of the rule beyond which what 8 bits count in such steps is
// infinite.
std::optional<bool> Change::NearLargeLimit(size_t& step) {
  constexpr double kNearly = 0.99;
  std::set<ValueId> seen;
  for (const ValueId v : constants_) {
    std::optional<Numbers> numbers = Numbers::Of(*graph_.constant(v));
    if (!numbers || numbers->values.empty() || seen.contains(v)) continue;
    const std::vector<ValueId> all = EqualOnes(v);
    seen.insert(all.begin(), all.end());
    for (const double limit : words_.limits) {
      if (!EndsBeyond(numbers->dtype, std::fabs(limit)) || !IsAmong(step, 1)) continue;
      std::ranges::fill(numbers->values, kNearly * limit);
      const Tensor tensor = numbers->ToTensor();
      for (const ValueId c : all) {
        if (tensor.valid()) graph_.SetConstant(c, tensor);
      }
      return tensor.valid();
    }
  }
  return std::nullopt;
}

// Signs, zeros, and data where a graph has none. Where constants keep their numbers: where zero points lie.
std::optional<bool> Change::OneOfConstants(size_t& step) {
  if (words_.keeps_numbers) {
    if (const std::optional<bool> made = EndsAndMiddle(step)) return made;
    return OtherSignedness(step);
  }
  if (const std::optional<bool> made = SignOf(step)) return made;
  if (const std::optional<bool> made = ZeroOrNot(step)) return made;
  if (const std::optional<bool> made = NearLargeLimit(step)) return made;
  if (const std::optional<bool> made = LargeSums(step)) return made;
  if (!inputs_.empty() || !IsAmong(step, constants_.size())) return std::nullopt;
  return ToInput(constants_[step]);
}

// Attributes that are a number of a constant, of a step say, stay equal to it.
bool Change::ShakeEqualAttributes(const std::set<double>& numbers, uint64_t base) {
  bool any = false;
  for (const NodeId n : nodes_) {
    if (HasFixedAttributes(n)) continue;
    const Attributes attributes = graph_.attributes(n);
    for (const Attribute& a : attributes) {
      const auto* const number = std::get_if<float>(&a.value);
      if (number == nullptr || !numbers.contains(*number)) continue;
      Numbers shaken{.dtype = DType::kFloat, .dims = {}, .values = {*number}};
      if (!shaken.Shake(base, words_.keeps_whole)) continue;
      graph_.SetAttribute(n, a.name, static_cast<float>(shaken.values.front()));
      any = true;
    }
  }
  return any;
}

// Every constant gets other numbers of its kind, all of them different: nothing is then equal by chance. Equal
// constants stay equal, signs stay, sizes and axes too.
bool Change::AllNumbers() {
  const auto base = static_cast<uint64_t>(dice_.Integer(0, INT64_MAX));
  bool any = false;
  std::set<double> alone;  // constants of FLOAT that are one number
  for (const ValueId v : constants_) {
    const Tensor& tensor = *graph_.constant(v);
    std::optional<Numbers> numbers = Numbers::Of(tensor);
    if (!numbers) continue;
    if (numbers->dtype == DType::kFloat && numbers->values.size() == 1)
      alone.insert(numbers->values.front());
    if (!numbers->Shake(base, words_.keeps_whole)) continue;
    const Tensor shaken = numbers->ToTensor();
    if (!shaken.valid()) continue;
    graph_.SetConstant(v, shaken);
    any = true;
  }
  return ShakeEqualAttributes(alone, base) || any;
}

std::vector<ValueId> Change::Companions(ValueId v) const {
  std::set<ValueId> found = {v};
  const Dims& dims = graph_.constant(v)->dims();
  for (const UseId u : graph_.uses(v)) {
    const NodeId n = graph_.user(u).node;
    for (size_t i = 0; n.valid() && i < graph_.num_inputs(n); ++i) {
      const ValueId other = graph_.input(n, i);
      if (!other.valid() || graph_.constant(other) == nullptr) continue;
      if (graph_.constant(other)->dims() == dims) found.insert(other);
    }
  }
  return {found.begin(), found.end()};
}

bool Change::ConstantShape() {
  if (constants_.empty()) return false;
  const ValueId v = dice_.Of(constants_);
  Dims dims = graph_.constant(v)->dims();
  const int64_t count = graph_.constant(v)->size();
  // A size that occurs elsewhere is the most likely to be accepted.
  std::vector<int64_t> sizes = {1, 2, 3};
  for (const ValueId c : constants_) {
    sizes.insert(sizes.end(), graph_.constant(c)->dims().begin(), graph_.constant(c)->dims().end());
  }
  switch (dice_.Integer(0, 6)) {
    case 0: dims.insert(dims.begin(), 1); break;
    case 1: dims.push_back(1); break;
    case 2: dims = count == 1 && dims.empty() ? Dims{1} : Dims{}; break;
    case 3: dims = {dice_.Of(sizes)}; break;
    case 4:
      if (dims.empty()) return false;
      dims[dice_.Below(dims.size())] = RandomSize(dice_);
      break;
    case 5:
      if (dims.empty()) return false;
      dims.erase(dims.begin() + static_cast<ptrdiff_t>(dice_.Below(dims.size())));
      break;
    default:
      if (dims.size() < 2) return false;
      std::swap(dims.front(), dims.back());
  }
  const std::vector<ValueId> all = dice_.Once(4)   ? std::vector{v}
                                   : dice_.Once(3) ? EqualOnes(v)
                                                   : Companions(v);
  for (const ValueId c : all) {
    std::optional<Numbers> numbers = Numbers::Of(*graph_.constant(c));
    if (!numbers || !MayResize(*numbers)) return false;
    numbers->Resize(dims, dice_, !words_.keeps_numbers);
    const Tensor tensor = numbers->ToTensor();
    if (!tensor.valid()) return false;
    graph_.SetConstant(c, tensor);
  }
  return true;
}

bool Change::ConstantToInput() { return !constants_.empty() && ToInput(dice_.Of(constants_)); }

bool Change::ToInput(ValueId v) {
  if (!IsMain(v) || graph_.IsInput(v)) return false;
  const std::string_view name = graph_.FreshName(graph_.name(v).empty() ? "c" : graph_.name(v));
  const ValueId input = graph_.AddValue(graph_.main(), name);
  graph_.SetDeclared(input, TypeOfTensor(*graph_.constant(v)));
  graph_.AddInput(graph_.main(), input);
  graph_.ReplaceUses(v, input);
  return true;
}

bool Change::Overridable() {
  if (constants_.empty()) return false;
  const ValueId v = dice_.Of(constants_);
  if (!IsMain(v) || graph_.IsInput(v)) return false;
  graph_.SetDeclared(v, TypeOfTensor(*graph_.constant(v)));
  graph_.AddInput(graph_.main(), v);
  return true;
}

bool Change::ConstantToNode() {
  if (constants_.empty()) return false;
  const ValueId v = dice_.Of(constants_);
  if (!IsMain(v) || graph_.IsInput(v)) return false;
  const ValueId made = graph_.AddValue(graph_.main(), graph_.FreshName("k"));
  const Tensor tensor = *graph_.constant(v);
  graph_.ReplaceUses(v, made);
  graph_.AddNode(graph_.main(), graph_.InternOp("", "Constant"), {}, std::vector{made},
                 {{"value", tensor}}, "");
  return true;
}

// --- types

void Change::SetType(ValueId v, DType dtype) {
  if (const Tensor* tensor = graph_.constant(v)) {
    std::optional<Numbers> numbers = Numbers::Of(*tensor);
    if (!numbers) return;
    numbers->dtype = dtype;
    const Tensor cast = numbers->ToTensor();
    const std::optional<Numbers> got = cast.valid() ? Numbers::Of(cast) : std::nullopt;
    // A zero point that saturates is another one.
    if (!got || (words_.keeps_numbers && got->values != numbers->values)) return;
    graph_.SetConstant(v, cast);
  }
  TypeInfo type = graph_.declared(v);
  if (type.dtype == DType::kUndefined) return;
  // Integers of other bits are smaller or larger data than the quantizers were made for.
  const bool other =
      IsInteger(dtype) && IsInteger(type.dtype) && Info(dtype).bits != Info(type.dtype).bits;
  if (words_.keeps_numbers && other) return;
  type.dtype = dtype;
  graph_.SetDeclared(v, type);
}

void Change::ChangeType(DType from, DType to, bool everywhere, const std::set<ValueId>& here) {
  const auto change = [&](ValueId v) {
    if (!everywhere && !here.contains(v)) return;
    const DType has =
        graph_.constant(v) != nullptr ? graph_.constant(v)->dtype() : graph_.declared(v).dtype;
    if (has == from) SetType(v, to);
  };
  for (const ValueId v : inputs_) change(v);
  for (const ValueId v : constants_) change(v);
  if (!everywhere) return;
  // Attributes that name the type: `to` of a Cast.
  for (const NodeId n : nodes_) {
    const Attributes attributes = graph_.attributes(n);
    for (const Attribute& a : attributes) {
      const auto* number = std::get_if<int64_t>(&a.value);
      if (number != nullptr && NamesType(a.name) && *number == static_cast<int64_t>(from)) {
        graph_.SetAttribute(n, a.name, static_cast<int64_t>(to));
      }
    }
  }
}

// One that the rule names, or one like it.
DType Change::AnotherType(DType from) {
  if (!words_.dtypes.empty() && dice_.Once(3)) return dice_.Of(words_.dtypes);
  return SimilarType(from, dice_);
}

bool Change::TypeEverywhere() {
  std::set<DType> used;
  for (const ValueId v : inputs_) used.insert(graph_.declared(v).dtype);
  for (const ValueId v : constants_) used.insert(graph_.constant(v)->dtype());
  const std::vector<DType> types(used.begin(), used.end());
  if (types.empty()) return false;
  const DType from = dice_.Of(types);
  const DType to = AnotherType(from);
  if (to == from) return false;
  ChangeType(from, to, /*everywhere=*/true, {});
  return true;
}

bool Change::TypeHere() {
  // The inputs of a node that have one type: the integers of a quantizer and its zero point.
  if (nodes_.empty()) return false;
  const NodeId n = dice_.Of(nodes_);
  std::set<ValueId> here;
  DType from = DType::kUndefined;
  for (size_t i = 0; i < graph_.num_inputs(n); ++i) {
    const ValueId v = graph_.input(n, i);
    if (!v.valid() || graph_.producer(v).valid()) continue;
    const DType dtype =
        graph_.constant(v) != nullptr ? graph_.constant(v)->dtype() : graph_.declared(v).dtype;
    if (from == DType::kUndefined || dice_.Once(3)) from = dtype;
    here.insert(v);
  }
  if (here.empty() || from == DType::kUndefined) return false;
  if (dice_.Once(3)) here = {*here.begin()};
  const DType to = AnotherType(from);
  if (to == from) return false;
  ChangeType(from, to, /*everywhere=*/false, here);
  return true;
}

// --- shapes

void Change::Flatten(ValueId v) {
  std::optional<Numbers> numbers = Numbers::Of(*graph_.constant(v));
  if (!numbers || numbers->values.empty()) return;
  std::fill(numbers->values.begin(), numbers->values.end(), numbers->values.front());
  if (const Tensor tensor = numbers->ToTensor(); tensor.valid()) graph_.SetConstant(v, tensor);
}

void Change::Round(ValueId v) {
  std::optional<Numbers> numbers = Numbers::Of(*graph_.constant(v));
  if (!numbers) return;
  for (double& x : numbers->values) {
    if (x == 0 || !std::isfinite(x)) continue;
    const double unit = std::pow(10, std::floor(std::log10(std::fabs(x))));
    x = std::rint(x / unit) * unit;
  }
  if (const Tensor tensor = numbers->ToTensor(); tensor.valid()) graph_.SetConstant(v, tensor);
}

// What had no elements has no numbers to keep.
bool Change::MayResize(const Numbers& numbers) const {
  return !words_.keeps_numbers || !numbers.values.empty();
}

void Change::Resize(int64_t from, int64_t to) {
  for (const ValueId v : inputs_) {
    TypeInfo type = graph_.declared(v);
    for (Dim& d : type.dims) {
      if (d.known() && d.size() == from) d = Dim(to);
    }
    graph_.SetDeclared(v, type);
  }
  for (const ValueId v : constants_) {
    const Tensor& tensor = *graph_.constant(v);
    Dims dims = tensor.dims();
    if (std::find(dims.begin(), dims.end(), from) == dims.end()) continue;
    std::replace(dims.begin(), dims.end(), from, to);
    std::optional<Numbers> numbers = Numbers::Of(tensor);
    if (!numbers || !MayResize(*numbers)) continue;
    numbers->Resize(dims, dice_, !words_.keeps_numbers);
    const Tensor resized = numbers->ToTensor();
    if (resized.valid()) graph_.SetConstant(v, resized);
  }
}

std::set<int64_t> Change::SizesUsed() const {
  std::set<int64_t> used;
  for (const ValueId v : inputs_) {
    for (const Dim d : graph_.declared(v).dims) {
      if (d.known()) used.insert(d.size());
    }
  }
  for (const ValueId v : constants_) {
    used.insert(graph_.constant(v)->dims().begin(), graph_.constant(v)->dims().end());
  }
  return used;
}

bool Change::SizeEverywhere() {
  const std::set<int64_t> used = SizesUsed();
  const std::vector<int64_t> sizes(used.begin(), used.end());
  if (sizes.empty()) return false;
  const int64_t from = dice_.Of(sizes), to = RandomSize(dice_);
  if (from == to) return false;
  Resize(from, to);
  return true;
}

bool Change::Square() {
  std::set<int64_t> used;
  for (const ValueId v : inputs_) {
    for (const Dim d : graph_.declared(v).dims) {
      if (d.known()) used.insert(d.size());
    }
  }
  const int64_t to = dice_.Integer(2, 4);
  for (const int64_t size : used) {
    if (size != 1 || dice_.Once(2)) Resize(size, to);
  }
  return !used.empty();
}

bool Change::InputShape() {
  if (inputs_.empty()) return false;
  const ValueId v = dice_.Of(inputs_);
  TypeInfo type = graph_.declared(v);
  if (!type.has_rank || !type.is_tensor) return false;
  const auto at = [&] {
    return type.dims.begin() + static_cast<ptrdiff_t>(dice_.Below(type.dims.size()));
  };
  const int64_t way = dice_.Integer(0, 5);
  if (way >= 2 && type.dims.empty()) return false;
  switch (way) {
    case 0: type.dims.insert(type.dims.begin(), Dim(RandomSize(dice_))); break;
    case 1: type.dims.emplace_back(RandomSize(dice_)); break;
    case 2: type.dims.erase(at()); break;
    case 3: *at() = graph_.SymbolDim(dice_.Once(2) ? "N" : "M"); break;
    case 4: *at() = Dim(); break;
    default: *at() = Dim(RandomSize(dice_));
  }
  graph_.SetDeclared(v, type);
  return true;
}

bool Change::InputToConstant() {
  if (inputs_.empty()) return false;
  const ValueId v = dice_.Of(inputs_);
  const TypeInfo type = graph_.declared(v);
  if (!type.known_shape() || !type.is_tensor) return false;
  Numbers numbers{.dtype = type.dtype, .dims = {}, .values = {1, 2, 3}};
  Dims dims;
  for (const Dim d : type.dims) dims.push_back(d.size());
  numbers.Resize(dims, dice_);
  for (double& x : numbers.values) x = static_cast<double>(dice_.Integer(0, 4));
  const Tensor tensor = numbers.ToTensor();
  if (!tensor.valid()) return false;
  const ValueId c = graph_.AddConstant(graph_.main(), graph_.FreshName("c"), tensor);
  graph_.ReplaceUses(v, c);
  graph_.RemoveInput(graph_.main(), v);
  return true;
}

}  // namespace qrewrite
