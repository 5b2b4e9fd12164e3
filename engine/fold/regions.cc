// Regions of images: RoiAlign, NonMaxSuppression.
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <tuple>

#include "engine/fold/no_result.h"
#include "engine/fold/types.h"
#include "engine/fold/whole_models.h"

namespace qrewrite::fold {
namespace {

// More is not computed: a model must not keep the tool busy for minutes.
constexpr int64_t kMaxSteps = int64_t{1} << 30;
constexpr int64_t kMaxSamples = int64_t{1} << 20;  // of a bin

// --- RoiAlign

// A place between four pixels, and how much each of them counts.
struct Sample {
  int64_t at[4];
  double weights[4];
};

// REQUIRES: an image of at least one pixel. Nothing: the place is beside the image.
template <class T>
std::optional<Sample> SampleAt(T y, T x, int64_t height, int64_t width) {
  if (!(y >= -1 && y <= static_cast<T>(height) && x >= -1 && x <= static_cast<T>(width)))
    return std::nullopt;
  const auto split = [](T v, int64_t size) {
    v = std::max(v, T{0});
    const auto low = std::min(static_cast<int64_t>(v), size - 1);
    const int64_t high = std::min(low + 1, size - 1);
    return std::tuple(low, high, high == low ? T{0} : v - static_cast<T>(low));
  };
  const auto [top, bottom, dy] = split(y, height);
  const auto [left, right, dx] = split(x, width);
  const T above = 1 - dy, before = 1 - dx;
  return Sample{
      {top * width + left, top * width + right, bottom * width + left, bottom * width + right},
      {above * before, above * dx, dy * before, dy * dx}};
}

struct RoiPlan {
  Tensor x, rois;
  std::vector<int64_t> images;  // of the regions
  int64_t channels, height, width, out_height, out_width;
  int64_t ratio;  // samples along a side of a bin; 0: as many as pixels
  bool half_pixel, largest;
  Dims dims;
};

Result<RoiPlan> PlanRois(const FoldCall& call) {
  RoiPlan p{};
  QR_ASSIGN_OR_RETURN(p.x, Need(call, 0));
  QR_ASSIGN_OR_RETURN(p.rois, Need(call, 1));
  QR_ASSIGN_OR_RETURN(const Tensor images, Need(call, 2));
  const Dims &in = p.x.dims(), &regions = p.rois.dims();
  if (in.size() != 4 || regions.size() != 2 || regions[1] != 4 || images.dims() != Dims{regions[0]})
    return Misfit("{} of {} with {} of {}", call.op, ShapeText(in), ShapeText(regions),
                  ShapeText(images.dims()));
  if (!IsFloat(p.x.dtype()) || p.x.dtype() != p.rois.dtype())
    return Reason("{} of {} and {}", call.op, Name(p.x.dtype()), Name(p.rois.dtype()));
  p.out_height = call.attributes.Int("output_height", 1);
  p.out_width = call.attributes.Int("output_width", 1);
  p.ratio = call.attributes.Int("sampling_ratio", 0);
  const std::string_view mode = call.attributes.String("mode", "avg");
  // Without a half before version 16.
  const std::string_view places = call.attributes.String(
      "coordinate_transformation_mode", call.since < 16 ? "output_half_pixel" : "half_pixel");
  p.largest = mode == "max";
  p.half_pixel = places == "half_pixel";
  if (p.out_height < 1 || p.out_width < 1 || p.ratio < 0 || (mode != "avg" && !p.largest) ||
      (places != "output_half_pixel" && !p.half_pixel))
    return Reason("this form of {} is not computed", call.op);
  p.channels = in[1], p.height = in[2], p.width = in[3];
  p.dims = {regions[0], p.channels, p.out_height, p.out_width};
  QR_RETURN_IF_ERROR(CheckSize({p.x.dtype(), p.dims}));
  if ((p.height == 0 || p.width == 0) && Count(p.dims) > 0)
    return Reason("{} of no pixels", call.op);
  QR_ASSIGN_OR_RETURN(p.images, ToInt64s(images));
  for (const int64_t image : p.images) {
    if (image < 0 || image >= in[0]) return Outside(image, in[0]);
  }
  return p;
}

// Where a region begins along one axis, how long a bin is, and how many samples it has.
template <class T>
struct Side {
  T start, bin;
  int64_t samples;

