// Products: what is multiplied by a weight, and what is added to that. A producer of models has an addend in the product
// (the bias of a Conv, the third operand of a Gemm) or behind it; both are one value.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "qrewrite/model.h"
#include "qrewrite/status.h"

namespace qrewrite {

struct Product {
  std::string kind;    // products of one kind multiply in the same way
  std::string x, w;    // values
  std::string addend;  // "": none
};

struct Products {
  std::map<std::string, Product> products;                          // by the value that they make
  std::map<std::string, std::pair<std::string, std::string>> sums;  // likewise, of two values
  std::map<std::string, std::string> same_numbers;                  // constants that are reshaped
};

// By rules of rules/quantized_values.yaml.
Result<Products> FindProducts(const Model& model);

}  // namespace qrewrite
