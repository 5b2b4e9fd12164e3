// Numbers: the elements of a constant while it is varied.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/base/dice.h"
#include "engine/tensor/tensor.h"

namespace qrewrite {

struct Numbers {
  DType dtype = DType::kUndefined;
  Dims dims;
  std::vector<double> values;

  // nullopt: strings, complex numbers, more than a test would hold.
  static std::optional<Numbers> Of(const Tensor& tensor);
  // What does not fit the type saturates. Invalid: the type holds no such numbers.
  Tensor ToTensor() const;

  // Other numbers of the kind that conditions ask for: 0, 1, ends of the range, one element that
  // differs a little from the others, another order. False: there are none.
  bool Disturb(Dice& dice);
  // Other numbers that are near and all differ: floats keep their signs and zeros, integers of 8 and 16 bits
  // are any, those of INT32 larger. The same numbers become the same ones with the same `base`. False: sizes,
  // indexes, truths. `keep_whole`: whole floats stay whole.
  bool Shake(uint64_t base, bool keep_whole);
  bool Grow(Dice& dice);  // of INT32
  bool AreWhole() const;
  void MakeWhole();
  // The same numbers over another shape: repeated, or cut. What was one number becomes several that
  // differ, most of the time.
  void Resize(const Dims& to, Dice& dice, bool may_grow = true);
};

double LargestFinite(DType dtype);  // of FLOAT and FLOAT16; 0: of another type
// Whether a range of 8 bits in such steps ends beyond what the type holds: what is rounded up there is infinite.
bool EndsBeyond(DType dtype, double step);

// Other element types that a node which takes `dtype` may take as well, the likely ones twice; itself if there
// are none.
std::vector<DType> SimilarTypes(DType dtype);
// One of them.
DType SimilarType(DType dtype, Dice& dice);

}  // namespace qrewrite
