// A test case in the layout of ONNX's own backend tests: test_data_set_0/input_0.pb, output_0.pb.
#include "qrewrite/verify.h"

#include <fmt/format.h>

#include "engine/onnx_io/wire.h"

namespace qrewrite {
namespace {

// onnx.TensorProto: dims 1, data_type 2, name 8, raw_data 9.
std::string TensorProto(const std::string& name, const ConstTensor& tensor) {
  std::string bytes;
  for (const int64_t dim : tensor.dims) PutInt(bytes, 1, dim);
  PutInt(bytes, 2, tensor.dtype);
  PutBytes(bytes, 8, name);
  PutBytes(bytes, 9, {reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size()});
  return bytes;
}

}  // namespace

std::vector<SideFile> VerifyReport::Repro(const Model& a, const Model& b,
                                          const std::string& folder) const {
  std::vector<SideFile> files;
  int64_t number = 0;
  for (const auto& [name, tensor] : worst_inputs_b) {
    files.push_back({fmt::format("{}/test_data_set_0/input_{}.pb", folder, number++),
                     TensorProto(name, tensor)});
  }
  // Outputs of one name are one, wherever they stand; the others are compared by place.
  const std::vector<ModelValue> before = a.Outputs(), after = b.Outputs();
  for (size_t i = 0; i < after.size(); ++i) {
    auto value = worst_a.find(after[i].name);
    if (value == worst_a.end() && i < before.size()) value = worst_a.find(before[i].name);
    if (value == worst_a.end()) continue;
    files.push_back({fmt::format("{}/test_data_set_0/output_{}.pb", folder, i),
                     TensorProto(after[i].name, value->second)});
  }
  return files;
}

}  // namespace qrewrite
