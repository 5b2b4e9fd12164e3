// The numbers of outputs, sample by sample, and where they stand.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/tensor/tensor.h"
#include "qrewrite/evaluator.h"

namespace qrewrite {

// The numbers of one output, sample by sample.
struct Series {
  std::vector<Dims> dims;
  std::vector<std::vector<double>> samples;
};

// By name. Outputs that are no numbers (strings) are not among them.
std::map<std::string, Series> SeriesOf(const std::vector<Tensors>& samples);

// The index along an axis of element `i`; axis == rank: 0.
size_t IndexAlong(const Dims& dims, size_t axis, size_t i);

// "`y`: element 3 is 1 before and 2 after"
std::string At(const std::string& name, size_t i, double before, double after);

}  // namespace qrewrite
