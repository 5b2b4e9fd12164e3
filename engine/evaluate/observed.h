// What every evaluator does with a model before it hands it on: the values to look at become outputs,
// inputs are checked, and what needs no computing (inputs and constants that are observed) is answered
// here.
#pragma once

#include <string>
#include <vector>

#include "qrewrite/evaluator.h"

namespace qrewrite {

// Inputs that have an initial value, which callers may override (IR version 4 and later).
std::vector<ModelValue> OverridableInputs(const Model& model);

class ObservedModel {
 public:
  // kUsage: the main graph has no value of that name.
  static Result<ObservedModel> Make(const Model& model, const std::vector<std::string>& observe);

  const Model& model() const { return model_; }
  // Outputs of model() that are tensors, without those that need no computing.
  const std::vector<std::string>& outputs() const { return outputs_; }
  // kUsage: an input is missing, unknown, or has another type or shape than the model says.
  Status CheckInputs(const Tensors& inputs) const;
  // Adds what needs no computing.
  Status AddPassedOn(const Tensors& inputs, Tensors& outputs) const;

 private:
  explicit ObservedModel(Model model) : model_(std::move(model)) {}

  Model model_;
  std::vector<ModelValue> inputs_;
  std::vector<std::string> outputs_;
  std::vector<std::string> passed_inputs_;
  std::vector<NamedConstant> passed_constants_;
};

}  // namespace qrewrite