  T Place(int64_t bin_at, int64_t sample) const {
    return start + static_cast<T>(bin_at) * bin +
           (static_cast<T>(sample) + T{0.5}) * bin / static_cast<T>(samples);
  }
};

template <class T>
Result<Side<T>> SideOf(const RoiPlan& p, T scale, T begin, T end, int64_t bins) {
  const T offset = p.half_pixel ? T{0.5} : T{0};
  Side<T> side{.start = begin * scale - offset, .bin = 0, .samples = p.ratio};
  T length = end * scale - offset - side.start;
  if (!p.half_pixel) length = std::max(length, T{1});
  if (!std::isfinite(side.start) || !(std::fabs(length) < T{1 << 24}))
    return Reason("RoiAlign of a region from {} to {}", begin, end);
  side.bin = length / static_cast<T>(bins);
  if (p.ratio == 0) side.samples = static_cast<int64_t>(std::ceil(side.bin));
  return side;
}

// The samples of one bin.
template <class T>
std::vector<std::optional<Sample>> SamplesOf(const RoiPlan& p, const Side<T>& y, const Side<T>& x,
                                             int64_t row, int64_t column) {
  std::vector<std::optional<Sample>> samples;
  for (int64_t i = 0; i < y.samples; ++i) {
    for (int64_t j = 0; j < x.samples; ++j)
      samples.push_back(SampleAt(y.Place(row, i), x.Place(column, j), p.height, p.width));
  }
  return samples;
}

// What a bin of one channel has: the mean of its samples, or the largest. That is the largest of all weighted pixels,
// no sum of four: so it was defined, and so runtimes have it. Of no samples: 0.
template <class T>
T Pool(const T* image, const std::vector<std::optional<Sample>>& samples, bool largest) {
  if (samples.empty()) return 0;
  double sum = 0;
  std::optional<double> top;
  for (const std::optional<Sample>& s : samples) {
    double most = s ? -std::numeric_limits<double>::infinity() : 0;
    for (size_t k = 0; s && k < 4; ++k) {
      const double v = s->weights[k] * static_cast<double>(image[s->at[k]]);
      sum += v;
      most = std::max(most, v);
    }
    top = top ? std::max(*top, most) : most;
  }
  return static_cast<T>(largest ? *top : sum / static_cast<double>(samples.size()));
}

template <class T>
Status AlignRegion(const RoiPlan& p, T scale, int64_t region, T* out) {
  const T* const roi = p.rois.as<T>().data() + region * 4;
  QR_ASSIGN_OR_RETURN(const Side<T> x, SideOf<T>(p, scale, roi[0], roi[2], p.out_width));
  QR_ASSIGN_OR_RETURN(const Side<T> y, SideOf<T>(p, scale, roi[1], roi[3], p.out_height));
  const int64_t samples = std::max<int64_t>(x.samples, 0), rows = std::max<int64_t>(y.samples, 0);
  if (!CheckedCount({samples, rows}, kMaxSamples) ||
      !CheckedCount({Count(p.dims), samples, rows}, kMaxSteps))
    return Reason("RoiAlign with too many samples");
  const int64_t size = p.height * p.width, bins = p.out_height * p.out_width;
  const T* const images =
      p.x.as<T>().data() + p.images[static_cast<size_t>(region)] * p.channels * size;
  for (int64_t bin = 0; bin < bins; ++bin) {
    const auto of_bin = SamplesOf(p, y, x, bin / p.out_width, bin % p.out_width);
    for (int64_t c = 0; c < p.channels; ++c)
      out[c * bins + bin] = Pool(images + c * size, of_bin, p.largest);
  }
  return {};
}

Outputs RoiAlign(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(RoiPlan p, PlanRois(call));
  QR_ASSIGN_OR_RETURN(p.x, p.x.Materialize());
  QR_ASSIGN_OR_RETURN(p.rois, p.rois.Materialize());
  QR_ASSIGN_OR_RETURN(TensorBuffer buffer, TensorBuffer::Make(p.x.dtype(), p.dims));
  return One(VisitFloat(p.x.dtype(), [&](auto tag) -> Result<Tensor> {
    using T = typename decltype(tag)::type;
    const auto scale = static_cast<T>(call.attributes.Float("spatial_scale", 1));
    const int64_t size = CountRange(p.dims, 1, 4);
    for (int64_t region = 0; size > 0 && region < p.dims[0]; ++region)
      QR_RETURN_IF_ERROR(AlignRegion<T>(p, scale, region, buffer.as<T>().data() + region * size));
    return std::move(buffer).Finish();
  }));
}

// --- NonMaxSuppression

// From edge to edge.
struct Box {
  float left, top, right, bottom;
};

Box BoxOf(const float* numbers, bool center) {
  const auto [a, b, c, d] = std::array{numbers[0], numbers[1], numbers[2], numbers[3]};
  if (center) return {a - c / 2, b - d / 2, a + c / 2, b + d / 2};
  return {std::min(b, d), std::min(a, c), std::max(b, d), std::max(a, c)};
}

// In float, as ONNX Runtime computes it: whether a box is over the threshold depends on the last bit.
bool Overlap(const Box& p, const Box& q, float threshold) {
  const float width = std::min(p.right, q.right) - std::max(p.left, q.left);
  const float height = std::min(p.bottom, q.bottom) - std::max(p.top, q.top);
  if (!(width > 0) || !(height > 0)) return false;
  const float shared = width * height;
  const float first = (p.right - p.left) * (p.bottom - p.top),
              second = (q.right - q.left) * (q.bottom - q.top), all = first + second - shared;
  if (!(shared > 0) || first <= 0 || second <= 0 || all <= 0) return false;
  return shared / all > threshold;
}

struct Suppression {
  Tensor boxes, scores;
  int64_t most = 0;  // boxes of a class
  float overlap = 0;
  std::optional<float> least;  // scores that are not above it do not count
  bool center = false;
};

Result<std::optional<float>> Threshold(const FoldCall& call, size_t i) {
  const Tensor* const t = Input(call, i);
  if (t == nullptr) return std::optional<float>();
  if (t->size() != 1) return Reason("{} with an input of shape {}", call.op, ShapeText(t->dims()));
  QR_ASSIGN_OR_RETURN(const std::vector<double> values, ToDoubles(*t));
  return std::optional(static_cast<float>(values[0]));
}

Result<Suppression> PlanSuppression(const FoldCall& call) {
  Suppression s;
  QR_ASSIGN_OR_RETURN(s.boxes, NeedBytes(call, 0));
  QR_ASSIGN_OR_RETURN(s.scores, NeedBytes(call, 1));
  const Dims &boxes = s.boxes.dims(), &scores = s.scores.dims();
  if (boxes.size() != 3 || scores.size() != 3 || boxes[2] != 4 || boxes[0] != scores[0] ||
      boxes[1] != scores[2])
    return Misfit("{} of {} with {}", call.op, ShapeText(boxes), ShapeText(scores));
  if (s.boxes.dtype() != DType::kFloat || s.scores.dtype() != DType::kFloat)
    return Reason("{} of {} and {}", call.op, Name(s.boxes.dtype()), Name(s.scores.dtype()));
  if (Input(call, 2) != nullptr) {
    QR_ASSIGN_OR_RETURN(s.most, IntScalar(call.inputs[2]));
  }
  s.most = std::clamp<int64_t>(s.most, 0, boxes[1]);
  QR_ASSIGN_OR_RETURN(const std::optional<float> overlap, Threshold(call, 3));
  s.overlap = overlap.value_or(0);
  if (!(s.overlap >= 0 && s.overlap <= 1)) return Reason("{} above {}", call.op, s.overlap);
  QR_ASSIGN_OR_RETURN(s.least, Threshold(call, 4));
  const int64_t center = call.attributes.Int("center_point_box", 0);
  if (center != 0 && center != 1) return Reason("{} of boxes of form {}", call.op, center);
  s.center = center == 1;
  for (const float v : s.scores.as<float>()) {
    if (std::isnan(v)) return Reason("{} by a score of NaN", call.op);
  }
  return s;
}

// The boxes of a class that count, best first; of equal ones the first.
std::vector<int64_t> Candidates(const Suppression& s, std::span<const float> scores) {
  std::vector<int64_t> order;
  for (size_t i = 0; i < scores.size(); ++i) {
    if (!s.least || scores[i] > *s.least) order.push_back(static_cast<int64_t>(i));
  }
  std::ranges::stable_sort(order, std::greater<>(),
                           [&](int64_t i) { return scores[static_cast<size_t>(i)]; });
  return order;
}

// Those that do not overlap a better one.
std::vector<int64_t> BestBoxes(const Suppression& s, std::span<const int64_t> order,
                               const float* boxes) {
  std::vector<int64_t> best;
  std::vector<Box> kept;
  for (const int64_t i : order) {
    if (static_cast<int64_t>(best.size()) == s.most) break;
    const Box box = BoxOf(boxes + i * 4, s.center);
    if (std::ranges::any_of(kept, [&](const Box& k) { return Overlap(box, k, s.overlap); }))
      continue;
    best.push_back(i);
    kept.push_back(box);
  }
  return best;
}

Outputs NonMaxSuppression(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(const Suppression s, PlanSuppression(call));
  const int64_t batch = s.scores.dims()[0], classes = s.scores.dims()[1], n = s.scores.dims()[2];
  std::vector<int64_t> selected;
  int64_t steps = 0;
  for (int64_t row = 0; s.most > 0 && row < batch * classes; ++row) {
    const std::span<const float> scores =
        s.scores.as<float>().subspan(static_cast<size_t>(row * n), static_cast<size_t>(n));
    const float* const boxes = s.boxes.as<float>().data() + row / classes * n * 4;
    const std::vector<int64_t> order = Candidates(s, scores);
    const std::optional<int64_t> pairs = CheckedCount(
        {static_cast<int64_t>(order.size()), std::min(s.most, static_cast<int64_t>(order.size()))},
        kMaxSteps);
    if (!pairs || (steps += n + *pairs) > kMaxSteps) return Reason("{} of too many boxes", call.op);
    for (const int64_t i : BestBoxes(s, order, boxes))
      selected.insert(selected.end(), {row / classes, row % classes, i});
  }
  const auto count = static_cast<int64_t>(selected.size()) / 3;
  return std::vector{Tensor::Int64s(selected).Reshaped({count, 3})};
}

}  // namespace

void RegisterRegions(KernelRegistry& registry) {
  Add(registry, "RoiAlign", {.first = 10, .inputs = 3}, InFloat(RoiAlign));
  Add(registry, "NonMaxSuppression", {.first = 10, .inputs = 5}, NonMaxSuppression);
}

}  // namespace qrewrite::fold
