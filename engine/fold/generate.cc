// Operators that make new tensors: Constant, ConstantOfShape, Range, EyeLike, OneHot, NonZero,
// Trilu, CumSum, CumProd.
#include <algorithm>
#include <cmath>

#include "engine/fold/chunks.h"
#include "engine/fold/layout.h"

namespace qrewrite::fold {
namespace {

Outputs Constant(const FoldCall& call) {
  if (call.attributes.size() != 1)
    return Reason("Constant with {} attributes", call.attributes.size());
  const AttrValue& value = call.attributes.begin()->value;
  if (const auto* t = std::get_if<Tensor>(&value); t != nullptr && t->valid()) {
    return std::vector<Tensor>{*t};
  }
  if (const auto* f = std::get_if<float>(&value))
    return std::vector<Tensor>{Tensor::FloatScalar(*f)};
  if (const auto* i = std::get_if<int64_t>(&value)) {
    return std::vector<Tensor>{Tensor::Int64Scalar(*i)};
  }
  if (const auto* s = std::get_if<std::string>(&value)) {
    return std::vector<Tensor>{Tensor::Strings({}, {*s})};
  }
  if (const auto* list = std::get_if<std::vector<float>>(&value)) {
    return std::vector<Tensor>{
        Tensor::Of<float>(DType::kFloat, {static_cast<int64_t>(list->size())}, *list)};
  }
  if (const auto* list = std::get_if<std::vector<int64_t>>(&value)) {
    return std::vector<Tensor>{Tensor::Int64s(*list)};
  }
  if (const auto* list = std::get_if<std::vector<std::string>>(&value)) {
    return std::vector<Tensor>{Tensor::Strings({static_cast<int64_t>(list->size())}, *list)};
  }
  return Reason("Constant of this kind is not computed");
}

Result<Tensor> FillValue(const FoldCall& call) {
  const Tensor* value = call.attributes.TensorValue("value");
  if (value == nullptr) return Tensor::FloatScalar(0);
  if (value->size() != 1 || value->is_string()) {
    return Reason("ConstantOfShape with a value of shape {}", ShapeText(value->dims()));
  }
  return *value;
}

OutputTypes ConstantOfShapeTypes(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(const Tensor value, FillValue(call));
  QR_ASSIGN_OR_RETURN(const Tensor shape, Need(call, 0));
  QR_ASSIGN_OR_RETURN(Dims dims, IntList(shape));
  return OneType(value.dtype(), std::move(dims));
}

Outputs ConstantOfShape(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(const std::vector<TensorType> types, ConstantOfShapeTypes(call));
  QR_RETURN_IF_ERROR(CheckSize(types[0]));
  QR_ASSIGN_OR_RETURN(const Tensor value, FillValue(call));
  const StridedView view{types[0].dims, std::vector<int64_t>(types[0].dims.size(), 0), 0};
  return One(CopyStrided(value, view, types[0].dims));
}

// max(ceil((limit - start) / delta), 0), exactly for integers.
Result<int64_t> RangeLength(auto start, auto limit, auto delta) {
  using T = decltype(start);
  if (delta == 0) return Reason("Range has a step of 0");
  if constexpr (std::is_floating_point_v<T>) {
    const double n = std::ceil((static_cast<double>(limit) - static_cast<double>(start)) /
                               static_cast<double>(delta));
    if (!(n < static_cast<double>(MaxComputedElements()))) return Reason("Range is too long");
    return n > 0 ? static_cast<int64_t>(n) : 0;
  } else {
    const auto distance = static_cast<__int128>(limit) - start;
    const __int128 n = distance / delta + (distance % delta != 0 && (distance < 0) == (delta < 0));
    if (n > MaxComputedElements()) return Reason("Range is too long");
    return n > 0 ? static_cast<int64_t>(n) : 0;
  }
}

using RangeBounds = std::array<Tensor, 3>;

Result<RangeBounds> BoundsOfRange(const FoldCall& call) {
  RangeBounds in;
  for (size_t i = 0; i < 3; ++i) {
    QR_ASSIGN_OR_RETURN(in[i], NeedBytes(call, i));
    if (in[i].size() != 1 || in[i].dtype() != in[0].dtype())
      return Reason("Range wants three scalars of one type");
  }
  return in;
}

template <class T>
Result<int64_t> LengthOfRange(const RangeBounds& in) {
  return RangeLength(in[0].as<T>()[0], in[1].as<T>()[0], in[2].as<T>()[0]);
}

OutputTypes RangeTypes(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(const RangeBounds in, BoundsOfRange(call));
  QR_ASSIGN_OR_RETURN(const int64_t n, VisitNumber(in[0].dtype(), [&](auto tag) -> Result<int64_t> {
                        return LengthOfRange<typename decltype(tag)::type>(in);
                      }));
  return OneType(in[0].dtype(), {n});
}

Outputs Range(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(const RangeBounds in, BoundsOfRange(call));
  return One(VisitNumber(in[0].dtype(), [&](auto tag) -> Result<Tensor> {
    using T = typename decltype(tag)::type;
    const T start = in[0].as<T>()[0];
    const T delta = in[2].as<T>()[0];
    QR_ASSIGN_OR_RETURN(const int64_t n, LengthOfRange<T>(in));
    QR_ASSIGN_OR_RETURN(TensorBuffer buffer, TensorBuffer::Make(in[0].dtype(), {n}));
    T value = start;
    for (T& out : buffer.as<T>()) {
      out = value;  // ONNX Runtime adds as well: start + i * delta would round otherwise
      if constexpr (std::is_integral_v<T>) {
        value = static_cast<T>(static_cast<uint64_t>(value) + static_cast<uint64_t>(delta));
      } else {
        value += delta;
      }
    }
    return std::move(buffer).Finish();
  }));
}

OutputTypes EyeLikeTypes(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(const Tensor x, Need(call, 0));
  if (x.rank() != 2) return Reason("EyeLike of rank {}", x.rank());
  const auto type = call.attributes.Int("dtype", static_cast<int64_t>(x.dtype()));
  if (type <= 0 || type >= kNumDTypes || !IsNumeric(static_cast<DType>(type)))
    return Reason("EyeLike of type {}", type);
  return OneType(static_cast<DType>(type), x.dims());
}

Outputs EyeLike(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(const std::vector<TensorType> types, EyeLikeTypes(call));
  const Tensor& x = call.inputs[0];
  const int64_t k = call.attributes.Int("k", 0);
  const int64_t rows = x.dims()[0];
  const int64_t columns = x.dims()[1];
  QR_RETURN_IF_ERROR(CheckSize({x.dtype(), x.dims()}));
  std::vector<int64_t> values(static_cast<size_t>(rows * columns), 0);
  for (int64_t r = 0; r < rows; ++r) {
    int64_t c = 0;
    if (!__builtin_add_overflow(r, k, &c) && c >= 0 && c < columns) {
      values[static_cast<size_t>(r * columns + c)] = 1;
    }
  }
  return One(FromInt64s(types[0].dtype, x.dims(), values));
}

Result<std::vector<int64_t>> WholeNumbers(const Tensor& t) {
  if (IsInteger(t.dtype())) return ToInt64s(t);
  QR_ASSIGN_OR_RETURN(const std::vector<double> values, ToDoubles(t));
  std::vector<int64_t> out;
  for (const double v : values) {
    if (!(std::fabs(v) < 0x1p62)) return Reason("{} is no index", v);
    out.push_back(static_cast<int64_t>(v));  // ONNX Runtime cuts a fraction off
  }
  return out;
}

struct OneHotPlan {
  std::vector<int64_t> at;
  int64_t depth = 0;
  int64_t inner = 1;  // elements behind the axis
  Dims dims;
};

Result<OneHotPlan> PlanOneHot(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(const Tensor indices, Need(call, 0));
  QR_ASSIGN_OR_RETURN(const Tensor depth_input, Need(call, 1));
  QR_ASSIGN_OR_RETURN(const Tensor values, Need(call, 2));
  OneHotPlan plan;
  QR_ASSIGN_OR_RETURN(plan.at, WholeNumbers(indices));
  QR_ASSIGN_OR_RETURN(const std::vector<int64_t> depths, WholeNumbers(depth_input));
  if (depths.size() != 1 || depths[0] < 1 || values.size() != 2)
    return Reason("OneHot wants one positive depth and two values");
  plan.depth = depths[0];
  QR_ASSIGN_OR_RETURN(const int64_t a,
                      NormalAxis(call.attributes.Int("axis", -1), indices.rank() + 1));
  plan.dims = indices.dims();
  plan.dims.insert(plan.dims.begin() + a, plan.depth);
  QR_RETURN_IF_ERROR(CheckSize({values.dtype(), plan.dims}));
  plan.inner = CountRange(indices.dims(), static_cast<size_t>(a), indices.dims().size());
  return plan;
}

OutputTypes OneHotTypes(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(OneHotPlan plan, PlanOneHot(call));
  return OneType(call.inputs[2].dtype(), std::move(plan.dims));
}

Outputs OneHot(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(const OneHotPlan plan, PlanOneHot(call));
  const auto& [at, depth, inner, dims] = plan;
  // Element (outer, d, inner) picks `on` where d is the index; then the choice is a Gather.
  std::vector<int64_t> choice(static_cast<size_t>(Count(dims)), 0);
  for (size_t i = 0; i < at.size(); ++i) {
    const int64_t hot = at[i] < 0 ? at[i] + depth : at[i];
    if (hot < 0 || hot >= depth) continue;
    const int64_t outer = static_cast<int64_t>(i) / inner;
    const int64_t in = static_cast<int64_t>(i) % inner;
    choice[static_cast<size_t>((outer * depth + hot) * inner + in)] = 1;
  }
  const Tensor inputs[] = {call.inputs[2], Tensor::Of<int64_t>(DType::kInt64, dims, choice)};
  return KernelRegistry::Builtin()
      .Find("", "Gather", 13)
      ->run({.domain = "",
             .op = "Gather",
             .since = 13,
             .inputs = inputs,
             .attributes = Attributes()});
}

Outputs NonZero(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(const Tensor x, Need(call, 0));
  QR_ASSIGN_OR_RETURN(const std::vector<double> values, ToDoubles(x));
  std::vector<int64_t> hits;
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] != 0) hits.push_back(static_cast<int64_t>(i));
  }
  const std::vector<int64_t> strides = Strides(x.dims());
  std::vector<int64_t> out;
  for (size_t d = 0; d < strides.size(); ++d) {
    for (const int64_t i : hits) out.push_back(i / strides[d] % x.dims()[d]);
  }
  return std::vector<Tensor>{
      Tensor::Of<int64_t>(DType::kInt64, {x.rank(), static_cast<int64_t>(hits.size())}, out)};
}

