// Products with weights that are kept in a few bits, with a scale for each block of them.
#include <algorithm>

#include "engine/fold/functions.h"
#include "engine/fold/support.h"

namespace qrewrite::fold {
namespace {

// MatMulNBits: weights [N, K] in rows of bytes, low bits first; each row ends with a whole block.
struct BlockWeights {
  int64_t k, n, block, bits, blocks;

  static Result<BlockWeights> Of(const FoldCall& call) {
    BlockWeights w{call.attributes.Int("K", 0), call.attributes.Int("N", 0),
                   call.attributes.Int("block_size", 0), call.attributes.Int("bits", 4), 0};
    constexpr int64_t kMost = 1 << 20;
    const auto fits = [&](int64_t size) { return size > 0 && size <= kMost; };
    if (!fits(w.k) || !fits(w.n) || !fits(w.block))
      return Reason("{} with K={}, N={}, block_size={}", call.op, w.k, w.n, w.block);
    w.blocks = (w.k + w.block - 1) / w.block;
    return w;
  }

  // `count` numbers of each row of packed bytes.
  Result<std::vector<double>> Rows(const FoldCall& call, size_t input, int64_t count) const {
    QR_ASSIGN_OR_RETURN(const Tensor bytes, NeedBytes(call, input));
    const Tensor flat = bytes.Reshaped({bytes.size()});
    QR_ASSIGN_OR_RETURN(const Tensor unpacked, Unpack(flat, bits));
    QR_ASSIGN_OR_RETURN(const std::vector<double> all, ToDoubles(unpacked));
    const int64_t row = std::ssize(all) / n;
    if (row * n != std::ssize(all) || row < count)
      return Reason("{}: {} packed numbers for {} rows of {}", call.op, all.size(), n, count);
    std::vector<double> rows;
    for (int64_t i = 0; i < n * count; ++i)
      rows.push_back(all[static_cast<size_t>(i / count * row + i % count)]);
    return rows;
  }

  // A scale or a zero point for each block, [N, blocks].
  Result<std::vector<double>> Each(const FoldCall& call, size_t input) const {
    QR_ASSIGN_OR_RETURN(const Tensor tensor, NeedBytes(call, input));
    if (tensor.size() != n * blocks)
      return Reason("{}: {} numbers for {} blocks", call.op, tensor.size(), n * blocks);
    return ToDoubles(tensor);
  }

  Result<std::vector<double>> Zeros(const FoldCall& call, size_t input) const {
    if (Input(call, input) == nullptr)
      return std::vector<double>(static_cast<size_t>(n * blocks),
                                 static_cast<double>(int64_t{1} << (bits - 1)));
    const bool packed = call.inputs[input].dtype() == DType::kUint8;
    return packed ? Rows(call, input, blocks) : Each(call, input);
  }

  // Which block each of the K rows of the product belongs to.
  Result<std::vector<int64_t>> Blocks(const FoldCall& call, size_t input) const {
    std::vector<int64_t> of;
    for (int64_t i = 0; i < k; ++i) of.push_back(i / block);
    if (Input(call, input) == nullptr) return of;
    QR_ASSIGN_OR_RETURN(const Tensor groups, NeedBytes(call, input));
    QR_ASSIGN_OR_RETURN(const std::vector<double> given, ToDoubles(groups));
    if (std::ssize(given) < k) return Reason("{}: {} groups for K={}", call.op, given.size(), k);
    for (size_t i = 0; i < of.size(); ++i) {
      of[i] = static_cast<int64_t>(given[i]);
      if (of[i] < 0 || of[i] >= blocks) return Reason("{}: no block {}", call.op, of[i]);
    }
    return of;
  }
};

// In float32, as ONNX Runtime dequantizes; the product is that of MatMul.
Outputs MatMulNBits(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(const BlockWeights w, BlockWeights::Of(call));
  QR_ASSIGN_OR_RETURN(const Tensor x, Need(call, 0));
  QR_ASSIGN_OR_RETURN(const std::vector<double> q, w.Rows(call, 1, w.k));
  QR_ASSIGN_OR_RETURN(const std::vector<double> scales, w.Each(call, 2));
  QR_ASSIGN_OR_RETURN(const std::vector<double> zeros, w.Zeros(call, 3));
  QR_ASSIGN_OR_RETURN(const std::vector<int64_t> block_of, w.Blocks(call, 4));
  std::vector<double> weights(static_cast<size_t>(w.k * w.n));
  for (int64_t i = 0; i < w.n; ++i) {
    for (int64_t j = 0; j < w.k; ++j) {
      const auto at = static_cast<size_t>(i * w.blocks + block_of[static_cast<size_t>(j)]);
      const auto offset =
          static_cast<float>(q[static_cast<size_t>(i * w.k + j)]) - static_cast<float>(zeros[at]);
      weights[static_cast<size_t>(j * w.n + i)] = offset * static_cast<float>(scales[at]);
    }
  }
  QR_ASSIGN_OR_RETURN(const Tensor matrix, FromDoubles(x.dtype(), {w.k, w.n}, weights));
  const Tensor operands[] = {x, matrix};
  QR_ASSIGN_OR_RETURN(const std::vector<Tensor> product,
                      Fold(KernelRegistry::Builtin(), {"", "MatMul", 13, operands, {}}));
  if (Input(call, 5) == nullptr) return One(product[0]);
  const Tensor terms[] = {product[0], call.inputs[5]};
  return Fold(KernelRegistry::Builtin(), {"", "Add", 14, terms, {}});
}

}  // namespace

void RegisterBlockWeights(KernelRegistry& registry) {
  registry.Register({.domain = "com.microsoft", .op = "MatMulNBits", .run = MatMulNBits});
}

}  // namespace qrewrite::fold
