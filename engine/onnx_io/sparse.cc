#include "engine/onnx_io/sparse.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include "engine/base/diagnostics.h"
#include "engine/onnx_io/wire.h"

namespace qrewrite {
namespace {

using onnx::SparseTensorProto;

class SparseCheck {
 public:
  SparseCheck(const TensorSource& source, std::string who)
      : source_(source), who_(std::move(who)) {}

  Status Run(std::string_view message) {
    std::string_view values, indices;
    bool ok = true;
    WireReader fields(message);
    while (const WireField* f = fields.Next()) {
      if (f->IsBytes(SparseTensorProto::kValuesFieldNumber)) values = f->bytes;
      if (f->IsBytes(SparseTensorProto::kIndicesFieldNumber)) indices = f->bytes;
      if (f->number != SparseTensorProto::kDimsFieldNumber) continue;
      ok &= ForEachVarint(*f, [this](uint64_t d) { dims_.push_back(static_cast<int64_t>(d)); });
    }
    if (!ok || !fields.ok()) return Fault("is damaged");
    count_ = CheckedCount(dims_, std::numeric_limits<int64_t>::max());
    if (!count_) {
      return Fault(fmt::format("has the shape [{}]: a negative or overflowing number of elements",
                               DimsText(dims_)));
    }
    QR_ASSIGN_OR_RETURN(const Tensor numbers, Read(values, who_));
    if (!numbers.valid() || numbers.size() == 0) return {};  // newer than this program; nothing
    QR_ASSIGN_OR_RETURN(const Tensor places, Read(indices, "the indices of " + who_));
    return Indices(numbers.size(), places);
  }

 private:
  Status Fault(std::string_view fault) const {
    return {StatusCode::kInvalidModel, fmt::format("{} {}", who_, fault)};
  }

  Result<Tensor> Read(std::string_view message, const std::string& who) const {
    QR_ASSIGN_OR_RETURN(ParsedTensor parsed, ParseTensor(message, source_, who));
    if (parsed.external) return Fault("is sparse and has external data, which is not supported");
    return std::move(parsed.tensor);
  }

  // Of `n` values: their places in the flattened tensor, or n rows of coordinates.
  Status Indices(int64_t n, const Tensor& places) const {
    if (!places.valid() || !IsInteger(places.dtype())) return Fault("has indices of a wrong type");
    const auto rank = static_cast<int64_t>(dims_.size());
    const bool flat = places.dims() == Dims{n};
    if (!flat && places.dims() != Dims{n, rank}) {
      return Fault(
          fmt::format("has {} values, but indices of the shape [{}]", n, DimsText(places.dims())));
    }
    QR_ASSIGN_OR_RETURN(const std::vector<int64_t> at, ToInt64s(places));
    for (size_t i = 0; i < at.size(); ++i) {
      const int64_t size = flat ? *count_ : dims_[i % dims_.size()];
      if (at[i] >= 0 && at[i] < size) continue;
      return Fault(fmt::format("has the index {}, which is outside of its shape [{}]", at[i],
                               DimsText(dims_)));
    }
    return {};
  }

  const TensorSource& source_;
  std::string who_;
  Dims dims_;
  std::optional<int64_t> count_;
};

}  // namespace

Status CheckSparse(std::string_view message, const TensorSource& source, std::string_view what) {
  const std::string_view name =
      TensorName(FindBytes(message, SparseTensorProto::kValuesFieldNumber));
  return SparseCheck(source,
                     name.empty() ? std::string(what) : fmt::format("tensor `{}`", Printable(name)))
      .Run(message);
}

}  // namespace qrewrite
