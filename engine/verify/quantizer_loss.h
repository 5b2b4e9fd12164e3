// What the quantizers of a model lose of a sample: what lies beyond their ranges, and fractions of steps. Promises in
// decibels are said of data that the quantizers were made for. A sample in the range of the input can grow beyond the
// ranges inside of the network; then two models differ by what one of them cuts off.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "qrewrite/evaluator.h"
#include "qrewrite/model.h"
#include "qrewrite/status.h"

namespace qrewrite {

class QuantizerLoss {
 public:
  // Ranges are found by rules (rules/quantized_values.yaml) in the model in QDQ form (rules/qdq_form.yaml): at most
  // kMost of them, whose values, on inputs of the sizes of `sample`, take at most kMostBytes. Null: there is none. Errors:
  // the evaluator does not take that form.
  static constexpr size_t kMost = 256;
  static constexpr uint64_t kMostBytes = uint64_t{1} << 28;
  static Result<std::unique_ptr<QuantizerLoss>> Make(const Model& model, Evaluator& evaluator,
                                                     const Tensors& sample);

  // Energy that is lost over the energy of what is quantized, added over all quantizers. A range that ends at 0
  // stands for a Relu there: what that cuts off is not lost. Of a fraction the mean is taken, scale^2 / 12.
  Result<double> Of(const Tensors& inputs);
  // The factor of a sample, 1 or a half, a quarter, an eighth, by which least is lost; of equal ones the largest.
  Result<double> LeastAmong(const std::function<Result<Tensors>(double factor)>& sample);

 private:
  struct Range {
    std::string value;  // what is quantized
    double scale = 0, low = 0, high = 0;
  };
  static Result<std::vector<Range>> RangesOf(const Model& form);
  static std::vector<Range> Some(std::vector<Range> ranges, const Model& form,
                                 const Tensors& sample);
  static double Lost(const Range& range, const std::vector<double>& values);

  std::vector<Range> ranges_;
  std::unique_ptr<Session> session_;
};

}  // namespace qrewrite
