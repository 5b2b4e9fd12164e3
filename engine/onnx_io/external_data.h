// ExternalData: the data files of a model, kept inside the model's folder.
//
// A model names its data files itself, and models come from anywhere: a path with `..`, an absolute
// path or a link must not make us read (and copy into the output) a file outside the folder.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/onnx_io/mapped_file.h"
#include "qrewrite/status.h"

namespace qrewrite {

// Bytes in memory; `owner` keeps them alive, or nobody needs to.
struct SharedBytes {
  std::string_view view;
  std::shared_ptr<const void> owner;
};

// Relative, and no component leads upwards: what a model may call its data.
bool StaysInFolder(std::string_view location);

class ExternalData {
 public:
  using InMemory = std::function<Result<std::optional<SharedBytes>>(const std::string& location)>;

  // `folder`: of the model. Empty: there is none, and every reference is an error. `in_memory` is
  // asked first, once a location; it may be null.
  explicit ExternalData(std::string folder, InMemory in_memory = nullptr)
      : folder_(std::move(folder)), in_memory_(std::move(in_memory)) {}

  struct Entry {  // one key and value of TensorProto.external_data
    std::string_view key, value;
  };
  // The `size` bytes that `entries` refer to. Errors do not name the tensor, but the file.
  Result<SharedBytes> Find(const std::vector<Entry>& entries, uint64_t size);

  const std::string& folder() const { return folder_; }
  // Every file that was used, by its path inside the folder.
  const std::map<std::string, std::shared_ptr<const MappedFile>>& files() const { return files_; }
  bool uses_memory() const { return !memory_.empty(); }

 private:
  Result<SharedBytes> WholeOf(const std::string& location);
  Result<std::shared_ptr<const MappedFile>> Open(const std::string& location) const;

  std::string folder_;
  InMemory in_memory_;
  std::map<std::string, std::shared_ptr<const MappedFile>> files_;
  std::map<std::string, SharedBytes> memory_;
};

}  // namespace qrewrite
