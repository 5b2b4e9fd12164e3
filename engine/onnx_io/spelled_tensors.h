// SpelledTensors: the small tensors of a model by how the file spells them. A quantized model has as
// many scales and zero points as nodes, and most are the same few: what is spelled like one that was
// read before, but for its name, is that one, and is not parsed again.
#pragma once

#include <string_view>
#include <vector>

#include "engine/onnx_io/tensors.h"

namespace qrewrite {

class SpelledTensors {
 public:
  // As ParseTensor(); `message` must outlive this object.
  Result<ParsedTensor> Parse(std::string_view message, const TensorSource& source,
                             std::string_view what);

 private:
  // A message without its name.
  struct Spelling {
    std::string_view before, after;
    friend bool operator==(const Spelling&, const Spelling&) = default;
  };
  struct Known {
    Spelling spelling;
    Tensor tensor;
  };
  static bool Split(std::string_view message, Spelling* spelling, std::string_view* name);

  std::vector<Known> known_;  // by hash, the last one of each slot
};

}  // namespace qrewrite