Outputs Trilu(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(const Tensor x, Need(call, 0));
  if (x.rank() < 2) return Reason("Trilu of rank {}", x.rank());
  int64_t k = 0;
  if (Input(call, 1) != nullptr) {
    QR_ASSIGN_OR_RETURN(k, IntScalar(call.inputs[1]));
  }
  const bool upper = call.attributes.Int("upper", 1) != 0;
  QR_ASSIGN_OR_RETURN(const ElementReader reader, ElementReader::Open(x));
  QR_ASSIGN_OR_RETURN(ElementWriter writer, ElementWriter::Make(x.dtype(), x.dims()));
  const int64_t columns = x.dims().back();
  const int64_t rows = x.dims()[x.dims().size() - 2];
  const size_t width = reader.width();
  for (int64_t i = 0; i < x.size(); ++i) {
    const auto distance = static_cast<__int128>(i % columns) - (i / columns % rows);
    const bool keep = upper ? distance >= k : distance <= k;
    std::byte* to = writer.data() + static_cast<size_t>(i) * width;
    if (keep) {
      std::memcpy(to, reader.data() + static_cast<size_t>(i) * width, width);
    } else {
      std::memset(to, 0, width);
    }
  }
  return One(std::move(writer).Finish());
}

// The sum or the product of what was so far.
template <class T>
void CumulateColumn(const T* x, T* out, int64_t n, int64_t step, bool exclusive, bool product) {
  using Wide = std::conditional_t<std::is_integral_v<T>, uint64_t, T>;
  Wide so_far = product ? 1 : 0;
  for (int64_t i = 0; i < n; ++i) {
    const Wide v = static_cast<Wide>(x[i * step]);
    const Wide next = static_cast<Wide>(product ? so_far * v : so_far + v);
    out[i * step] = static_cast<T>(exclusive ? so_far : next);
    so_far = next;
  }
}

