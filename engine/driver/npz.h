// NumPy's .npz archives: a zip of .npy arrays, in memory.
//
// External interface: ParseNpz, ReadNpz, MakeNpz. Numbers and bools in little endian; compressed arrays, and
// whatever is written, below 4 GB. Nothing in a file is believed: sizes, offsets and checksums are checked.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/tensor/tensor.h"
#include "qrewrite/status.h"

namespace qrewrite {

struct NpzArray {
  std::string key;  // without ".npy"
  Tensor tensor;    // row-major, also if the file has it column-major
};

struct NpzOptions {
  // Arrays of other keys are passed over, and whatever is wrong with them; null: all are read.
  std::function<bool(const std::string& key)> wanted;
  // Keeps the bytes of the archive alive: arrays that are stored as they are lie in them then, and are not
  // copied. Null: arrays have their own bytes.
  std::shared_ptr<const void> owner;
};

// In the order of the archive. Errors (kUsage: the user named the file) name `path` and the array.
Result<std::vector<NpzArray>> ParseNpz(const std::string& path, std::string_view bytes,
                                       const NpzOptions& options = {});
// kIo if the file cannot be read.
Result<std::vector<NpzArray>> ReadNpz(const std::string& path);

// Entries are stored, without times, so that equal arrays give equal bytes. Types that NumPy does
// not have are widened: INT4 to int8, BFLOAT16 to float32. kLimit beyond 4 GB.
Result<std::string> MakeNpz(const std::vector<NpzArray>& arrays);

}  // namespace qrewrite
