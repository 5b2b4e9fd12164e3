// Scales and zero points of QuantizeLinear and DequantizeLinear: one for the tensor, one for each
// index of an axis, or one for each block along an axis.
#pragma once

#include <span>
#include <vector>

#include "engine/fold/support.h"

namespace qrewrite::fold {

class QuantParams {
 public:
  // Of the inputs x, scale, zero point? and the attributes axis and block_size, all checked. More
  // is accepted than ONNX allows where the meaning is plain: a scale with one element is the
  // tensor's whatever its rank, one zero point serves all scales, for rank 1 there is only axis 0.
  // Errors: shapes that do not fit, a zero point where the type has none.
  static Result<QuantParams> Make(const FoldCall& call);
  // What Make() would report, without reading numbers that cannot be wrong.
  static Status Check(const FoldCall& call);

  // Elements [begin, begin + length) whose parameters are [index, index + step, ..].
  struct Piece {
    int64_t begin, length, index, step;
  };
  // Calls visit(Piece) for consecutive pieces of [begin, end).
  template <class Visit>
  void ForEachPiece(int64_t begin, int64_t end, Visit visit) const {
    while (begin < end) {
      const Piece piece = PieceAt(begin, end);
      visit(piece);
      begin += piece.length;
    }
  }

  const float* scales() const { return numbers_.data(); }
  const float* zero_points() const { return numbers_.data() + num_scales(); }  // as many
  // No scale is 0, infinite or NaN.
  bool scales_are_regular() const;

 private:
  enum class Kind { kTensor, kAxis, kBlocks };

  size_t num_scales() const { return numbers_.size() / 2; }
  Status SetForm(const FoldCall& call);
  Status SetShape(const FoldCall& call, const Tensor& x, const Tensor& scale);
  Status CheckZeroPoint(const FoldCall& call, const Tensor& zero_point, int64_t num_scales) const;
  Piece PieceAt(int64_t begin, int64_t end) const;

  Kind kind_ = Kind::kTensor;
  int64_t extent_ = 1;  // of the axis
  int64_t inner_ = 1;   // elements behind one index of the axis
  int64_t block_ = 1;
  int64_t blocks_ = 1;          // along the axis
  std::vector<float> numbers_;  // scales, zero points
};

}  // namespace qrewrite::fold
