// Comparison of one output of two models: sums over samples, the largest difference, the verdict.
#pragma once

#include <cstdint>
#include <map>
#include <span>

#include "engine/tensor/tensor.h"
#include "qrewrite/verify.h"

namespace qrewrite {

class OutputSums {
 public:
  // `varies`: other numbers for the inputs can make others of it.
  OutputSums(std::string name, bool varies) : varies_(varies) { result_.name = std::move(name); }
  const std::string& name() const { return result_.name; }
  // As before the first sample.
  void Clear() { *this = OutputSums(std::move(result_.name), varies_); }

  // The outputs of sample number `sample`; `a` is multiplied by `scale` first. Errors: types without
  // numbers (kUnsupported).
  Status Add(int sample, const Tensor& a, const Tensor& b, double scale,
             const Tolerance& tolerance);
  // The same of the first model and itself.
  Status AddNoise(const Tensor& a, const Tensor& again);

  // The verdict under `tolerance`.
  OutputComparison Finish(const Tolerance& tolerance) const;
  // Whether the tolerance is exceeded, and not only by numbers that say little under it.
  bool IsBeyond(const Tolerance& tolerance) const {
    return !Beyond(tolerance).empty() && !IsChoice(tolerance) && !IsTiny(tolerance);
  }
  // Whether three quarters of the numbers are the least or the largest of all.
  bool IsMostlyAtEnds() const;
  // Of the last sample: it holds the largest difference so far, of those beyond the tolerance if there are any.
  bool is_worst() const { return is_worst_; }

 private:
  // `difference`: of finite numbers.
  void AddElement(int sample, int64_t index, double a, double b, double difference, DType ulp_type,
                  const Tolerance& tolerance);
  bool IsOutside(double a, double difference, double ulp, const Tolerance& tolerance) const;
  void AddToConstancy(const Dims& dims, uint64_t hash);
  void AddRows(int64_t width, std::span<const double> x, std::span<const double> y);
  std::string Beyond(const Tolerance& tolerance) const;
  std::string Vacuous() const;
  bool IsChoice(const Tolerance& tolerance) const;
  bool IsTiny(const Tolerance& tolerance) const;

  OutputComparison result_;
  Dims worst_dims_;
  int64_t worst_at_ = -1;
  double worst_ = -1;   // difference there; infinite where one is no number
  std::string shapes_;  // of the first sample on which they are not the same
  bool is_worst_ = false;
  bool worst_is_outside_ = false;
  int64_t finite_ = 0;   // elements that are finite on both sides
  int64_t outside_ = 0;  // elements that the tolerance does not allow
  int64_t not_numbers_ =
      0;  // elements of which one side alone is finite, or that are infinite apart
  double signal_ = 0, noise_ = 0, product_ = 0, other_ = 0;
  double noise_signal_ = 0, noise_noise_ = 0;
  bool noise_known_ = false;
  bool varies_;
  bool whole_ = false;  // integers or bools on both sides
  int64_t samples_ = 0;
  // What the first model made of the first sample of each shape, as a hash; samples of a shape that was there before,
  // and those of them that it made other numbers of.
  std::map<Dims, uint64_t> first_of_shape_;
  int64_t repeated_ = 0, changed_ = 0;
  double least_ = 0, most_ = 0;  // of the first model's finite elements
  int64_t at_least_ = 0, at_most_ = 0;
};

}  // namespace qrewrite
