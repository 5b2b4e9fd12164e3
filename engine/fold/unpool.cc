// What goes back from windows to what they saw: MaxUnpool, Col2Im.
#include <algorithm>
#include <cstring>

#include "engine/fold/layout.h"
#include "engine/fold/no_result.h"
#include "engine/fold/whole_models.h"
#include "engine/fold/window.h"

namespace qrewrite::fold {
namespace {

constexpr int64_t kMostOfAxis = int64_t{1} << 31;

// Number i of a list of n, in [least, kMostOfAxis].
Result<int64_t> At(const FoldCall& call, std::string_view name, size_t i, size_t n, int64_t least) {
  const std::vector<int64_t>* const list = call.attributes.Ints(name);
  if (list == nullptr || list->empty()) return least;
  if (list->size() != n) return Reason("{} has {} numbers in {}", call.op, list->size(), name);
  if ((*list)[i] < least || (*list)[i] > kMostOfAxis)
    return Reason("{} with {} in {}", call.op, (*list)[i], name);
  return (*list)[i];
}

// What the windows of MaxPool saw, if they left nothing over.
Result<Dims> SeenByWindows(const FoldCall& call, const Tensor& x) {
  QR_ASSIGN_OR_RETURN(const Dims spatial, SpatialDims(x, call.op));
  if (call.attributes.Ints("kernel_shape") == nullptr)
    return Reason("{} without kernel_shape", call.op);
  const size_t n = spatial.size();
  Dims dims{x.dims()[0], x.dims()[1]};
  for (size_t i = 0; i < n; ++i) {
    QR_ASSIGN_OR_RETURN(const int64_t kernel, At(call, "kernel_shape", i, n, 1));
    QR_ASSIGN_OR_RETURN(const int64_t stride, At(call, "strides", i, n, 1));
    QR_ASSIGN_OR_RETURN(const int64_t begin, At(call, "pads", i, 2 * n, 0));
    QR_ASSIGN_OR_RETURN(const int64_t end, At(call, "pads", i + n, 2 * n, 0));
    if (spatial[i] > kMostOfAxis) return Reason("{} of shape {}", call.op, ShapeText(x.dims()));
    dims.push_back((spatial[i] - 1) * stride + kernel - begin - end);
  }
  return dims;
}

// Or what output_shape says, which may be more. ONNX Runtime counts the places through that shape, where onnx's own
// evaluator counts them through the smaller one: MaxPool, whose places they are, counts through all it saw.
Result<Dims> UnpooledDims(const FoldCall& call, const Tensor& x) {
  QR_ASSIGN_OR_RETURN(Dims dims, SeenByWindows(call, x));
  if (Input(call, 2) != nullptr) {
    QR_ASSIGN_OR_RETURN(Dims wanted, IntList(call.inputs[2]));
    bool fits = wanted.size() == dims.size() && wanted[0] == dims[0] && wanted[1] == dims[1];
    for (size_t i = 2; fits && i < dims.size(); ++i) fits = wanted[i] >= dims[i];
    if (!fits) return Misfit("{} to {}, not {}", call.op, ShapeText(wanted), ShapeText(dims));
    dims = std::move(wanted);
  }
  QR_RETURN_IF_ERROR(CheckSize({x.dtype(), dims}));
  return dims;
}

Outputs MaxUnpool(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(const Tensor x, Need(call, 0));
  QR_ASSIGN_OR_RETURN(const Tensor indices, Need(call, 1));
  if (!IsFloat(x.dtype()) || x.dims() != indices.dims())
    return Misfit("{} of {} {} with places of shape {}", call.op, Name(x.dtype()),
                  ShapeText(x.dims()), ShapeText(indices.dims()));
  QR_ASSIGN_OR_RETURN(const Dims dims, UnpooledDims(call, x));
  QR_ASSIGN_OR_RETURN(const std::vector<int64_t> places, ToInt64s(indices));
  QR_ASSIGN_OR_RETURN(const ElementReader reader, ElementReader::Open(x));
  QR_ASSIGN_OR_RETURN(ElementWriter writer, ElementWriter::Make(x.dtype(), dims));
  const size_t width = reader.width();
  const int64_t size = Count(dims);
  if (size > 0) std::memset(writer.data(), 0, static_cast<size_t>(size) * width);
  for (size_t i = 0; i < places.size(); ++i) {
    if (places[i] < 0 || places[i] >= size) return Outside(places[i], size);
    std::memcpy(writer.data() + static_cast<size_t>(places[i]) * width, reader.data() + i * width,
                width);
  }
  return One(std::move(writer).Finish());
}

// The window of Col2Im, and [batch, channels, image].
struct Columns {
  Window window;
  Dims dims;
};

Result<Columns> PlanColumns(const FoldCall& call) {
  QR_RETURN_IF_ERROR(NeedInputs(call, 3));
  const Dims& in = call.inputs[0].dims();
  QR_ASSIGN_OR_RETURN(const Dims image, IntList(call.inputs[1]));
  QR_ASSIGN_OR_RETURN(const Dims block, IntList(call.inputs[2]));
  if (in.size() != 3 || image.empty()) return Reason("{} of {}", call.op, ShapeText(in));
  for (const int64_t d : image) {
    if (d < 0 || d > kMostOfAxis) return Reason("{} to {}", call.op, ShapeText(image));
  }
  Columns columns;
  QR_ASSIGN_OR_RETURN(columns.window, Window::Make(call, image, block));
  const int64_t taps = columns.window.taps;
  if (in[1] % taps != 0 || in[2] != columns.window.outputs)
    return Misfit("{} of {} to {} by {}", call.op, ShapeText(in), ShapeText(image),
                  ShapeText(block));
  columns.dims = {in[0], in[1] / taps};
  columns.dims.insert(columns.dims.end(), image.begin(), image.end());
  QR_RETURN_IF_ERROR(CheckSize({call.inputs[0].dtype(), columns.dims}));
  return columns;
}

// Adds what the windows see to what is there. Integers wrap; through uint64, where overflow is defined.
template <class T>
void AddColumns(const T* x, const Columns& columns, T* image) {
  using Wide = std::conditional_t<std::is_integral_v<T>, uint64_t, T>;
  const int64_t images = columns.dims[0] * columns.dims[1];
  const int64_t size = CountRange(columns.dims, 2, columns.dims.size());
  for (int64_t i = 0; i < images; ++i, image += size) {
    for (const int64_t source : columns.window.source) {
      const T v = *x++;
      if (source < 0) continue;
      image[source] = static_cast<T>(static_cast<Wide>(image[source]) + static_cast<Wide>(v));
    }
  }
}

Outputs Col2Im(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(const Columns columns, PlanColumns(call));
  QR_ASSIGN_OR_RETURN(const Tensor x, NeedBytes(call, 0));
  QR_ASSIGN_OR_RETURN(TensorBuffer buffer, TensorBuffer::Make(x.dtype(), columns.dims));
  return One(VisitNumber(x.dtype(), [&](auto tag) -> Result<Tensor> {
    using T = typename decltype(tag)::type;
    std::ranges::fill(buffer.as<T>(), T{0});
    AddColumns(x.as<T>().data(), columns, buffer.as<T>().data());
    return std::move(buffer).Finish();
  }));
}

}  // namespace

void RegisterUnpool(KernelRegistry& registry) {
  Add(registry, "MaxUnpool", {.first = 9, .inputs = 3}, MaxUnpool);
  Add(registry, "Col2Im", {.first = 18, .inputs = 3}, InFloat(Col2Im));
}

}  // namespace qrewrite::fold
