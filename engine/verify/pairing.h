// What of two models belongs together: inputs and outputs by name, other names and types, units of integers.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "qrewrite/verify.h"

namespace qrewrite {

class Pairing {
 public:
  // `notes` gets what the reader should know. kUsage: inputs or outputs of one model that the other one does not have,
  // ranks that differ, options that name none of them; kInvalidModel: versions that do not exist. The models and `options` are kept by reference.
  static Result<Pairing> Make(const Model& a, const Model& b, const VerifyOptions& options,
                              std::vector<std::string>& notes);

  const std::vector<std::string>& outputs() const { return outputs_; }  // of the first model
  const std::vector<ModelValue>& inputs_b() const { return inputs_b_; }
  // Inputs with an initial value that the second model does not have.
  const std::vector<std::string>& lone() const { return lone_; }
  std::string NameInB(const std::string& name) const;

  // What the integers stand for that the second model has where the first one has floats, or integers of another type; or
  // whole numbers in floats of an output. None: nothing is known, or they are no such.
  std::optional<Unit> UnitOf(const std::string& name_in_a, int dtype_a, int dtype_b) const;
  // The second model's inputs, of numbers for the first one's. kUsage: numbers that a type does not have.
  Result<Tensors> InputsOfB(const Tensors& inputs) const;

 private:
  class Values;

  using Notes = std::vector<std::string>;

  Pairing(const Model& a, const Model& b, const VerifyOptions& options)
      : a_(&a), b_(&b), options_(&options) {}
  Status CheckUnits() const;
  Status PairInputs(Notes& notes);
  void PairOverridable(const Values& ours);
  Status PairOutputs(Notes& notes);
  void NoteTypes(const char* what, const ModelValue& a, const ModelValue& b, const char* otherwise,
                 Notes& notes) const;

  const Model* a_;
  const Model* b_;
  const VerifyOptions* options_;
  std::vector<ModelValue> inputs_b_;
  std::map<std::string, std::string> name_in_a_;  // of the inputs of the second model
  // Initial values of inputs that only the second model needs.
  std::map<std::string, std::optional<Constant>> initial_;
  std::vector<std::string> lone_;
  std::vector<std::string> outputs_;
};

}  // namespace qrewrite