Outputs Cumulate(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(const Tensor x, NeedBytes(call, 0));
  QR_ASSIGN_OR_RETURN(const Tensor axis_input, Need(call, 1));
  QR_ASSIGN_OR_RETURN(const int64_t given, IntScalar(axis_input));
  QR_ASSIGN_OR_RETURN(const int64_t a, NormalAxis(given, x.rank()));
  const auto axis = static_cast<size_t>(a);
  const bool exclusive = call.attributes.Int("exclusive", 0) != 0;
  const bool reverse = call.attributes.Int("reverse", 0) != 0;
  const int64_t outer = CountRange(x.dims(), 0, axis);
  const int64_t n = x.dims()[axis];
  const int64_t inner = CountRange(x.dims(), axis + 1, x.dims().size());
  QR_ASSIGN_OR_RETURN(TensorBuffer buffer, TensorBuffer::Make(x.dtype(), x.dims()));
  return One(VisitNumber(x.dtype(), [&](auto tag) -> Result<Tensor> {
    using T = typename decltype(tag)::type;
    for (int64_t c = 0; n > 0 && c < outer * inner; ++c) {
      const int64_t first = c / inner * n * inner + c % inner;
      const int64_t start = reverse ? first + (n - 1) * inner : first;
      CumulateColumn(x.as<T>().data() + start, buffer.as<T>().data() + start, n,
                     reverse ? -inner : inner, exclusive, call.op == "CumProd");
    }
    return std::move(buffer).Finish();
  }));
}

}  // namespace

void RegisterGenerate(KernelRegistry& registry) {
  Add(registry, "Constant", {.inputs = 0}, Constant);
  Add(registry, "ConstantOfShape", {.first = 9}, ConstantOfShape, ConstantOfShapeTypes);
  Add(registry, "Range", {.first = 11, .inputs = 3}, Range, RangeTypes);
  Add(registry, "EyeLike", {.first = 9}, EyeLike, EyeLikeTypes);
  Add(registry, "OneHot", {.first = 9, .inputs = 3}, OneHot, OneHotTypes);
  Add(registry, "NonZero", {.first = 9}, NonZero);
  Add(registry, "Trilu", {.first = 14, .inputs = 2}, Trilu);
  Add(registry, "CumSum", {.first = 11, .inputs = 2}, InFloat(Cumulate));
  Add(registry, "CumProd", {.first = 26, .inputs = 2}, InFloat(Cumulate));
}

}  // namespace qrewrite::fold
