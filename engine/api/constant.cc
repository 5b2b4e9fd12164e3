#include "engine/api/constant.h"

#include <optional>
#include <utility>

#include <fmt/format.h>

namespace qrewrite {

Constant ToConstant(Tensor tensor) {
  return Constant(std::make_shared<const Constant::Impl>(Constant::Impl{std::move(tensor)}));
}

int Constant::dtype() const { return static_cast<int>(impl_->tensor.dtype()); }
const std::vector<int64_t>& Constant::dims() const { return impl_->tensor.dims(); }

uint64_t Constant::byte_size() const {
  return impl_->tensor.is_string() ? 0 : impl_->tensor.byte_size();
}

Result<ConstTensor> Constant::Read() const { return ToPlain(impl_->tensor); }

Result<std::vector<std::string>> Constant::ReadStrings() const {
  if (!impl_->tensor.is_string()) {
    return Status(StatusCode::kUnsupported, "the constant has no strings");
  }
  QR_ASSIGN_OR_RETURN(const Tensor whole, impl_->tensor.Materialize());
  return whole.strings();
}

Result<ConstTensor> ToPlain(const Tensor& tensor) {
  if (!tensor.valid()) return ConstTensor();
  if (tensor.is_string()) return Status(StatusCode::kUnsupported, "strings are no plain data");
  QR_ASSIGN_OR_RETURN(Tensor whole, tensor.Materialize());
  // The tensor itself keeps its bytes, wherever they lie.
  const auto owner = std::make_shared<const Tensor>(std::move(whole));
  return ConstTensor{static_cast<int>(owner->dtype()), owner->dims(), {owner->bytes(), owner}};
}

Result<Tensor> FromPlain(ConstTensor plain) {
  const auto bad = [](std::string_view what) {
    return Status(StatusCode::kUnsupported,
                  fmt::format("a function of the host returned {}", what));
  };
  if (!IsKnownDType(plain.dtype) || plain.dtype == 0) return bad("an unknown element type");
  const auto dtype = static_cast<DType>(plain.dtype);
  if (dtype == DType::kString) return bad("strings");
  const std::optional<int64_t> count = CheckedCount(plain.dims);
  if (!count || plain.bytes.size() != PackedBytes(dtype, static_cast<uint64_t>(*count))) {
    return bad("bytes that do not fit type and shape");
  }
  if (plain.bytes.owner() == nullptr) {
    return Tensor::Own(dtype, std::move(plain.dims), {plain.bytes.begin(), plain.bytes.end()});
  }
  return Tensor::View(dtype, std::move(plain.dims), plain.bytes.owner(), plain.bytes);
}

}  // namespace qrewrite
