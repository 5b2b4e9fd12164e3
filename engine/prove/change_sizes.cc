// Sizes of a graph that is varied: places that share one, all of them open, one axis more everywhere.
#include <algorithm>
#include <charconv>
#include <numeric>
#include <string>

#include "engine/base/function_ref.h"
#include "engine/ops/node_signature.h"
#include "engine/prove/change.h"

namespace qrewrite {
namespace {

constexpr size_t kMostPlaces = 12;  // of which pairs are tried
constexpr std::string_view kOpen = "size";

// One more entry where a list has one for each axis, or for each axis but batch and channel; two where it has one
// for each end. `value` makes it of the one that stands beside it. False: the list has none of these lengths.
bool LengthenFor(std::vector<int64_t>& list, size_t rank, bool behind, Dice& dice,
                 FunctionRef<int64_t(int64_t)> value) {
  std::vector<int64_t> order(list.size());
  std::iota(order.begin(), order.end(), 0);
  if (list.size() == rank && std::ranges::is_permutation(list, order)) {  // an order of axes
    if (!behind) {
      for (int64_t& axis : list) ++axis;
    }
    // Where the new axis stays, an order that is undone by itself remains one: now and then it goes elsewhere.
    const size_t stays = behind ? rank : 0, at = dice.Once(2) ? stays : dice.Below(rank + 1);
    list.insert(list.begin() + static_cast<ptrdiff_t>(at), static_cast<int64_t>(stays));
    return true;
  }
  const bool of_places = rank > 2 && behind;
  const bool once = list.size() == rank || (of_places && list.size() == rank - 2);
  const bool twice = list.size() == 2 * rank || (of_places && list.size() == 2 * (rank - 2));
  if (list.empty() || (!once && !twice)) return false;
  const auto half = static_cast<ptrdiff_t>(once ? list.size() : list.size() / 2);
  const int64_t first = behind ? list[static_cast<size_t>(half) - 1] : list.front();
  if (twice) {
    const int64_t second = behind ? list.back() : list[static_cast<size_t>(half)];
    list.insert(behind ? list.end() : list.begin() + half, value(second));
  }
  list.insert(behind ? list.begin() + half : list.begin(), value(first));
  return true;
}

}  // namespace

// Sizes that show most: one, two that differ, and none at all now and then.
int64_t RandomSize(Dice& dice) {
  constexpr int64_t kSizes[] = {1, 1, 2, 2, 3, 3, 4, 5, 6, 0};
  return kSizes[dice.Below(std::size(kSizes))];
}

bool IsAmong(size_t& step, size_t count) {
  if (step < count) return true;
  step -= count;
  return false;
}

std::vector<Change::SizePlace> Change::SizePlaces() const {
  std::vector<SizePlace> places;
  for (const ValueId v : inputs_) {
    const auto& dims = graph_.declared(v).dims;
    for (size_t i = 0; i < dims.size(); ++i) {
      if (dims[i].known()) places.push_back({v, i, dims[i].size()});
    }
  }
  for (const ValueId v : constants_) {
    const Dims& dims = graph_.constant(v)->dims();
    for (size_t i = 0; i < dims.size(); ++i) places.push_back({v, i, dims[i]});
  }
  return places;
}

void Change::SetSize(const SizePlace& place, int64_t to) {
  if (graph_.constant(place.value) == nullptr) {
    TypeInfo type = graph_.declared(place.value);
    type.dims[place.axis] = Dim(to);
    graph_.SetDeclared(place.value, type);
    return;
  }
  std::optional<Numbers> numbers = Numbers::Of(*graph_.constant(place.value));
  if (!numbers || !MayResize(*numbers)) return;
  Dims dims = numbers->dims;
  // A graph input with a value of its own may be declared with more axes.
  if (place.axis >= dims.size()) return;
  dims[place.axis] = to;
  numbers->Resize(dims, dice_, !words_.keeps_numbers);
  const Tensor resized = numbers->ToTensor();
  if (resized.valid()) graph_.SetConstant(place.value, resized);
}

// One to three of the places that have a size: the channels of an input and of the weights that read it.
bool Change::SizeAtSome() {
  std::vector<SizePlace> places = SizePlaces();
  if (places.empty()) return false;
  const int64_t from = dice_.Of(places).size, to = dice_.Once(4) ? from * 2 : RandomSize(dice_);
  std::erase_if(places, [&](const SizePlace& p) { return p.size != from; });
  const int64_t times = dice_.Integer(1, 3);
  for (int64_t i = 0; i < times && !places.empty(); ++i) {
    const size_t at = dice_.Below(places.size());
    SetSize(places[at], to);
    places.erase(places.begin() + static_cast<ptrdiff_t>(at));
  }
  return from != to;
}

// Two places of one size get one that stands elsewhere, or another: outputs as many as inputs, axes that look
// alike. Mostly they belong together, and what may not be changed alone may be so with the other.
std::optional<bool> Change::SizesOfPair(size_t& step) {
  const std::vector<SizePlace> places = SizePlaces();
  if (places.size() > kMostPlaces) return std::nullopt;
  for (size_t i = 0; i < places.size(); ++i) {
    for (size_t j = i + 1; j < places.size(); ++j) {
      if (places[i].size != places[j].size || !IsAmong(step, 2)) continue;
      std::vector<int64_t> sizes = {2, 3};
      for (const SizePlace& p : places) {
        if (p.size > 1 && p.size < 9) sizes.insert(sizes.begin(), p.size);
      }
      std::erase(sizes, places[i].size);
      const int64_t to = step == 0 ? sizes.front() : sizes.back();
      SetSize(places[i], to);
      SetSize(places[j], to);
      return true;
    }
  }
  return std::nullopt;
}

std::string Change::OpenName(int64_t size, size_t number) {
  return std::string(kOpen) + std::to_string(size) +
         (number == 0 ? "" : "_" + std::to_string(number));
}

// Nobody refuses a result for its shape then. The names say which sizes are to be tried (SizeOfOpen).
bool Change::OpenAll(bool apart) {
  size_t number = 0;
  bool any = false;
  for (const ValueId v : inputs_) {
    TypeInfo type = graph_.declared(v);
    for (Dim& dim : type.dims) {
      // Whether there is nothing at all is asked of what is known: rules take an open size for one.
      if (!dim.known() || dim.size() == 0) continue;
      dim = graph_.SymbolDim(OpenName(dim.size(), apart ? ++number : 0));
      any = true;
    }
    graph_.SetDeclared(v, type);
  }
  return any;
}

bool Change::OpenAllBut(ValueId kept) {
  const TypeInfo type = graph_.declared(kept);
  const bool any = OpenAll(/*apart=*/false);
  graph_.SetDeclared(kept, type);
  return any;
}

std::optional<bool> Change::SizesAlike(size_t& step) {
  constexpr size_t kMostSizes = 6;
  std::vector<int64_t> sizes;
  for (const int64_t size : SizesUsed()) {
    if (size > 0 && size < 9 && sizes.size() < kMostSizes) sizes.push_back(size);
  }
  std::vector<int64_t> others = sizes;
  others.push_back(0);
  for (const int64_t from : sizes) {
    for (const int64_t to : others) {
      if (from == to || !IsAmong(step, 1)) continue;
      Resize(from, to);
      return true;
    }
  }
  return std::nullopt;
}

namespace {

// A place among axes, or how many of them come first.
bool NamesAxis(std::string_view attribute, AttrKind kind) {
  if (kind == AttrKind::kInts) return attribute == "axes";
  return kind == AttrKind::kInt &&
         (attribute == "axis" || attribute.ends_with("_axis") || attribute == "batch_dims");
}

}  // namespace

std::optional<bool> Change::AxisWhereAlike(size_t& step) {
  constexpr int64_t kSize = 2;
  constexpr int64_t kAxes[] = {0, 1, 2, -1};
  for (const AttributePlace& place : AttributePlaces(/*of_definitions=*/true)) {
    if (!NamesAxis(place.name, place.kind)) continue;
    const size_t count = std::size(kAxes) + (place.written ? 1 : 0);
    // A matrix of one column has no other axis: then what is 1 is as long as the others.
    if (!IsAmong(step, 2 * count)) continue;
    const bool ones = step >= count;
    const size_t way = step % count;
    for (const int64_t size : SizesUsed()) {
      if (size > 1 || (ones && size == 1)) Resize(size, kSize);
    }
    if (way == std::size(kAxes))
      graph_.EraseAttribute(place.node, place.name);
    else if (place.kind == AttrKind::kInts)
      graph_.SetAttribute(place.node, place.name, std::vector<int64_t>{kAxes[way]});
    else
      graph_.SetAttribute(place.node, place.name, kAxes[way]);
    return true;
  }
  return std::nullopt;
}

// Of two axes each order is undone by itself.
std::optional<bool> Change::ThreeAxesTurned(size_t& step) {
  constexpr int64_t kRank = 3, kSize = 2;
  static const std::vector<int64_t> kOrders[] = {{1, 2, 0}, {2, 0, 1}};
  for (const NodeId n : nodes_) {
    const Signature* const s = SignatureOf(graph_, n, signatures_);
    if (s == nullptr || s->FindAttribute("perm") == nullptr || IsFixed(n)) continue;
    if (!IsAmong(step, std::size(kOrders) * kRank)) continue;
    const auto rank = [&] { return Ranks().empty() ? 0 : *Ranks().rbegin(); };
    for (int64_t more = rank(); more < kRank; ++more) {
      if (!Deepen(static_cast<size_t>(rank()), /*behind=*/true)) return false;
    }
    for (const int64_t size : SizesUsed()) {
      if (size > 1) Resize(size, kSize);
    }
    graph_.SetAttribute(n, "perm", kOrders[step % std::size(kOrders)]);
    const auto axis = static_cast<int64_t>(step / std::size(kOrders));
    for (const AttributePlace& place : AttributePlaces(/*of_definitions=*/true)) {
      if (place.kind == AttrKind::kInt && NamesAxis(place.name, place.kind))
        graph_.SetAttribute(place.node, place.name, axis);
    }
    return true;
  }
  return std::nullopt;
}

std::optional<bool> Change::OneSize(size_t& step) {
  const std::vector<SizePlace> places = SizePlaces();
  for (size_t i = 0; i < std::min(places.size(), kMostPlaces); ++i) {
    if (places[i].size < 2 || !IsAmong(step, 2)) continue;
    SetSize(places[i], 1);
    return step == 0 || OpenAll(/*apart=*/false);
  }
  return std::nullopt;
}

std::optional<bool> Change::OneLonger(size_t& step) {
  constexpr int64_t kMore = 2;
  const std::vector<SizePlace> places = SizePlaces();
  for (size_t i = 0; i < std::min(places.size(), kMostPlaces); ++i) {
    if (places[i].size < 1 || !IsAmong(step, 1)) continue;
    SetSize(places[i], places[i].size + kMore);
    return true;
  }
  return std::nullopt;
}

std::optional<bool> Change::OneAxisLess(size_t& step) {
  constexpr size_t kMostValues = 6;
  size_t count = 0;
  const auto cut = [&](auto dims) {
    dims.erase(step == 0 ? dims.begin() : dims.end() - 1);
    return dims;
  };
  for (const ValueId v : inputs_) {
    TypeInfo type = graph_.declared(v);
    if (type.dims.size() < 2 || ++count > kMostValues || !IsAmong(step, 2)) continue;
    type.dims = cut(type.dims);
    graph_.SetDeclared(v, type);
    return true;
  }
  for (const ValueId v : constants_) {
    if (graph_.constant(v)->dims().size() < 2 || ++count > kMostValues || !IsAmong(step, 2))
      continue;
    std::optional<Numbers> numbers = Numbers::Of(*graph_.constant(v));
    if (!numbers || !MayResize(*numbers)) return false;
    numbers->Resize(cut(numbers->dims), dice_, !words_.keeps_numbers);
    const Tensor tensor = numbers->ToTensor();
    if (tensor.valid()) graph_.SetConstant(v, tensor);
    return tensor.valid();
  }
  return std::nullopt;
}

bool Change::MakeSquare() {
  constexpr int64_t kSize = 2;
  const std::set<int64_t> sizes = SizesUsed();
  for (const int64_t size : sizes) {
    if (size > 1 && size != kSize) Resize(size, kSize);
  }
  return !sizes.empty();
}

std::optional<bool> Change::NumberWithSize(size_t& step) {
  constexpr int64_t kMostNumber = 32, kMostSize = 64;
  constexpr size_t kMostNumbers = 8;
  std::vector<SizePlace> sizes = SizePlaces();
  std::erase_if(sizes, [&](const SizePlace& p) {
    return graph_.constant(p.value) == nullptr || p.size < 1 || p.size > kMostSize;
  });
  if (sizes.size() > kMostPlaces) sizes.resize(kMostPlaces);
  size_t count = 0;
  for (const AttributePlace& place : AttributePlaces()) {
    const auto* const number = std::get_if<int64_t>(&place.value);
    if (number == nullptr || *number < 1 || *number > kMostNumber || NamesType(place.name) ||
        IsFixed(place.node) || ++count > kMostNumbers)
      continue;
    for (const SizePlace& size : sizes) {
      if (!IsAmong(step, 2)) continue;
      if (step == 1 && size.size % 2 != 0) return false;
      graph_.SetAttribute(place.node, place.name, 2 * *number);
      SetSize(size, step == 0 ? 2 * size.size : size.size / 2);
      return true;
    }
  }
  return std::nullopt;
}

bool Change::EnlargeAll(int64_t times) {
  constexpr int64_t kMostSize = 16;
  bool any = false;
  const std::set<int64_t> sizes = SizesUsed();
  // The largest first: what one becomes may be another one.
  for (auto it = sizes.rbegin(); it != sizes.rend(); ++it) {
    const int64_t size = *it;
    if (size < 2 || size > kMostSize) continue;
    Resize(size, times * size);
    any = true;
  }
  return any;
}

bool Change::ForgetRanks() {
  bool any = false;
  for (const ValueId v : inputs_) any |= ForgetRank(v);
  return any;
}

std::optional<int64_t> SizeOfOpen(std::string_view symbol) {
  if (!symbol.starts_with(kOpen)) return std::nullopt;
  symbol.remove_prefix(kOpen.size());
  int64_t size = 0;
  if (std::from_chars(symbol.data(), symbol.data() + symbol.size(), size).ec != std::errc())
    return std::nullopt;
  return size;
}

std::optional<bool> Change::LeaveOutAxis(size_t& step) {
  const std::vector<ValueId> indexes = Indexes();
  for (const NodeId n : nodes_) {
    std::vector<ValueId> lists;
    int64_t axes = INT64_MAX;  // the shortest list has one entry for each
    for (size_t i = 1; i < graph_.num_inputs(n); ++i) {
      const ValueId v = graph_.input(n, i);
      if (!v.valid() || std::ranges::find(indexes, v) == indexes.end()) continue;
      if (graph_.constant(v)->dims().size() != 1) continue;
      lists.push_back(v);
      axes = std::min(axes, graph_.constant(v)->size());
    }
    if (lists.size() < 2 || axes < 2 || !IsAmong(step, static_cast<size_t>(axes))) continue;
    bool any = false;
    for (const ValueId v : lists) {
      std::optional<Numbers> numbers = Numbers::Of(*graph_.constant(v));
      const auto count = numbers ? std::ssize(numbers->values) : 0;
      if (count != axes && count != 2 * axes) continue;
      const auto at = static_cast<ptrdiff_t>(step);
      if (count == 2 * axes) numbers->values.erase(numbers->values.begin() + axes + at);
      numbers->values.erase(numbers->values.begin() + at);
      numbers->dims = {std::ssize(numbers->values)};
      const Tensor tensor = numbers->ToTensor();
      if (tensor.valid()) graph_.SetConstant(v, tensor);
      any |= tensor.valid();
    }
    return any;
  }
  return std::nullopt;
}

size_t Change::RankOfInputs() const {
  size_t rank = 0;
  for (const ValueId v : inputs_) rank = std::max(rank, graph_.declared(v).dims.size());
  return rank;
}

size_t Change::RankOfWeights() const {
  size_t rank = 0;
  for (const ValueId v : constants_) rank = std::max(rank, graph_.constant(v)->dims().size());
  return rank > 1 && rank != RankOfInputs() ? rank : 0;
}

bool Change::Deepen(size_t rank, bool behind) {
  const NewAxis axis = {
      .size_of_input = [&](int64_t) { return dice_.Integer(2, 3); },
      .size_of_constant = [&](int64_t) { return dice_.Once(2) ? 1 : 2; },
      .entry = [&](int64_t) { return dice_.Once(2) ? int64_t{1} : dice_.Integer(0, 2); }};
  if (!AddAxisWith(rank, behind, axis)) return false;
  // All axes the other way round are undone by themselves.
  for (const NodeId n : nodes_) {
    const Signature* const s = SignatureOf(graph_, n, signatures_);
    const bool turns = s != nullptr && s->FindAttribute("perm") != nullptr && !IsFixed(n);
    if (!turns || !graph_.attributes(n).empty() || dice_.Once(2)) continue;
    std::vector<int64_t> turned(rank);
    std::iota(turned.rbegin(), turned.rend(), 0);
    if (LengthenFor(turned, rank, behind, dice_, axis.entry))
      graph_.SetAttribute(n, "perm", std::move(turned));
  }
  return true;
}

bool Change::AddAxisWith(size_t rank, bool behind, const NewAxis& axis) {
  if (rank == 0) return false;
  for (const ValueId v : inputs_) {
    TypeInfo type = graph_.declared(v);
    if (type.dims.size() != rank) continue;
    const Dim beside = behind ? type.dims.back() : type.dims.front();
    type.dims.insert(behind ? type.dims.end() : type.dims.begin(),
                     Dim(axis.size_of_input(beside.known() ? beside.size() : 1)));
    graph_.SetDeclared(v, type);
  }
  for (const ValueId v : constants_) {
    std::optional<Numbers> numbers = Numbers::Of(*graph_.constant(v));
    if (!numbers || !MayResize(*numbers)) continue;
    const bool counts = IsInteger(numbers->dtype) && Info(numbers->dtype).bits >= 32;
    std::vector<int64_t> list(numbers->values.begin(), numbers->values.end());
    if (counts && numbers->dims.size() == 1 && LengthenFor(list, rank, behind, dice_, axis.entry)) {
      numbers->values.assign(list.begin(), list.end());
      numbers->dims = {std::ssize(list)};
    } else if (numbers->dims.size() == rank) {
      Dims dims = numbers->dims;
      dims.insert(behind ? dims.end() : dims.begin(),
                  axis.size_of_constant(behind ? dims.back() : dims.front()));
      numbers->Resize(dims, dice_, !words_.keeps_numbers);
    } else {
      continue;
    }
    if (const Tensor tensor = numbers->ToTensor(); tensor.valid()) graph_.SetConstant(v, tensor);
  }
  for (const NodeId n : nodes_) {
    const Attributes attributes = graph_.attributes(n);
    for (const Attribute& a : attributes) {
      const auto* const old = std::get_if<std::vector<int64_t>>(&a.value);
      if (old == nullptr) continue;
      std::vector<int64_t> list = *old;
      if (LengthenFor(list, rank, behind, dice_, axis.entry))
        graph_.SetAttribute(n, a.name, std::move(list));
    }
  }
  return true;
}

std::optional<bool> Change::PlacesOfMoreAxes(size_t& step) {
  constexpr size_t kMostRank = 5;
  const size_t rank = RankOfInputs();
  const auto has_windows = [&](NodeId n) {
    const Signature* const s = SignatureOf(graph_, n, signatures_);
    return s != nullptr && s->FindAttribute("kernel_shape") != nullptr && !IsFixed(n);
  };
  if (rank < 3 || rank >= kMostRank || std::ranges::none_of(nodes_, has_windows))
    return std::nullopt;
  if (!IsAmong(step, 2 * (kMostRank - rank))) return std::nullopt;
  const int64_t more = static_cast<int64_t>(step % 2);
  const NewAxis axis = {.size_of_input = [&](int64_t size) { return size + 2 * more; },
                        .size_of_constant = [&](int64_t size) { return size + more; },
                        .entry = [&](int64_t entry) { return entry + more; }};
  for (size_t times = 0; times <= step / 2; ++times) AddAxisWith(rank + times, true, axis);
  return true;
}

}  // namespace qrewrite
