// Quantized values: integers of a model whose scale and zero point are known. They are found by dataflow,
// by the rules of rules/quantized_values.yaml, in a model in QDQ form (rules/qdq_form.yaml).
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "engine/debug/dequantize.h"
#include "qrewrite/model.h"
#include "qrewrite/status.h"

namespace qrewrite {

struct QuantizedActivation {
  std::string source;                 // what is quantized
  std::string q;                      // the integers as they are read: behind a Clip to fewer bits
  std::string quantizer;              // the integers as they are made
  Scheme scheme;                      // constant parts; what is computed is named below
  std::string scale, zero_point;      // "": constant
  double lo = 0, hi = -1;             // range of the integers if it is narrower than their type
  std::vector<std::string> restored;  // float values made of the integers
  // Nothing quantizes it (float_places.h): `q` is the value itself, and its scale is 1.
  bool is_float = false;
};

struct QuantizedWeight {
  std::string q;
  std::string source;    // the float constant that is quantized each time; "": stored as integers
  std::string restored;  // the float value made of it
  std::string turned;    // what a Transpose makes of that; "": nothing
  Tensor integers;
  Scheme scheme;
  bool columns = false;  // channels lie along the last axis
};

// A value whose axes are put into another order.
struct MovedValue {
  std::string source;
  std::vector<int64_t> perm;  // axis k of it is axis perm[k] of the source
};

struct QuantizedValues {
  std::vector<QuantizedActivation> activations;  // producers first
  std::vector<QuantizedWeight> weights;
  std::map<std::string, MovedValue> moved;  // by the name of what comes out
  // By the name of what comes out: what is cast to another float type, and what gets other axes in the same order.
  std::map<std::string, std::string> cast, reshaped;
  // By the name of what is made real with another scale or zero point than it was quantized with: the integers.
  std::map<std::string, std::string> misread;
};

// A copy of the model whose quantizers of producers' own domains (QONNX, and what custom_quantizers knows) are those of ONNX, which
// runtimes have. The rule sets that changed it are added to `rules`.
Result<Model> WithStandardQuantizers(const Model& model, std::vector<std::string>& rules);

// A copy of the model with every quantized operator spelt out; integer values keep their names. `changed`
// says whether there was one.
Result<Model> ToQdqForm(const Model& model, bool* changed);
Result<QuantizedValues> FindQuantizedValues(const Model& model);

// Activations that a quantizer may stand for: their outputs, with their operators.
using Absorbable = std::map<std::string, std::string>;
Result<Absorbable> FindAbsorbable(const Model& float_model);

}  // namespace qrewrite
