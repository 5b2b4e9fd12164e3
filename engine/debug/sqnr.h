// SqnrSum: energies of signal and difference, added up sample by sample in float64, for a value as a
// whole, for each of its channels and for each of its blocks.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "qrewrite/debug.h"

namespace qrewrite {

struct Energy {
  double signal = 0, noise = 0;
  bool nonfinite = false;
  bool nonzero_result = false;  // the other side is not 0 everywhere
  bool has_reference = false;   // some reference is finite
  bool breaks = false;          // NaN or an infinity stands for a finite one

  void Add(double reference, double actual);
};

// How elements are numbered by channel: element i belongs to channel i / inner % count.
struct Channels {
  int64_t count = 0;  // 0: none
  int64_t inner = 1;

  static Channels Of(const std::vector<int64_t>& dims, int64_t axis);
};

class SqnrSum {
 public:
  // False: sizes differ, nothing was added. `channels` of a later call must have the same count.
  bool Add(std::span<const double> reference, std::span<const double> actual, Channels channels);
  // The worst of `blocks` consecutive elements along an axis is kept as well (weights).
  void AddBlocks(std::span<const double> reference, std::span<const double> actual, int64_t block,
                 int64_t axis_size, int64_t inner);

  bool empty() const { return !any_; }
  bool has_reference() const { return whole_.has_reference; }  // a finite one
  // `like_ort`: without status, clamped as ONNX Runtime does it.
  Sqnr Get(bool like_ort) const;

 private:
  bool any_ = false;
  Energy whole_;
  std::vector<Energy> channels_, blocks_;
};

}  // namespace qrewrite
