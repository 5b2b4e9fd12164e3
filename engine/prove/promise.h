// Promise: what the `equivalence:` of a rule says, held against numbers.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/prove/series.h"
#include "engine/prove/systematic.h"
#include "engine/tensor/tensor.h"
#include "qrewrite/evaluator.h"

namespace qrewrite {

// Promises in decibels below this are about data that quantizers were made for.
inline constexpr double kAnySizeDb = 45;
// And where they are above 0, what differs by a factor and an offset for each element is not among what they allow for:
// it keeps as many decibels, and at least these.
inline constexpr double kSystematicDb = 16;
// With other steps (Promise::other_steps) that keeps kLessWithOtherSteps less: a step that is half of what it should be is 6 dB. And
// all differences keep kLessNoiseWithOtherSteps less than is promised, but kLeastNoiseDb: at a size of the inputs at which
// nothing is left of the numbers another factor would not show.
inline constexpr double kLessWithOtherSteps = 6, kLessNoiseWithOtherSteps = 12, kLeastNoiseDb = 3;

struct Promise {
  // kNone: the rule promises nothing. Of finite numbers:
  //   kExact     equal; -0 equals 0
  //   kUlp       at most `limit` numbers of the float type lie between; integers that are rounded from
  //              such differ by 1 at most
  //   kLsb       integers differ by `limit` at most; floats by that many steps: where all numbers of both
  //              sides are whole multiples of one, as behind a dequantizer, by that; else a step is the widest
  //              distance of two neighbours among the numbers of the output, in all samples; one step for
  //              each index of an axis, where their numbers are multiples of steps that stand in the graph (`scales`)
  //   kApprox    the SQNR over all samples is at least `limit` dB; or, below kAnySizeDb, integers differ by 1 at
  //              most: where they are few steps, one that is rounded the other way is much
  //   kRescaled  outputs of one type: as it is or in units (units.h), the result is what the original was
  //              as it was or in units; integers differ by 1 at most, floats by a 1e-4th of the largest, or by
  //              a step where both sides are whole multiples of one (`scales`).
  //              Integers that became floats, or floats that became integers: else one is the other times a
  //              factor plus an offset, which may be others for each index of one axis
  enum class Kind { kNone, kExact, kUlp, kLsb, kApprox, kRescaled };
  Kind kind = Kind::kNone;
  double limit = 0;
  double unseen =
      0;  // of kApprox: differences up to this are none, no number of the type is that near
  // Of kApprox: numbers count as at least so large. Of a small difference of large constants little is left, and no
  // sum over data says so.
  double least = 0;
  // Of kApprox below kAnySizeDb: a step is another one than in the rule's tests, so that quantizers may fit the data less.
  bool other_steps = false;
  std::map<std::string, double> least_of = {};  // the same of outputs that data does not reach
  std::set<std::string> retyped =
      {};  // outputs that were integers and are floats, or the other way round
  // Types of outputs do not count. For kLsb whole numbers are integers then, or integers times one of
  // `whole_scales`, the scales of the graph that are whole; it may be another one for each index of an axis.
  bool any_type = false;
  std::set<int64_t> whole_scales = {};
  std::set<double> scales =
      {};  // of kRescaled and kLsb: numbers of the graph that may be the step of an output

  static Promise Of(const std::string& equivalence);
};

// Decibels that are not about data that quantizers were made for.
inline bool AreDecibelsOfAnyData(const Promise& promise) {
  return promise.kind == Promise::Kind::kApprox && promise.limit >= kAnySizeDb;
}

// Why numbers on which a rule was right were not held to what it promises, but to less. kNone: they were.
enum class Excuse : uint8_t {
  kNone,
  kOtherRule,     // another rule that fired promises less
  kNarrowFloats,  // of 16 bits,
  kShapesAlone,   // or so few bits, or no data, that nothing but the shape is compared
  kNoData,        // numbers count as at least as large as the largest
  kOtherSteps,    // Promise::other_steps
  kWhereMade,     // an output differs by more, the values that the rule makes do not
  kEachFiring,    // or each firing keeps the promise by itself
  kOtherRuntime,  // the kernels lack an operator: 80 dB of another order of sums
  kByOne,         // Promise::Kind::kApprox, below kAnySizeDb: integers
};
std::string_view Name(Excuse excuse);  // "another rule", "16 bits", ...

// By how many steps numbers of the one side are above those of the other.
class Drift {
 public:
  void Add(const std::vector<double>& a, const std::vector<double>& b, double step);
  // Whether nearly all are off by a step, in one direction.
  bool IsOneWay() const;

