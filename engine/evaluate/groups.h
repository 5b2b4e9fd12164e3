// Groups: what is observed in one pass over the samples, so that the values in memory are those of a few tensors
// of one sample, however many the models have.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/graph/graph.h"
#include "qrewrite/evaluator.h"
#include "qrewrite/model.h"

namespace qrewrite {

// Bytes of the values of a model's main graph on inputs of the sizes of `inputs`. Where inference does not know a
// size, it is that of the largest value that was asked for before.
class ValueSizes {
 public:
  ValueSizes(const Model& model, const Tensors& inputs);
  uint64_t Bytes(const std::string& name);  // 0: there is no such value

 private:
  std::unordered_map<std::string, std::optional<uint64_t>> bytes_;  // nullopt: not known
  uint64_t largest_ = 0;
};

// Neighbours, in their order, whose sizes add up to `most` at most, or that are larger alone. There is a group at
// least, which may be empty.
std::vector<std::vector<size_t>> GroupsOf(const std::vector<uint64_t>& sizes, uint64_t most);

}  // namespace qrewrite
