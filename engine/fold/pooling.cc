// MaxPool, AveragePool, LpPool and their global forms, in double precision.
#include "engine/fold/pooling.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "engine/fold/window.h"

namespace qrewrite::fold {
namespace {

struct Pooled {
  Tensor x;
  std::vector<double> values;
  int64_t images, in_size;  // images: batch times channels
  Window window;
  Dims dims;
};

Result<Pooled> Plan(const FoldCall& call, bool global) {
  Pooled p;
  QR_ASSIGN_OR_RETURN(p.x, NeedBytes(call, 0));
  QR_ASSIGN_OR_RETURN(const Dims spatial, SpatialDims(p.x, call.op));
  const std::vector<int64_t>* shape = call.attributes.Ints("kernel_shape");
  if (!global && shape == nullptr) return Reason("{} without kernel_shape", call.op);
  QR_ASSIGN_OR_RETURN(p.window, Window::Make(call, spatial, global ? spatial : *shape));
  QR_ASSIGN_OR_RETURN(p.values, ToDoubles(p.x));
  p.images = p.x.dims()[0] * p.x.dims()[1];
  p.in_size = Count(spatial);
  p.dims = {p.x.dims()[0], p.x.dims()[1]};
  p.dims.insert(p.dims.end(), p.window.out.begin(), p.window.out.end());
  QR_RETURN_IF_ERROR(CheckSize({p.x.dtype(), p.dims}));
  return p;
}

// Where a window sees no element there is no largest one and no mean: ONNX says nothing of it, and runtimes
// that let it pass differ.
Status CheckWindows(const FoldCall& call, const Pooled& p, int64_t least) {
  const Window& window = p.window;
  for (int64_t o = 0; p.images > 0 && o < window.outputs; ++o) {
    bool any = false;
    for (int64_t tap = 0; tap < window.taps && !any; ++tap)
      any = window.source[static_cast<size_t>(tap * window.outputs + o)] >= least;
    if (!any) return Reason("{} with a window that lies in the padding", call.op);
  }
  return {};
}

// Calls visit(image's elements, place among the results, number of that result).
template <class Visit>
void ForEachResult(const Pooled& p, Visit visit) {
  for (int64_t image = 0; image < p.images; ++image) {
    const double* const data = p.values.data() + image * p.in_size;
    for (int64_t o = 0; o < p.window.outputs; ++o) visit(data, image * p.window.outputs + o, o);
  }
}

// The number of element `at` of an image, if its first axis is counted through first.
int64_t ByColumns(int64_t at, std::span<const int64_t> sizes) {
  int64_t stride = Count({sizes.begin(), sizes.end()}), place = 0;
  for (size_t axis = sizes.size(); axis-- > 0; at /= sizes[axis]) {
    stride /= sizes[axis];
    place += at % sizes[axis] * stride;
  }
  return place;
}

// The largest of each window, and where in `x` the first such element is.
Outputs MaxPool(const FoldCall& call, bool global) {
  QR_ASSIGN_OR_RETURN(const Pooled p, Plan(call, global));
  QR_RETURN_IF_ERROR(CheckWindows(call, p, 0));
  std::vector<double> y(static_cast<size_t>(Count(p.dims)));
  std::vector<int64_t> places(call.num_outputs > 1 ? y.size() : 0);
  const bool columns = call.attributes.Int("storage_order", 0) != 0;
  ForEachResult(p, [&](const double* data, int64_t at, int64_t o) {
    double top = 0;
    int64_t place = -1;
    for (int64_t tap = 0; tap < p.window.taps; ++tap) {
      const int64_t source = p.window.source[static_cast<size_t>(tap * p.window.outputs + o)];
      if (source < 0 || (place >= 0 && data[source] <= top)) continue;
      top = data[source];
      place = source;
    }
    y[static_cast<size_t>(at)] = top;
    if (places.empty()) return;
    const int64_t image = at / p.window.outputs;
    if (columns) place = ByColumns(place, std::span(p.x.dims()).subspan(2));
    places[static_cast<size_t>(at)] = image * p.in_size + place;
  });
  if (call.num_outputs == 1) return One(FromDoubles(p.x.dtype(), p.dims, y));
  QR_ASSIGN_OR_RETURN(const Tensor largest, FromDoubles(p.x.dtype(), p.dims, y));
  return std::vector{largest, Tensor::Int64s(places).Reshaped(p.dims)};
}

// `padding`: kPadding or kBeyond, what count_include_pad counts.
Outputs AveragePool(const FoldCall& call, bool global, int64_t padding) {
  QR_ASSIGN_OR_RETURN(const Pooled p, Plan(call, global));
  if (!IsFloat(p.x.dtype())) return Reason("{} of {}", call.op, Name(p.x.dtype()));
  const int64_t least = call.attributes.Int("count_include_pad", 0) != 0 ? padding : 0;
  QR_RETURN_IF_ERROR(CheckWindows(call, p, least));
  std::vector<double> y(static_cast<size_t>(Count(p.dims)));
  ForEachResult(p, [&](const double* data, int64_t at, int64_t o) {
    double sum = 0;
    int64_t count = 0;
    for (int64_t tap = 0; tap < p.window.taps; ++tap) {
      const int64_t source = p.window.source[static_cast<size_t>(tap * p.window.outputs + o)];
      if (source >= 0) sum += data[source];
      count += source >= least;
    }
    y[static_cast<size_t>(at)] = sum / static_cast<double>(count);
  });
  return One(FromDoubles(p.x.dtype(), p.dims, y));
}

// The p-th root of the sum of |x|^p: of an average over all places of the window, padding among them.
Outputs LpPool(const FoldCall& call, bool global) {
  const double p = call.since < 2 ? static_cast<double>(call.attributes.Float("p", 2))
                                  : static_cast<double>(call.attributes.Int("p", 2));
  QR_ASSIGN_OR_RETURN(const Tensor x, NeedBytes(call, 0));
  if (!IsFloat(x.dtype()) || !(p > 0) || call.attributes.Int("ceil_mode", 0) != 0)
    return Reason("this form of {} is not computed", call.op);
  QR_ASSIGN_OR_RETURN(std::vector<double> values, ToDoubles(x));
  for (double& v : values) v = std::pow(std::fabs(v), p);
  QR_ASSIGN_OR_RETURN(const Tensor powers, FromDoubles(DType::kDouble, x.dims(), values));
  Attributes attributes = call.attributes;
  attributes.Set("count_include_pad", int64_t{1});
  const FoldCall averaged{call.domain, call.op, call.since, {&powers, 1}, attributes};
  QR_ASSIGN_OR_RETURN(const Pooled plan, Plan(averaged, global));
  QR_ASSIGN_OR_RETURN(const std::vector<Tensor> averages, AveragePool(averaged, global, kPadding));
  QR_ASSIGN_OR_RETURN(values, ToDoubles(averages[0]));
  for (double& v : values) v = std::pow(v * static_cast<double>(plan.window.taps), 1 / p);
  return One(FromDoubles(x.dtype(), averages[0].dims(), values));
}

OutputTypes PoolTypes(const FoldCall& call, bool global) {
  QR_ASSIGN_OR_RETURN(const Tensor x, Need(call, 0));
  QR_ASSIGN_OR_RETURN(const Dims spatial, SpatialDims(x, call.op));
  const std::vector<int64_t>* shape = call.attributes.Ints("kernel_shape");
  if (!global && shape == nullptr) return Reason("{} without kernel_shape", call.op);
  const Dims& kernel = global ? spatial : *shape;
  QR_ASSIGN_OR_RETURN(const Dims out, Window::Sizes(call, spatial, kernel));
  QR_ASSIGN_OR_RETURN(std::vector<TensorType> types,
                      WindowTypes(x.dtype(), x.dims()[0], x.dims()[1], out, kernel, 1));
  // The places of MaxPool.
  if (call.num_outputs > 1) types.push_back({DType::kInt64, types[0].dims, /*may_fail=*/true});
  return types;
}

// `op` and its global form.
template <class Pool>
void AddPools(KernelRegistry& registry, const std::string& op, Pool pool) {
  for (const bool global : {false, true}) {
    Add(
        registry, global ? "Global" + op : op, {},
        [pool, global](const FoldCall& call) { return pool(call, global); },
        [global](const FoldCall& call) { return PoolTypes(call, global); });
  }
}

}  // namespace

Outputs AveragePoolBeyond(const FoldCall& call) { return AveragePool(call, false, kBeyond); }

void RegisterPooling(KernelRegistry& registry) {
  AddPools(registry, "MaxPool", MaxPool);
  AddPools(registry, "AveragePool",
           [](const FoldCall& call, bool global) { return AveragePool(call, global, kPadding); });
  AddPools(registry, "LpPool", LpPool);
}

}  // namespace qrewrite::fold
