// What of a difference is no noise: the same for an element each time, whatever the data is.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/tensor/tensor.h"

namespace qrewrite {

// A promise in few decibels allows for what quantizers round off, and a zero point or scale that is another one
// would hide among that. But what is rounded differs from sample to sample: where each element differs by a
// factor and an offset of its own, the numbers are others.
class Systematic {
 public:
  // The numbers of one sample of an output, before and after.
  void Add(const Dims& dims, const std::vector<double>& before, const std::vector<double>& after);
  // The signal over what a factor and an offset of each element explain of the difference, in decibels; infinite where
  // too few samples tell.
  double Decibels() const;

 private:
  struct Sums {
    double n = 0, x = 0, d = 0, xx = 0, xd = 0, dd = 0;
  };
  Dims dims_;
  bool varied_ = false;  // samples have several shapes
  std::vector<Sums> elements_;
};

// The same of a wide quantizer, where an offset is small beside the numbers: what is rounded lies within one step, and its
// mean is none. Where nearly all are off by a step or more, by what rounding once explains, a zero point is another one.
class Shift {
 public:
  void Add(const std::vector<double>& before, const std::vector<double>& after);
  // By how many steps all numbers are off, that are not cut off at the ends; 0 where they are not, where the differences are
  // more than rounding, or where no step shows.
  double Steps() const;

 private:
  std::vector<double> before_, after_;
};

}  // namespace qrewrite
