// Tensors of onnx_ir made of TensorProtos whose data is apart: the fields are read here, the tensor is made by a function of Python,
// which knows where the data is. What says more than that is left to another one, which asks onnx_ir.
#pragma once

#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tools/python/ir_objects.h"
#include "tools/python/onnx_message.h"

namespace qrewrite::python {

// A tensor whose data is apart, of which nothing else is said than what a tensor needs.
struct TensorApart {
  std::string_view name;
  int64_t dtype = 0, offset = 0, length = -1;
  std::vector<int64_t> dims;

  static std::optional<TensorApart> Read(std::string_view tensor) {
    TensorApart read;
    bool plain = true, apart = false;
    ForFields(tensor, [&](const WireField& f) {
      if (f.number == tensor_field::kDims) {
        plain &=
            ForEachVarint(f, [&](uint64_t d) { read.dims.push_back(static_cast<int64_t>(d)); });
      } else if (f.IsVarint(tensor_field::kDataType)) {
        read.dtype = static_cast<int64_t>(f.value);
      } else if (f.IsBytes(tensor_field::kName)) {
        read.name = f.bytes;
      } else if (f.IsVarint(tensor_field::kLocation)) {
        apart = f.value == 1;
      } else if (f.IsBytes(tensor_field::kExternal)) {
        const std::string_view key = FindBytes(f.bytes, 1);
        const std::string value(FindBytes(f.bytes, 2));
        if (key == "offset") read.offset = std::strtoll(value.c_str(), nullptr, 10);
        if (key == "length") read.length = std::strtoll(value.c_str(), nullptr, 10);
      } else {
        plain = false;
      }
    });
    if (!plain || !apart || read.length < 0) return std::nullopt;
    return read;
  }
};

class TensorMaker {
 public:
  // `helper`: an instance of qrewrite._ir_build.Builder.
  explicit TensorMaker(nb::object helper) : helper_(std::move(helper)) {}

  // `message`: a TensorProto.
  nb::object Tensor(std::string_view message) {
    const std::optional<TensorApart> apart = TensorApart::Read(message);
    if (!apart) return helper_.attr("tensor")(ToBytes(message));
    const auto size = static_cast<Py_ssize_t>(apart->name.size());
    return helper_.attr("tensor_apart")(
        Steal(PyUnicode_FromStringAndSize(apart->name.data(), size)), DataType(apart->dtype),
        ToTuple(apart->dims), apart->offset, apart->length);
  }
  nb::object DataType(int64_t number) {
    const auto [it, is_new] = dtypes_.try_emplace(number);
    if (is_new) it->second = helper_.attr("dtype")(number);
    return it->second;
  }

 private:
  const nb::object helper_;
  std::unordered_map<int64_t, nb::object> dtypes_;
};

}  // namespace qrewrite::python
