// Messages of ONNX as the extension reads and writes them for onnx_ir: numbers of fields, their contents in order. What a field holds is a view of
// the message.
#pragma once

#include <stdexcept>
#include <string_view>
#include <vector>

#include "engine/onnx_io/wire.h"
#include "tools/python/binding.h"

namespace qrewrite::python {

// The numbers of fields never change.
namespace graph_field {
inline constexpr int kNode = 1, kName = 2, kInitializer = 5, kDocString = 10, kInput = 11,
                     kOutput = 12, kValueInfo = 13, kAnnotation = 14, kMetadata = 16;
}
namespace node_field {
inline constexpr int kInput = 1, kOutput = 2, kName = 3, kOpType = 4, kAttribute = 5,
                     kDocString = 6, kDomain = 7, kOverload = 8, kMetadata = 9;
}
namespace attribute_field {
inline constexpr int kName = 1, kFloat = 2, kInt = 3, kString = 4, kGraph = 6, kFloats = 7,
                     kInts = 8, kStrings = 9, kGraphs = 11, kDocString = 13, kType = 20,
                     kReference = 21;
}
namespace value_field {
inline constexpr int kName = 1, kType = 2, kDocString = 3, kMetadata = 4;
}
namespace tensor_field {
inline constexpr int kDims = 1, kDataType = 2, kName = 8, kRawData = 9, kDocString = 12,
                     kExternal = 13, kLocation = 14;
}
inline constexpr int kName = 1;  // of a ValueInfoProto; of a TensorAnnotation, whose it is

using Views = std::vector<std::string_view>;

inline nb::bytes ToBytes(std::string_view text) { return nb::bytes(text.data(), text.size()); }

inline std::string_view ViewOf(const ConstBytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Calls `visit` with each WireField of the message. Throws std::runtime_error if it is damaged.
template <class Visit>
void ForFields(std::string_view message, Visit&& visit) {
  WireReader fields(message);
  while (const WireField* const f = fields.Next()) visit(*f);
  if (!fields.ok()) throw std::runtime_error("a damaged message");
}

}  // namespace qrewrite::python
