// The words of the signature format (engine/ops/signature_text.cc) that reader and printer share.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

#include "engine/ops/signature.h"

namespace qrewrite {

// Indexed by AttrKind.
inline constexpr std::array<std::string_view, 15> kAttrKindNames = {
    "undefined",      "float",      "int",        "string",  "tensor", "graph",
    "floats",         "ints",       "strings",    "tensors", "graphs", "sparse_tensor",
    "sparse_tensors", "type_proto", "type_protos"};

// In the order of the bits of TypeContainer.
inline constexpr std::array<std::string_view, 4> kContainerNames = {"seq", "optional", "map",
                                                                    "sparse"};

struct SignatureFlag {
  std::string_view name;
  bool Signature::*field;
  bool value;  // what the flag says about the field
};
inline constexpr SignatureFlag kSignatureFlags[] = {
    {"deprecated", &Signature::deprecated, true},
    {"random", &Signature::deterministic, false},
    {"commutative", &Signature::commutative, true},
};

// Adds the type that the word names: an element type or a container. False: it names none.
inline bool AddType(std::string_view word, TypeVar& var) {
  if (const auto dtype = DTypeFromTextName(word)) {
    var.dtypes |= uint64_t{1} << static_cast<int>(*dtype);
    return true;
  }
  const auto it = std::ranges::find(kContainerNames, word);
  if (it == kContainerNames.end()) return false;
  var.containers |= static_cast<uint8_t>(1 << (it - kContainerNames.begin()));
  var.only_tensors = false;
  return true;
}

// Does a formal name this type by itself (`:int64`), so that no variable declares it?
inline bool IsFixedType(const TypeVar& var) {
  TypeVar fixed;
  return AddType(var.name, fixed) && fixed.dtypes == var.dtypes &&
         fixed.containers == var.containers;
}

}  // namespace qrewrite
