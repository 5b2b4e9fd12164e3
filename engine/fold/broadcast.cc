#include "engine/fold/broadcast.h"

#include <algorithm>

namespace qrewrite::fold {
namespace {

// Dimension `i` of `rank`, as if ones stood in front.
int64_t DimAt(const Dims& dims, size_t i, size_t rank) {
  const size_t missing = rank - dims.size();
  return i < missing ? 1 : dims[i - missing];
}

}  // namespace

Result<Dims> BroadcastShape(const Dims& a, const Dims& b) {
  const size_t rank = std::max(a.size(), b.size());
  Dims shape(rank);
  for (size_t i = 0; i < rank; ++i) {
    const int64_t x = DimAt(a, i, rank);
    const int64_t y = DimAt(b, i, rank);
    if (x != y && x != 1 && y != 1) {
      return Misfit("shapes {} and {} do not broadcast", ShapeText(a), ShapeText(b));
    }
    shape[i] = x == 1 ? y : x;
  }
  return shape;
}

Result<BroadcastLoop> BroadcastLoop::Make(std::initializer_list<const Dims*> operands) {
  QR_CHECK(operands.size() <= kMaxOperands);
  BroadcastLoop loop;
  loop.operands_ = operands.size();
  for (const Dims* dims : operands) {
    QR_ASSIGN_OR_RETURN(loop.shape_, BroadcastShape(loop.shape_, *dims));
  }
  QR_RETURN_IF_ERROR(CheckSize({DType::kUndefined, loop.shape_}));
  const size_t rank = loop.shape_.size();
  std::vector<std::vector<int64_t>> own;
  for (const Dims* dims : operands) own.push_back(Strides(*dims));
  for (size_t i = 0; i < rank; ++i) {
    if (loop.shape_[i] == 1) continue;
    std::vector<int64_t> strides;
    size_t k = 0;
    for (const Dims* dims : operands) {
      const bool moves = DimAt(*dims, i, rank) != 1;
      strides.push_back(moves ? own[k][i - (rank - dims->size())] : 0);
      ++k;
    }
    loop.AddDimension(loop.shape_[i], strides);
  }
  if (loop.extents_.empty()) loop.AddDimension(1, std::vector<int64_t>(operands.size(), 0));
  return loop;
}

void BroadcastLoop::AddDimension(int64_t extent, const std::vector<int64_t>& strides) {
  // Two neighbours are one loop if every operand runs through both without a gap.
  bool merges = !extents_.empty();
  for (size_t k = 0; merges && k < operands_; ++k) {
    merges = strides_[k].back() == strides[k] * extent;
  }
  if (merges) {
    extents_.back() *= extent;
    for (size_t k = 0; k < operands_; ++k) strides_[k].back() = strides[k];
  } else {
    extents_.push_back(extent);
    for (size_t k = 0; k < operands_; ++k) strides_[k].push_back(strides[k]);
  }
}

void BroadcastLoop::ForEachRow(FunctionRef<void(const Row&)> visit) const {
  const size_t outer = extents_.size() - 1;
  int64_t rows = 1;
  for (size_t i = 0; i < outer; ++i) rows *= extents_[i];
  if (row_length() == 0) return;
  std::vector<int64_t> index(outer, 0);
  Row row{0, {}};
  for (int64_t r = 0; r < rows; ++r, row.out += row_length()) {
    visit(row);
    for (size_t i = outer; i-- > 0;) {
      const bool wraps = ++index[i] == extents_[i];
      const int64_t moved = wraps ? 1 - extents_[i] : 1;
      for (size_t k = 0; k < operands_; ++k) row.in[k] += moved * strides_[k][i];
      if (!wraps) break;
      index[i] = 0;
    }
  }
}

}  // namespace qrewrite::fold
