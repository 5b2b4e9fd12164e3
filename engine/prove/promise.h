// Promise: what the `equivalence:` of a rule says, held against numbers.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/tensor/tensor.h"
#include "qrewrite/evaluator.h"

namespace qrewrite {

// Promises in decibels below this are about data that quantizers were made for.
inline constexpr double kAnySizeDb = 45;

struct Promise {
  // kNone: the rule promises nothing. Of finite numbers:
  //   kExact     equal; -0 equals 0
  //   kUlp       at most `limit` numbers of the float type lie between; integers that are rounded from
  //              such differ by 1 at most
  //   kLsb       integers differ by `limit` at most; floats by that many steps, a step being the
  //              widest distance of two neighbours among the numbers of the output
  //   kApprox    the SQNR over all samples is at least `limit` dB
  //   kRescaled  nothing that can be compared: the numbers after the rewrite are in other units
  enum class Kind { kNone, kExact, kUlp, kLsb, kApprox, kRescaled };
  Kind kind = Kind::kNone;
  double limit = 0;
  bool any_type = false;  // types of outputs do not count; for kLsb whole numbers are integers

  static Promise Of(const std::string& equivalence);
};

// Samples of both sides, compared as they come.
class Comparison {
 public:
  explicit Comparison(Promise promise) : promise_(promise) {}

  // Outputs by name. False: `why` says what is wrong.
  bool Add(const Tensors& before, const Tensors& after);
  // After the last sample: whether sums over all of them keep the promise.
  bool Finish();

  const std::string& why() const { return why_; }
  // How near it came: ulps, steps, or dB (infinite: identical). Of kExact: 0.
  double margin() const { return margin_; }

 private:
  struct Sums {
    double signal = 0, noise = 0;  // of before, and of the difference
  };
  bool AddOutput(const std::string& name, const Tensor& before, const Tensor& after);
  bool Fail(std::string why);

  Promise promise_;
  std::map<std::string, Sums> sums_;
  std::string why_;
  double margin_ = 0;
  bool any_margin_ = false;
};

// The promise between two outcomes, sample by sample. False: `why`. `margin`: Comparison::margin, or null.
bool Keeps(Promise promise, const std::vector<Tensors>& before, const std::vector<Tensors>& after,
           std::string& why, double* margin);

}  // namespace qrewrite
