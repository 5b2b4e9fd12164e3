// Tensors: TensorProto on the wire, to and from Tensor.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "engine/onnx_io/external_data.h"
#include "engine/tensor/tensor.h"
#include "qrewrite/status.h"

namespace qrewrite {

// What tensors of one model need: who keeps the model's bytes alive, and its data files. Without these external
// data is an error: a sample in a file of its own has none.
struct TensorSource {
  std::shared_ptr<const void> owner;
  ExternalData* external = nullptr;
};

struct ParsedTensor {
  std::string_view name;
  // A view of the model's bytes or of a data file where the layout allows it, else decoded. Not
  // valid if the element type is newer than this program: such a tensor is carried, never looked
  // into.
  Tensor tensor;
  bool external = false;
};

// Reads a TensorProto. `what` names it in messages if it has no name: "attribute `value` of node
// `n`". Nothing is allocated that the bytes of the file do not pay for.
Result<ParsedTensor> ParseTensor(std::string_view message, const TensorSource& source,
                                 std::string_view what);

// "2, 3", as messages show it: a file can claim a shape of any length.
std::string DimsText(const Dims& dims);

// The name alone.
std::string_view TensorName(std::string_view message);

// Fields 1 (dims) and 2 (data_type), a name if it is not empty, and what `original` (a TensorProto,
// or "") has beyond its data: doc string, metadata, unknown fields.
std::string SpellTensorHeader(const Tensor& tensor, std::string_view name,
                              std::string_view original);

}  // namespace qrewrite
