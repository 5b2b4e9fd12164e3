#include "engine/fold/quant_params.h"

#include <algorithm>
#include <cmath>

#include "engine/fold/chunks.h"

namespace qrewrite::fold {
namespace {

// REQUIRES: a numeric tensor of values.size() elements.
Status Read(const Tensor& tensor, std::span<float> values) {
  QR_ASSIGN_OR_RETURN(Tensor bytes, tensor.Materialize());
  ChunkReader<float>(std::move(bytes)).Read(0, values);
  return {};
}

}  // namespace

Status QuantParams::Check(const FoldCall& call) { return QuantParams().SetForm(call); }

Result<QuantParams> QuantParams::Make(const FoldCall& call) {
  QuantParams params;
  QR_RETURN_IF_ERROR(params.SetForm(call));
  const Tensor& scale = call.inputs[1];
  const auto count = static_cast<size_t>(scale.size());
  params.numbers_.resize(2 * count);
  const std::span<float> scales = std::span(params.numbers_).first(count);
  const std::span<float> zero_points = std::span(params.numbers_).last(count);
  QR_RETURN_IF_ERROR(Read(scale, scales));
  const Tensor* zero_point = Input(call, 2);
  if (zero_point == nullptr || count == 0) return params;
  QR_RETURN_IF_ERROR(Read(*zero_point, zero_points.first(static_cast<size_t>(zero_point->size()))));
  if (zero_point->size() == 1) std::ranges::fill(zero_points, zero_points[0]);
  return params;
}

Status QuantParams::SetForm(const FoldCall& call) {
  QR_RETURN_IF_ERROR(NeedInputs(call, 2));
  const Tensor& scale = call.inputs[1];
  if (!IsFloat(scale.dtype()) || scale.dtype() == DType::kDouble) {
    return Reason("{} with a scale of type {}", call.op, Name(scale.dtype()));
  }
  if (scale.size() != 1) QR_RETURN_IF_ERROR(SetShape(call, call.inputs[0], scale));
  const Tensor* zero_point = Input(call, 2);
  return zero_point == nullptr ? Status() : CheckZeroPoint(call, *zero_point, scale.size());
}

Status QuantParams::SetShape(const FoldCall& call, const Tensor& x, const Tensor& scale) {
  // com.microsoft and versions before 13 have no axis unless it is written.
  const bool has_default = call.domain.empty() && call.since >= 13;
  if (!has_default && call.attributes.Find("axis") == nullptr) {
    return Reason("{} without an axis has {} scales", call.op, scale.size());
  }
  int64_t axis = call.attributes.Int("axis", 1);
  if (x.rank() == 1) axis = 0;
  QR_ASSIGN_OR_RETURN(axis, NormalAxis(axis, x.rank()));
  const auto a = static_cast<size_t>(axis);
  extent_ = x.dims()[a];
  inner_ = CountRange(x.dims(), a + 1, x.dims().size());
  block_ = call.attributes.Int("block_size", 0);
  if (block_ < 0) return Reason("{} in blocks of {}", call.op, block_);
  if (block_ == 0) {
    kind_ = Kind::kAxis;
    if (scale.rank() == 1 && scale.size() == extent_) return {};
    return Misfit("{} of {} along axis {} has scales {}", call.op, ShapeText(x.dims()), axis,
                  ShapeText(scale.dims()));
  }
  kind_ = Kind::kBlocks;
  block_ = std::min(block_, std::max<int64_t>(extent_, 1));  // a block may exceed the axis
  blocks_ = (extent_ + block_ - 1) / block_;
  Dims expected = x.dims();
  expected[a] = blocks_;
  if (scale.dims() == expected) return {};
  return Misfit("{} of {} along axis {} in blocks of {} has scales {}", call.op,
                ShapeText(x.dims()), axis, call.attributes.Int("block_size", 0),
                ShapeText(scale.dims()));
}

Status QuantParams::CheckZeroPoint(const FoldCall& call, const Tensor& zero_point,
                                   int64_t num_scales) const {
  if (!IsNumeric(zero_point.dtype())) {
    return Reason("parameters of type {}", Name(zero_point.dtype()));
  }
  if (zero_point.size() != 1) {
    if (kind_ == Kind::kBlocks && zero_point.dims() != call.inputs[1].dims()) {
      return Misfit("{} in blocks has scales {} and zero points {}", call.op,
                    ShapeText(call.inputs[1].dims()), ShapeText(zero_point.dims()));
    }
    if (zero_point.size() != num_scales) {
      return Misfit("{} has {} scales and {} zero points", call.op, num_scales, zero_point.size());
    }
  }
  // Zero points of 16 bits and less are exact in float, and so is any difference of them.
  if (IsInteger(zero_point.dtype()) && Info(zero_point.dtype()).bits <= 16) return {};
  std::vector<float> values(static_cast<size_t>(zero_point.size()));
  QR_RETURN_IF_ERROR(Read(zero_point, values));
  if (std::ranges::all_of(values, [](float v) { return v == 0; })) return {};
  return Reason("{} with a zero point of type {} that is not 0", call.op, Name(zero_point.dtype()));
}

bool QuantParams::scales_are_regular() const {
  return std::all_of(scales(), zero_points(), [](float s) { return std::isfinite(s) && s != 0; });
}

QuantParams::Piece QuantParams::PieceAt(int64_t begin, int64_t end) const {
  if (kind_ == Kind::kTensor) return {begin, end - begin, 0, 0};
  const int64_t in = begin % inner_;
  const int64_t at = begin / inner_ % extent_;
  const int64_t rest = end - begin;
  if (kind_ == Kind::kAxis) {
    if (inner_ > 1) return {begin, std::min(inner_ - in, rest), at, 0};
    return {begin, std::min(extent_ - at, rest), at, 1};
  }
  const int64_t outer = begin / inner_ / extent_;
  const int64_t index = (outer * blocks_ + at / block_) * inner_ + in;
  if (inner_ > 1) return {begin, std::min(inner_ - in, rest), index, 1};
  return {begin, std::min({block_ - at % block_, extent_ - at, rest}), index, 0};
}

}  // namespace qrewrite::fold
