// Measurement: the two models on the samples, and the energies of what differs. In memory are the values of one
// sample at a time, and of these those of a group of neighbours: there are as many passes over the samples. There
// are also the float weights, and with `isolate` the float values that a group's operators get from other groups.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/debug/absorbed.h"
#include "engine/debug/matching.h"
#include "engine/debug/sqnr.h"
#include "qrewrite/debug.h"

namespace qrewrite {

// A quantized activation and all that is measured about it.
struct MeasuredActivation {
  const QuantizedActivation* activation;
  std::string reference;  // in the float model; "": none
  Order order = {};       // of its axes
  Tensor factor = {};     // valid: the float value is multiplied by it
  Dims dims = {};         // in the sample that was added last
  // What the quantizer stands for, the first one first.
  std::vector<AbsorbedActivation> absorbed;
  // What the quantized model has right behind it, and nothing else reads the value: what that cuts off, the quantizer may.
  std::optional<AbsorbedActivation> behind;
  bool left_out = false;     // the quantized model does not have it
  bool in_original = false;  // its integers are a value of the quantized model as it is

  SqnrSum local, cumulative, isolated;
  // The same of what `behind` leaves of the value.
  SqnrSum read_local, read_cumulative, read_isolated;
  double saturated = 0;  // percent, times samples
  size_t runs = 0;
  bool misfit = false;  // the float value has another size
  // It had in the first sample, when it is settled what the operators that run alone are given.
  bool misfit_at_first = false;
};

// An output, or a value that both models have where nothing is quantized.
struct Pair {
  std::string float_name, quantized_name;
  const QuantizedActivation* activation = nullptr;  // if it is quantized
  SqnrSum cumulative;
  bool misfit = false;  // the two are of different sizes
  // Integers in the place of floats, and nobody says what they stand for: sums of products, say. They are not compared.
  bool has_codes = false;
};

struct Models {
  const Model& original;  // the float one
  const Model& quantized;
  const Model& form;  // the quantized one in QDQ form
  bool form_differs;
};

// The copy of `form` in which what is made of quantized activations is an input. `substitutes` says of these
// inputs which value of the float model they get.
struct Substitute {
  const MeasuredActivation* place;
  DType dtype;
};
using Substitutes = std::map<std::string, Substitute>;
Result<Model> IsolatedModel(const Model& form, const std::vector<const MeasuredActivation*>& places,
                            Substitutes& substitutes);

class Measurement {
 public:
  Measurement(const Models& models, Evaluator& evaluator)
      : models_(models), evaluator_(evaluator) {}

  std::vector<MeasuredActivation> places;
  std::vector<Pair> pairs;
  // By place: those whose values its operator reads.
  std::vector<std::vector<size_t>> operands;
  std::vector<std::string> constants;  // float weights whose values are wanted
  Tensors constant_values;             // after Run()
  std::vector<std::string> notes;
  bool isolate = false;              // run every operator alone, on the float model's values
  bool compat_ort = false;           // numbers as ONNX Runtime's tool has them
  uint64_t most_bytes = UINT64_MAX;  // of a group's values

  // Errors name the model that does not run.
  Status Run(const Samples& samples);
  // A sample under the names and float types of the inputs of `model`.
  Result<Tensors> InputsOf(const Model& model, const Tensors& sample) const;

 private:
  // What one pass over the samples measures.
  struct Group {
    std::vector<size_t> members;  // indices of all places, and behind them of all pairs
    std::vector<MeasuredActivation*> places;
    std::vector<Pair*> pairs;
    // With `isolate`: places whose values the operators in front of `places` get.
    std::vector<const MeasuredActivation*> given;
  };

  Result<std::vector<Group>> Groups(const Samples& samples);
  Result<std::vector<uint64_t>> Sizes(const Tensors& sample) const;
  std::vector<const MeasuredActivation*> GivenTo(const std::vector<size_t>& group) const;
  Status Load();
  Status LoadQuantized();
  void MeasureForm(const std::string& why);
  void Note(std::string note);  // once
  void LoadIsolated();
  Status AddSample(const Tensors& sample, bool first);
  Status AddPlace(MeasuredActivation& place, const Tensors& reference, const Tensors& quantized,
                  const Tensors& form);
  Status AddPair(Pair& pair, const Tensors& reference, const Tensors& quantized);
  Status AddIsolated(const Tensors& sample, const Tensors& reference);

  Models models_;
  Evaluator& evaluator_;
  Group group_;
  std::unique_ptr<Session> float_, quantized_, form_, isolated_;
  Substitutes substitutes_;
};

}  // namespace qrewrite
