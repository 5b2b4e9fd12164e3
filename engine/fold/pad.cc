// Pad: each axis is a list of source indices, -1 where the pad value stands.
#include <algorithm>

#include "engine/fold/layout.h"

namespace qrewrite::fold {
namespace {

// No more is cut off an end: positions relative to the source then fit int64.
constexpr int64_t kMostPadded = int64_t{1} << 41;

struct PadPlan {
  Dims dims;
  std::string mode;
  std::vector<int64_t> before, after;  // by axis; negative: cut off
};

Status CheckMode(const PadPlan& plan, const Dims& source) {
  if (plan.mode != "constant" && plan.mode != "edge" && plan.mode != "wrap" &&
      plan.mode != "reflect") {
    return Reason("Pad in mode {}", plan.mode);
  }
  for (size_t a = 0; a < source.size(); ++a) {
    if (source[a] == 0 && plan.dims[a] > 0 && plan.mode != "constant") {
      return Reason("Pad of no elements in mode {}", plan.mode);
    }
    if (plan.mode == "reflect" &&
        std::max(plan.before[a], plan.after[a]) >= std::max<int64_t>(source[a], 1)) {
      return Reason("Pad reflects {} elements beyond {}", source[a],
                    std::max(plan.before[a], plan.after[a]));
    }
  }
  return {};
}

Result<PadPlan> Plan(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(const Tensor x, Need(call, 0));
  QR_ASSIGN_OR_RETURN(const auto pads, OptionalInts(call, 11, 1, "pads"));
  if (!pads) return Reason("Pad has no pads");
  std::vector<int64_t> axes;
  for (int64_t i = 0; i < x.rank(); ++i) axes.push_back(i);
  if (call.since >= 18 && Input(call, 3) != nullptr) {
    QR_ASSIGN_OR_RETURN(axes, IntList(call.inputs[3]));
    QR_RETURN_IF_ERROR(AxisSet(axes, x.rank()).status());
  }
  const size_t n = axes.size();
  if (pads->size() != 2 * n) return Reason("{} pads for {} axes", pads->size(), n);
  PadPlan plan{x.dims(), std::string(call.attributes.String("mode", "constant")), {}, {}};
  plan.before.assign(plan.dims.size(), 0);
  plan.after.assign(plan.dims.size(), 0);
  for (size_t i = 0; i < n; ++i) {
    QR_ASSIGN_OR_RETURN(const int64_t axis, NormalAxis(axes[i], x.rank()));
    const auto a = static_cast<size_t>(axis);
    plan.before[a] = (*pads)[i];
    plan.after[a] = (*pads)[i + n];
    if (plan.before[a] < -kMostPadded || plan.after[a] < -kMostPadded ||
        __builtin_add_overflow(plan.dims[a], plan.before[a], &plan.dims[a]) ||
        __builtin_add_overflow(plan.dims[a], plan.after[a], &plan.dims[a]) || plan.dims[a] < 0) {
      return Reason("Pad of {} by {}", ShapeText(x.dims()), ShapeText(*pads));
    }
  }
  QR_RETURN_IF_ERROR(CheckSize({x.dtype(), plan.dims}));
  QR_RETURN_IF_ERROR(CheckMode(plan, x.dims()));
  return plan;
}

// Source index of position `i`, counted from the first source element, in an axis of length d > 0.
int64_t Source(std::string_view mode, int64_t i, int64_t d) {
  if (i >= 0 && i < d) return i;
  if (mode == "constant") return -1;
  if (mode == "edge") return i < 0 ? 0 : d - 1;
  if (mode == "wrap") return ((i % d) + d) % d;
  const int64_t period = std::max<int64_t>(2 * (d - 1), 1);  // reflect
  const int64_t k = ((i % period) + period) % period;
  return d == 1 ? 0 : (k < d ? k : period - k);
}

std::vector<std::vector<int64_t>> Sources(const PadPlan& plan, const Dims& source) {
  std::vector<std::vector<int64_t>> sources(source.size());
  for (size_t a = 0; a < source.size(); ++a) {
    for (int64_t i = 0; i < plan.dims[a]; ++i) {
      sources[a].push_back(Source(plan.mode, i - plan.before[a], source[a]));
    }
  }
  return sources;
}

// The value to pad with, as a tensor of one element of the data's type.
Result<Tensor> PadValue(const FoldCall& call, DType dtype) {
  if (call.since >= 11) {
    if (Input(call, 2) == nullptr || Input(call, 2)->size() == 0) return Tensor();
    if (call.inputs[2].dtype() != dtype || call.inputs[2].size() != 1) {
      return Reason("Pad of {} with {}{}", Name(dtype), Name(call.inputs[2].dtype()),
                    ShapeText(call.inputs[2].dims()));
    }
    return call.inputs[2];
  }
  const double value = call.attributes.Float("value", 0);
  return FromDoubles(dtype, {1}, std::span(&value, 1));
}

template <class T>
void Fill(const T* x, const Dims& source, const std::vector<std::vector<int64_t>>& sources, T value,
          T* out, int64_t count) {
  const std::vector<int64_t> strides = Strides(source);
  std::vector<size_t> index(source.size(), 0);
  for (int64_t o = 0; o < count; ++o) {
    int64_t at = 0;
    for (size_t a = 0; a < index.size() && at >= 0; ++a) {
      const int64_t i = sources[a][index[a]];
      at = i < 0 ? -1 : at + i * strides[a];
    }
    out[o] = at < 0 ? value : x[at];
    for (size_t a = index.size(); a-- > 0;) {
      if (++index[a] < sources[a].size()) break;
      index[a] = 0;
    }
  }
}

OutputTypes PadTypes(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(const PadPlan plan, Plan(call));
  QR_RETURN_IF_ERROR(PadValue(call, call.inputs[0].dtype()).status());
  return OneType(call.inputs[0].dtype(), plan.dims);
}

Outputs Pad(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(const PadPlan plan, Plan(call));
  const Tensor& x = call.inputs[0];
  const std::vector<std::vector<int64_t>> sources = Sources(plan, x.dims());
  QR_ASSIGN_OR_RETURN(const Tensor value, PadValue(call, x.dtype()));
  QR_ASSIGN_OR_RETURN(const ElementReader reader, ElementReader::Open(x));
  QR_ASSIGN_OR_RETURN(ElementWriter writer, ElementWriter::Make(x.dtype(), plan.dims));
  std::array<std::byte, 16> pad{};  // zero bits are 0 in every type
  if (value.valid()) {
    QR_ASSIGN_OR_RETURN(const ElementReader one, ElementReader::Open(value));
    std::memcpy(pad.data(), one.data(), one.width());
  }
  VisitWidth(reader.width(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    T fill;
    std::memcpy(&fill, pad.data(), sizeof(T));
    Fill(reinterpret_cast<const T*>(reader.data()), x.dims(), sources, fill,
         reinterpret_cast<T*>(writer.data()), Count(plan.dims));
  });
  return One(std::move(writer).Finish());
}

}  // namespace

void RegisterPad(KernelRegistry& registry) {
  Add(registry, "Pad", {.first = 2, .inputs = 4}, Pad, PadTypes);
}

}  // namespace qrewrite::fold
