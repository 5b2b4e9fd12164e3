#include "engine/fold/convolution.h"

#include <algorithm>

#include <Eigen/Core>

namespace qrewrite::fold {
namespace {

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using ConstMap = Eigen::Map<const Matrix>;

// Results that are computed at a time: so many, and no more than see so many elements together.
constexpr int64_t kColumns = 4096, kMostGathered = int64_t{1} << 22;

// The elements that the results [begin, begin + columns) of one group see: [channels * taps, columns].
void Gather(const Window& window, const double* x, int64_t channels, int64_t in_size, int64_t begin,
            Matrix& out) {
  for (int64_t c = 0; c < channels; ++c) {
    for (int64_t tap = 0; tap < window.taps; ++tap) {
      const int64_t* source = window.source.data() + tap * window.outputs + begin;
      double* row = out.data() + (c * window.taps + tap) * out.cols();
      for (int64_t i = 0; i < out.cols(); ++i) {
        row[i] = source[i] < 0 ? 0.0 : x[c * in_size + source[i]];
      }
    }
  }
}

// Sums term by term, as the blocks of Eigen's product depend on the sizes.
Matrix ProductInOrder(const ConstMap& a, const Matrix& b) {
  Matrix sums = Matrix::Zero(a.rows(), b.cols());
  for (int64_t f = 0; f < a.rows(); ++f) {
    for (int64_t k = 0; k < a.cols(); ++k) sums.row(f) += a(f, k) * b.row(k);
  }
  return sums;
}

Outputs Conv(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(const Tensor x, NeedBytes(call, 0));
  QR_ASSIGN_OR_RETURN(const Tensor w, NeedBytes(call, 1));
  if (!IsFloat(x.dtype()) || x.dtype() != w.dtype()) {
    return Reason("{} of {} and {}", call.op, Name(x.dtype()), Name(w.dtype()));
  }
  QR_ASSIGN_OR_RETURN(const Convolution plan, Convolution::Plan(call, x, w));
  QR_ASSIGN_OR_RETURN(const std::vector<double> xs, ToDoubles(x));
  QR_ASSIGN_OR_RETURN(const std::vector<double> ws, ToDoubles(w));
  std::vector<double> y = plan.Compute(xs, ws, /*in_order=*/x.dtype() == DType::kDouble);
  if (const Tensor* bias = Input(call, 2); bias != nullptr) {
    QR_ASSIGN_OR_RETURN(const std::vector<double> b, ToDoubles(*bias));
    if (bias->rank() != 1 || static_cast<int64_t>(b.size()) != plan.out_channels) {
      return Reason("{} with a bias of shape {}", call.op, ShapeText(bias->dims()));
    }
    for (size_t i = 0; i < y.size(); ++i) {
      y[i] += b[i / static_cast<size_t>(plan.window.outputs) % b.size()];
    }
  }
  return One(FromDoubles(x.dtype(), plan.dims, y));
}

OutputTypes ConvTypes(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(const Tensor x, Need(call, 0));
  QR_ASSIGN_OR_RETURN(const Tensor w, Need(call, 1));
  QR_ASSIGN_OR_RETURN(const Dims spatial, SpatialDims(x, call.op));
  QR_ASSIGN_OR_RETURN(const Dims kernel, SpatialDims(w, call.op));
  QR_ASSIGN_OR_RETURN(const Dims out, Window::Sizes(call, spatial, kernel));
  return WindowTypes(x.dtype(), x.dims()[0], w.dims()[0], out, kernel, w.dims()[1]);
}

}  // namespace

Result<Convolution> Convolution::Plan(const FoldCall& call, const Tensor& x, const Tensor& w) {
  QR_ASSIGN_OR_RETURN(const Dims spatial, SpatialDims(x, call.op));
  QR_ASSIGN_OR_RETURN(const Dims kernel, SpatialDims(w, call.op));
  const std::vector<int64_t>* const said = call.attributes.Ints("kernel_shape");
  if (said != nullptr && !said->empty() && *said != kernel) {
    return Misfit("{} with kernel_shape {} and weights {}", call.op, ShapeText(*said),
                  ShapeText(w.dims()));
  }
  const int64_t groups = call.attributes.Int("group", 1);
  const int64_t channels = x.dims()[1];
  const int64_t filters = w.dims()[0];
  if (groups < 1 || channels % groups != 0 || channels / groups != w.dims()[1] ||
      filters % groups != 0) {
    return Misfit("{} of {} with weights {} in {} groups", call.op, ShapeText(x.dims()),
                  ShapeText(w.dims()), groups);
  }
  QR_ASSIGN_OR_RETURN(Window window, Window::Make(call, spatial, kernel));
  Dims dims{x.dims()[0], filters};
  dims.insert(dims.end(), window.out.begin(), window.out.end());
  QR_RETURN_IF_ERROR(CheckSize({DType::kUndefined, dims}));
  return Convolution{x.dims()[0],       groups,         channels, filters, Count(spatial),
                     std::move(window), std::move(dims)};
}

std::vector<double> Convolution::Compute(std::span<const double> x, std::span<const double> w,
                                         bool in_order) const {
  std::vector<double> y(static_cast<size_t>(Count(dims)), 0.0);
  const int64_t channels = in_channels / groups;
  const int64_t filters = out_channels / groups;
  const int64_t depth = channels * window.taps;
  const int64_t block =
      std::clamp<int64_t>(kMostGathered / std::max<int64_t>(1, depth), 1, kColumns);
  for (int64_t g = 0; g < batch * groups; ++g) {
    const double* const data = x.data() + g * channels * in_size;
    double* const result = y.data() + g * filters * window.outputs;
    const ConstMap weights(w.data() + g % groups * filters * depth, filters, depth);
    for (int64_t begin = 0; begin < window.outputs; begin += block) {
      Matrix columns(depth, std::min(block, window.outputs - begin));
      Gather(window, data, channels, in_size, begin, columns);
      const Matrix product = in_order ? ProductInOrder(weights, columns) : weights * columns;
      for (int64_t f = 0; f < filters; ++f) {
        std::copy_n(product.data() + f * product.cols(), product.cols(),
                    result + f * window.outputs + begin);
      }
    }
  }
  return y;
}

void RegisterConvolution(KernelRegistry& registry) {
  Add(registry, "Conv", {.inputs = 3}, Conv, ConvTypes);
}

}  // namespace qrewrite::fold
