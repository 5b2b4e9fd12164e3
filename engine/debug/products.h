// Products: what is multiplied by a weight, and what is added to that. A producer of models has an addend in the product
// (the bias of a Conv, the third operand of a Gemm) or behind it; both are one value.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/tensor/tensor.h"
#include "qrewrite/model.h"
#include "qrewrite/status.h"

namespace qrewrite {

struct Product {
  std::string kind;    // products of one kind multiply in the same way
  std::string x, w;    // values
  std::string addend;  // "": none
};

struct ScaledValue {
  std::string x;
  Tensor factor;
};

struct Products {
  std::map<std::string, ScaledValue> scaled;  // what is multiplied by constants
  std::map<std::string, Product> products;    // by the value that they make
  std::map<std::string, std::pair<std::string, std::string>> sums;  // likewise, of two values
  std::map<std::string, std::string> same_numbers;                  // constants that are reshaped
};

// Numbers with the sizes `dims` times those of `factor`, which are repeated along axes of one element. nullopt: the sizes
// do not fit. REQUIRES: `numbers` has as many elements as `dims` say.
std::optional<std::vector<double>> Scaled(std::vector<double> numbers, const Dims& dims,
                                          const Tensor& factor);

// By rules of rules/quantized_values.yaml.
Result<Products> FindProducts(const Model& model);

}  // namespace qrewrite
