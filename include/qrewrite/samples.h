// Samples: inputs for several runs of a model, from files or made at random.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "qrewrite/evaluator.h"
#include "qrewrite/model.h"
#include "qrewrite/status.h"

namespace qrewrite {

// Inputs for several runs. Each is made when it is asked for.
struct Samples {
  size_t count = 0;
  std::string origin;  // "inputs.npz", "random numbers, seed 0"
  std::function<Result<Tensors>(size_t i)> get;
};

// From an .npz archive: arrays by the names of the inputs, the first axis counts the samples; where an
// input has a fixed first size other than 1, each sample takes so many rows. From a folder: a sample is
// an .npz file of the inputs as they are, or a folder (test_data_set_0) with input_<i>.pb. At most `most`
// samples. The arrays may have the names of the inputs of `other`, if it has as many; inputs of `model`
// that have an initial value are taken from archives that have them. kUsage: an input is missing or does
// not fit, or there is no sample.
Result<Samples> SamplesFromFile(const Model& model, const std::string& path, size_t most,
                                const Model* other = nullptr);
// Normal numbers for float inputs, 0 and 1 for others. Sizes that are not fixed are 1.
Samples RandomSamples(const Model& model, size_t count, uint64_t seed);

}  // namespace qrewrite
