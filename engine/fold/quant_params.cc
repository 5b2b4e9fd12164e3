#include "engine/fold/quant_params.h"

#include <algorithm>
#include <cmath>

#include "engine/fold/chunks.h"

namespace qrewrite::fold {
namespace {

Result<std::vector<float>> Floats(const Tensor& t) {
  if (!IsNumeric(t.dtype())) return Reason("parameters of type {}", Name(t.dtype()));
  QR_ASSIGN_OR_RETURN(const Tensor bytes, t.Materialize());
  std::vector<float> values(static_cast<size_t>(t.size()));
  ChunkReader<float>(bytes).Read(0, values);
  return values;
}

}  // namespace

Result<QuantParams> QuantParams::Make(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(const Tensor x, Need(call, 0));
  QR_ASSIGN_OR_RETURN(const Tensor scale, Need(call, 1));
  if (!IsFloat(scale.dtype()) || scale.dtype() == DType::kDouble) {
    return Reason("{} with a scale of type {}", call.op, Name(scale.dtype()));
  }
  QuantParams params;
  QR_ASSIGN_OR_RETURN(params.scales_, Floats(scale));
  if (params.scales_.size() != 1) {
    QR_RETURN_IF_ERROR(params.SetShape(call, x.dims(), scale.dims()));
  }
  QR_RETURN_IF_ERROR(params.SetZeroPoints(call));
  return params;
}

Status QuantParams::SetShape(const FoldCall& call, const Dims& x, const Dims& scale) {
  // com.microsoft and versions before 13 have no axis unless it is written.
  const bool has_default = call.domain.empty() && call.since >= 13;
  if (!has_default && call.attributes.Find("axis") == nullptr) {
    return Reason("{} without an axis has {} scales", call.op, scales_.size());
  }
  const auto rank = static_cast<int64_t>(x.size());
  int64_t axis = call.attributes.Int("axis", 1);
  if (rank == 1) axis = 0;
  QR_ASSIGN_OR_RETURN(axis, NormalAxis(axis, rank));
  const auto a = static_cast<size_t>(axis);
  extent_ = x[a];
  inner_ = CountRange(x, a + 1, x.size());
  block_ = call.attributes.Int("block_size", 0);
  if (block_ < 0) return Reason("{} in blocks of {}", call.op, block_);
  if (block_ == 0) {
    kind_ = Kind::kAxis;
    if (scale != Dims{extent_}) {
      return Reason("{} of {} along axis {} has scales {}", call.op, ShapeText(x), axis,
                    ShapeText(scale));
    }
    return {};
  }
  kind_ = Kind::kBlocks;
  block_ = std::min(block_, std::max<int64_t>(extent_, 1));  // a block may exceed the axis
  blocks_ = (extent_ + block_ - 1) / block_;
  Dims expected = x;
  expected[a] = blocks_;
  if (scale != expected) {
    return Reason("{} of {} along axis {} in blocks of {} has scales {}", call.op, ShapeText(x),
                  axis, call.attributes.Int("block_size", 0), ShapeText(scale));
  }
  return {};
}

Status QuantParams::SetZeroPoints(const FoldCall& call) {
  zero_points_.assign(scales_.size(), 0.0f);
  if (Input(call, 2) == nullptr) return {};
  const Tensor& zero_point = call.inputs[2];
  QR_ASSIGN_OR_RETURN(const std::vector<float> values, Floats(zero_point));
  if (values.size() == 1) {
    zero_points_.assign(scales_.size(), values[0]);
  } else if (kind_ == Kind::kBlocks && zero_point.dims() != call.inputs[1].dims()) {
    return Reason("{} in blocks has scales {} and zero points {}", call.op,
                  ShapeText(call.inputs[1].dims()), ShapeText(zero_point.dims()));
  } else if (values.size() == scales_.size()) {
    zero_points_ = values;
  } else {
    return Reason("{} has {} scales and {} zero points", call.op, scales_.size(), values.size());
  }
  // Zero points of 16 bits and less are exact in float, and so is any difference of them.
  const bool may_be_other = IsInteger(zero_point.dtype()) && Info(zero_point.dtype()).bits <= 16;
  const bool all_zero = std::ranges::all_of(values, [](float v) { return v == 0; });
  if (!may_be_other && !all_zero) {
    return Reason("{} with a zero point of type {} that is not 0", call.op,
                  Name(zero_point.dtype()));
  }
  return {};
}

bool QuantParams::scales_are_regular() const {
  return std::ranges::all_of(scales_, [](float s) { return std::isfinite(s) && s != 0; });
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
