// Numbers for the inputs of a model, made to fit what it does with them: indexes lie in their tables,
// integers that count nothing are masks, numbers in front of a quantizer lie around its range.
//
// What an input is for is said by rules (rules/input_roles.yaml), not here.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/dice.h"
#include "engine/base/function_ref.h"
#include "engine/tensor/tensor.h"
#include "qrewrite/verify.h"

namespace qrewrite {

// What kind of numbers a sample has. In turn, so that few samples show the most.
enum class SampleKind { kNormal, kUniform, kWhole, kTies, kExtreme, kZero };
std::string_view Name(SampleKind kind);

Result<Rules> LoadInputRoles();

class InputMaker {
 public:
  // kUsage: an option names no input; kUnsupported: an input has a type that no numbers are made for.
  // `roles`: the rules that say what inputs are for, if they were loaded already (LoadInputRoles).
  static Result<InputMaker> Make(const Model& model, const VerifyOptions& options,
                                 const Rules* roles = nullptr);

  // Sizes that the model leaves open; two in turn, so that a size that was written down as a number
  // shows. Those that have one name are equal, and neighbours among the others differ (unless
  // `equal`), so that sizes that were mixed up show.
  struct Sizes {
    int64_t even = 2, odd = 3;
    bool equal = false;
    // If not 0: of the first axis of inputs that have several, which counts samples mostly.
    int64_t leading = 0;
    bool operator==(const Sizes&) const = default;
  };
  // Sample number `index` from 0; the same one for the same seed, whatever was made before. `amplitude`: a factor of
  // floats whose range was not given.
  Result<Tensors> Sample(int index, Sizes sizes, double amplitude = 1) const {
    return Sample(KindOf(index), index, sizes, amplitude);
  }
  Result<Tensors> Sample(SampleKind kind, int index, Sizes sizes, double amplitude) const;
  // What is out of range is left out if the tolerance is an SQNR: approximations promise something of
  // the numbers that a quantizer was made for.
  SampleKind KindOf(int index) const;
  // Whether Sizes decide anything.
  bool has_open_sizes() const;
  // Elements of the largest input; INT64_MAX if there are more.
  int64_t LargestInput(Sizes sizes) const;
  // Whether the input counts rows, or is a size: larger numbers have no meaning.
  bool Counts(const std::string& input) const;
  // Inputs of floats that a quantizer reads in `other`'s model, under the name that `name_in_other` gives, and none in this
  // one become multiples of that quantizer's scale within its range; their names.
  std::vector<std::string> TakeSteps(const InputMaker& other,
                                     FunctionRef<std::string(const std::string&)> name_in_other);
  // Whether a quantizer takes its step from there.
  bool IsScale(const std::string& input) const;

 private:
  // Where a quantizer reads the input.
  struct Step {
    double scale = 0, low = 0, high = 0;  // a step; the ends of the range
  };
  struct Input {
    std::string name;
    DType dtype = DType::kUndefined;
    std::vector<int64_t> dims;    // an open one: -1 - the number of its symbol
    std::optional<int64_t> rows;  // of the smallest table that it indexes
    std::optional<Step> step;
    bool on_steps = false;  // multiples of the scale of `step`
    bool positive = false;  // it is the scale of a quantizer
    int64_t length_of = 0;  // an open size, if the input has a length for each row of another one
    std::optional<std::pair<double, double>> range;
  };

  Status AddInputs(const Model& model, const VerifyOptions& options);
  void FindLengths();
  Status AddRanges(const VerifyOptions& options);
  Status AddRoles(const Model& model, const Rules& rules);
  Input* Find(const std::string& name);
  int64_t SizeOf(int64_t open, int index, Sizes sizes) const;
  std::vector<int64_t> DimsOf(const Input& input, int index, Sizes sizes) const;
  Result<Tensor> Numbers(const Input& input, std::vector<int64_t> dims, SampleKind kind,
                         double amplitude, int64_t length, Dice& dice) const;
  static double Float(const Input& input, SampleKind kind, Dice& dice);
  // `length`: that of a row, if the input counts those.
  static int64_t Integer(const Input& input, SampleKind kind, int64_t length, Dice& dice);

  std::vector<Input> inputs_;
  // Open sizes that are first of several, and the next open one of such an input; 0: there is none.
  std::map<int64_t, int64_t> leading_;
  uint64_t seed_ = 0;
  bool in_range_ = false;
};

}  // namespace qrewrite
