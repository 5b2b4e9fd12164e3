// ExternalData: the data files of a model, kept inside the model's folder.
//
// A model names its data files itself, and models come from anywhere: a path with `..`, an absolute
// path or a link must not make us read (and copy into the output) a file outside the folder.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/onnx_io/mapped_file.h"
#include "qrewrite/status.h"

namespace qrewrite {

class ExternalData {
 public:
  // `folder`: of the model. Empty: there is none, and every reference is an error.
  explicit ExternalData(std::string folder) : folder_(std::move(folder)) {}

  struct Entry {  // one key and value of TensorProto.external_data
    std::string_view key, value;
  };
  struct Slice {
    std::shared_ptr<const MappedFile> file;
    std::string_view bytes;
  };
  // The `size` bytes that `entries` refer to. Errors do not name the tensor, but the file.
  Result<Slice> Find(const std::vector<Entry>& entries, uint64_t size);

  const std::string& folder() const { return folder_; }
  // Every file that was used, by its path inside the folder.
  const std::map<std::string, std::shared_ptr<const MappedFile>>& files() const { return files_; }

 private:
  Result<std::shared_ptr<const MappedFile>> Open(const std::string& location);

  std::string folder_;
  std::map<std::string, std::shared_ptr<const MappedFile>> files_;
};

}  // namespace qrewrite