 private:
  double count_ = 0, steps_ = 0;
};

// Samples of both sides, compared as they come.
class Comparison {
 public:
  explicit Comparison(Promise promise) : promise_(std::move(promise)) {}

  // The numbers of all samples, which tell the steps of kLsb and of kRescaled.
  void LearnSteps(const std::vector<Tensors>& before, const std::vector<Tensors>& after);
  // Outputs by name. False: `why` says what is wrong.
  bool Add(const Tensors& before, const Tensors& after);
  // After the last sample: whether sums over all of them keep the promise.
  bool Finish();

  const std::string& why() const { return why_; }
  // How near it came: ulps, steps, or dB (infinite: identical; NaN: integers that differ by 1). Of kExact: 0.
  double margin() const { return margin_; }

 private:
  struct Sums {
    double signal = 0, noise = 0;  // of before, and of the difference
    double most = 0;               // the largest difference,
    bool whole = true;             // of integers alone
    // `least`: Promise::least; `unseen`: Promise::unseen.
    void Add(double a, double b, double least, double unseen);
  };
  // An output where units may change.
  struct Rescaled {
    bool possible[4] = {true, true, true, true};  // by readings: of before, then of after
    double steps[4] = {};                         // that all samples are on
    Drift drift[4];
    // If the type is another one: the numbers of each sample, and their shape.
    std::vector<std::vector<double>> before, after;
    std::vector<std::vector<int64_t>> dims;
  };
  // Steps of an output of floats: one for each index along an axis, or for all.
  struct Steps {
    size_t axis = 0;  // the rank: one step for all
    std::vector<double> of;
  };
  // What the elements of an output are measured with.
  struct Ruler {
    DType dtype;
    Dims dims;
    bool is_float;     // and no whole numbers that count as integers
    Steps steps = {};  // of kLsb
    double StepAt(size_t i) const;
  };
  Ruler RulerOf(const std::string& name, const Tensor& before, bool whole,
                const std::vector<double>& numbers) const;
  std::optional<double> DistanceOf(const Ruler& ruler, size_t i, double a, double b) const;
  bool IsWithin(const Ruler& ruler, double distance) const;
  bool AddOutput(const std::string& name, const Tensor& before, const Tensor& after);
  void LearnStepsAlong(const std::string& name, const Series& a, const Series& b, double step);
  void LearnWholeSteps(const std::string& name, const Series& a, const Series& b);
  void LearnRescaled(const std::vector<Tensors>& before, const std::vector<Tensors>& after);
  bool AddRescaled(const std::string& name, const Tensors& before, const Tensors& after);
  bool FinishRescaled();
  bool FinishApprox();
  bool Fail(std::string why);

  Promise promise_;
  std::map<std::string, Sums> sums_;
  std::map<std::string, Systematic> systematic_;  // of kApprox, below kAnySizeDb,
  std::map<std::string, Shift> shifts_;           // and this
  std::map<std::string, Steps> steps_;            // of kLsb, where numbers are floats,
  std::map<std::string, Steps> whole_steps_;      // or whole floats
  std::map<std::string, Rescaled> rescaled_;
  std::string why_;
  double margin_ = 0;
};

// The promise between two outcomes, sample by sample. False: `why`. `margin`: Comparison::margin, or null.
bool Keeps(Promise promise, const std::vector<Tensors>& before, const std::vector<Tensors>& after,
           std::string& why, double* margin);

}  // namespace qrewrite
