// Literals as tensors.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "engine/expr/parser.h"
#include "engine/text/tensor_text.h"

namespace qrewrite {
namespace {

constexpr int64_t kMaxElements = int64_t{1} << 24;  // of one tensor that a text asks for

std::string_view TypeName(DType dtype) { return Info(dtype).text_name; }

// Error: `item` cannot be an element of the type.
Tensor Misfit(const Expr& item, DType dtype, DiagnosticSink& sink) {
  sink.Error(item.place, "QR0313",
             fmt::format("`{}` does not fit {}", Print(item), TypeName(dtype)));
  return {};
}

Tensor Checked(Result<Tensor> tensor, const Place& place, DiagnosticSink& sink) {
  if (tensor.ok()) return *std::move(tensor);
  const auto& diagnostics = tensor.status().diagnostics();
  sink.Error(place, "QR0313", diagnostics.empty() ? "no such tensor" : diagnostics[0].message);
  return {};
}

Tensor MakeStrings(const Elements& elements, const Dims& dims, DiagnosticSink& sink) {
  std::vector<std::string> strings;
  for (const Expr* item : elements.items) {
    if (item->kind != Expr::Kind::kString) return Misfit(*item, DType::kString, sink);
    strings.push_back(item->text);
  }
  return Tensor::Strings(dims, std::move(strings));
}

Tensor MakeUint64(const Elements& elements, const Dims& dims, DiagnosticSink& sink) {
  std::vector<uint64_t> values;
  for (const Expr* item : elements.items) {
    const bool large = item->kind == Expr::Kind::kInt && !item->text.empty();
    if (item->kind != Expr::Kind::kInt || (item->int_value < 0 && !large)) {
      return Misfit(*item, DType::kUint64, sink);
    }
    values.push_back(static_cast<uint64_t>(item->int_value));
  }
  return Tensor::Of<uint64_t>(DType::kUint64, dims, values);
}

Tensor MakeIntegers(const Elements& elements, DType dtype, const Dims& dims, DiagnosticSink& sink) {
  const bool is_bool = dtype == DType::kBool;
  const int64_t low = is_bool ? 0 : IntMin(dtype);
  const int64_t high = is_bool ? 1 : IntMax(dtype);
  std::vector<int64_t> values;
  for (const Expr* item : elements.items) {
    int64_t value = 0;
    if (item->kind == Expr::Kind::kDType) {
      value = static_cast<int64_t>(item->dtype);
    } else if (item->kind == Expr::Kind::kInt || (is_bool && item->kind == Expr::Kind::kBool)) {
      value = item->int_value;
    } else {
      return Misfit(*item, dtype, sink);
    }
    if (!item->text.empty() || value < low || value > high) return Misfit(*item, dtype, sink);
    values.push_back(value);
  }
  return Checked(FromInt64s(dtype, dims, values), elements.items[0]->place, sink);
}

Tensor MakeFloats(const Elements& elements, DType dtype, const Dims& dims, DiagnosticSink& sink) {
  std::vector<double> values;
  for (const Expr* item : elements.items) {
    if (item->kind == Expr::Kind::kFloat) {
      values.push_back(item->float_value);
    } else if (item->kind == Expr::Kind::kInt) {
      values.push_back(item->text.empty()
                           ? static_cast<double>(item->int_value)
                           : static_cast<double>(static_cast<uint64_t>(item->int_value)));
    } else {
      return Misfit(*item, dtype, sink);
    }
  }
  const Tensor tensor = Checked(FromDoubles(dtype, dims, values), elements.items[0]->place, sink);
  if (!tensor.valid()) return tensor;
  // A finite number that became infinite (or not a number) was too large for the type.
  const Result<std::vector<double>> back = ToDoubles(tensor);
  for (size_t i = 0; back.ok() && i < values.size(); ++i) {
    if (std::isfinite(values[i]) && !std::isfinite((*back)[i])) {
      return Misfit(*elements.items[i], dtype, sink);
    }
  }
  return tensor;
}

Tensor Make(const Elements& elements, DType dtype, const Dims& dims, const Place& place,
            DiagnosticSink& sink) {
  if (dtype == DType::kString) return MakeStrings(elements, dims, sink);
  if (Info(dtype).kind == DTypeKind::kComplex) {
    sink.Error(place, "QR0313", fmt::format("{} has no literals", TypeName(dtype)));
    return {};
  }
  if (elements.items.empty()) {
    return Tensor::Own(dtype, dims, std::vector<std::byte>(PackedBytes(dtype, 0)));
  }
  if (dtype == DType::kUint64) return MakeUint64(elements, dims, sink);
  if (IsFloat(dtype)) return MakeFloats(elements, dtype, dims, sink);
  return MakeIntegers(elements, dtype, dims, sink);
}

uint64_t NextRandom(uint64_t& state) {  // splitmix64
  uint64_t z = (state += 0x9e3779b97f4a7c15ull);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

// Of a seed and a size. Never to be changed: rule files rest on what `random` gives.
uint64_t MixSize(uint64_t a, uint64_t b) {
  const uint64_t h =
      (a ^ (b + 0x9e3779b97f4a7c15ull + (a << 6) + (a >> 2))) * 0xff51afd7ed558ccdull;
  return h ^ (h >> 32);
}

// Floats are uniform in [-1, 1); integers over their type, wide ones within +-1000.
Result<Tensor> MakeRandom(DType dtype, const Dims& dims, uint64_t seed, int64_t count) {
  uint64_t state = seed;
  for (const int64_t dim : dims) state = MixSize(state, static_cast<uint64_t>(dim));
  if (IsFloat(dtype)) {
    std::vector<double> values(static_cast<size_t>(count));
    for (double& value : values) {
      value = static_cast<double>(NextRandom(state) >> 11) * 0x1p-52 - 1.0;
    }
    return FromDoubles(dtype, dims, values);
  }
  const bool is_bool = dtype == DType::kBool;
  const int64_t low = is_bool ? 0 : std::max<int64_t>(IntMin(dtype), -1000);
  const int64_t high = is_bool ? 1 : std::min<int64_t>(IntMax(dtype), 1000);
  std::vector<int64_t> values(static_cast<size_t>(count));
  for (int64_t& value : values) {
    value = low + static_cast<int64_t>(NextRandom(state) % static_cast<uint64_t>(high - low + 1));
  }
  return FromInt64s(dtype, dims, values);
}

Tensor MakeGenerated(const Expr& typed, int64_t count, DiagnosticSink& sink) {
  const DType dtype = typed.dtype;
  const DTypeKind kind = Info(dtype).kind;
  if (kind == DTypeKind::kString || kind == DTypeKind::kComplex) {
    sink.Error(typed.place, "QR0313",
               fmt::format("there is no `{}` of {}", typed.text, TypeName(dtype)));
    return {};
  }
  if (typed.text == "zeros") {
    std::vector<std::byte> bytes(PackedBytes(dtype, static_cast<uint64_t>(count)));
    return Tensor::Own(dtype, typed.details().dims, std::move(bytes));
  }
  if (typed.text == "random") {
    const auto seed = static_cast<uint64_t>(typed.int_value);
    return Checked(MakeRandom(dtype, typed.details().dims, seed, count), typed.place, sink);
  }
  const std::vector<double> doubles(IsFloat(dtype) ? static_cast<size_t>(count) : 0, 1.0);
  const std::vector<int64_t> integers(IsFloat(dtype) ? 0 : static_cast<size_t>(count), 1);
  return Checked(IsFloat(dtype) ? FromDoubles(dtype, typed.details().dims, doubles)
                                : FromInt64s(dtype, typed.details().dims, integers),
                 typed.place, sink);
}

bool Collect(const Expr& expr, size_t axis, Elements& elements, DiagnosticSink& sink) {
  if (expr.kind != Expr::Kind::kList) {
    if (axis == elements.dims.size() && IsUntypedLiteral(expr)) {
      elements.items.push_back(&expr);
      return true;
    }
    sink.Error(expr.place, "QR0314",
               IsUntypedLiteral(expr) ? "the rows of a literal have different depths"
                                      : "a literal holds numbers, strings or true and false");
    return false;
  }
  if (axis == elements.dims.size() ||
      static_cast<int64_t>(expr.items.size()) != elements.dims[axis]) {
    sink.Error(expr.place, "QR0314", "the rows of a literal have different lengths");
    return false;
  }
  return std::all_of(expr.items.begin(), expr.items.end(),
                     [&](const ExprPtr& item) { return Collect(*item, axis + 1, elements, sink); });
}

}  // namespace

bool Elements::Any(Expr::Kind kind) const {
  return std::any_of(items.begin(), items.end(),
                     [kind](const Expr* item) { return item->kind == kind; });
}

DType Elements::NaturalType() const {
  if (Any(Expr::Kind::kFloat)) return DType::kFloat;
  if (Any(Expr::Kind::kString)) return DType::kString;
  if (Any(Expr::Kind::kBool)) return DType::kBool;
  return DType::kInt64;
}

bool IsUntypedLiteral(const Expr& expr) {
  switch (expr.kind) {
    case Expr::Kind::kInt:
    case Expr::Kind::kFloat:
    case Expr::Kind::kString:
    case Expr::Kind::kBool:
    case Expr::Kind::kDType: return true;
    case Expr::Kind::kList:
      return std::all_of(expr.items.begin(), expr.items.end(),
                         [](const ExprPtr& item) { return IsUntypedLiteral(*item); });
    default: return false;
  }
}

std::optional<Elements> ElementsOf(const Expr& literal, DiagnosticSink& sink) {
  Elements elements;
  for (const Expr* level = &literal; level->kind == Expr::Kind::kList;
       level = level->items[0].get()) {
    elements.dims.push_back(static_cast<int64_t>(level->items.size()));
    if (level->items.empty()) break;
  }
  if (!Collect(literal, 0, elements, sink)) return std::nullopt;
  return elements;
}

Tensor TensorOf(const Expr& literal, DType dtype, DiagnosticSink& sink) {
  const std::optional<Elements> elements = ElementsOf(literal, sink);
  if (!elements) return {};
  return Make(*elements, dtype, elements->dims, literal.place, sink);
}

Tensor TensorOfTyped(const Expr& typed, DiagnosticSink& sink) {
  if (typed.text == "...") {
    sink.Error(typed.place, "QR0315", "the content of this constant was left out").hint =
        "`show` prints large constants as `...`; write `random float[2, 3]` or the values";
    return {};
  }
  const std::optional<int64_t> count = CheckedCount(typed.details().dims, kMaxElements);
  if (!count) {
    sink.Error(typed.place, "QR0315", "a constant of a text has at most 2^24 elements");
    return {};
  }
  if (!typed.text.empty()) return MakeGenerated(typed, *count, sink);
  const Expr& value = *typed.items[0];
  std::optional<Elements> elements = ElementsOf(value, sink);
  if (!elements) return {};
  if (!typed.details().has_dims)
    return Make(*elements, typed.dtype, elements->dims, typed.place, sink);
  const bool flat =
      elements->dims.size() == 1 && static_cast<int64_t>(elements->items.size()) == *count;
  if (elements->dims.empty()) {  // one value for all elements
    const Expr* const item = elements->items[0];
    elements->items.assign(static_cast<size_t>(*count), item);
  } else if (elements->dims != typed.details().dims && !flat) {
    sink.Error(value.place, "QR0314",
               fmt::format("the shape is [{}], but the values have [{}]",
                           fmt::join(typed.details().dims, ", "), fmt::join(elements->dims, ", ")));
    return {};
  }
  return Make(*elements, typed.dtype, typed.details().dims, typed.place, sink);
}

}  // namespace qrewrite
