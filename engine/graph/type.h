// TypeInfo: what is known about the element type and the shape of a value.
//
// Each part may be unknown on its own: the dtype, the rank, single sizes. A size is a number, a
// symbol ("N", shared by all values of a model that use the name) or unknown.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/tensor/dtype.h"

namespace qrewrite {

class Dim {
 public:
  constexpr Dim() = default;  // unknown
  constexpr explicit Dim(int64_t size) : code_(size < 0 ? -1 : size) {}
  static constexpr Dim Symbol(uint32_t id) {
    Dim dim;
    dim.code_ = -2 - static_cast<int64_t>(id);
    return dim;
  }
  constexpr bool known() const { return code_ >= 0; }
  constexpr bool symbolic() const { return code_ <= -2; }
  constexpr int64_t size() const { return code_; }  // REQUIRES known()
  constexpr uint32_t symbol() const {
    return static_cast<uint32_t>(-2 - code_);
  }  // REQUIRES symbolic()
  friend constexpr bool operator==(Dim, Dim) = default;

 private:
  int64_t code_ = -1;
};

struct TypeInfo {
  DType dtype = DType::kUndefined;  // kUndefined: not known
  bool has_rank = false;
  bool is_tensor = true;  // false: sequence, map, optional: carried, never looked into
  std::vector<Dim> dims;  // meaningful if has_rank

  bool known_shape() const {
    if (!has_rank) return false;
    for (const Dim dim : dims) {
      if (!dim.known()) return false;
    }
    return true;
  }
  friend bool operator==(const TypeInfo&, const TypeInfo&) = default;
};

}  // namespace qrewrite
