// TemporaryFolder: a folder of files that goes with the object. A program that a signal ends calls
// RemoveTemporaryFiles() (temporary_name.h) from its handler, which removes it as well.
#pragma once

#include <string>

#include "engine/base/temporary_name.h"
#include "qrewrite/status.h"

namespace qrewrite {

class TemporaryFolder {
 public:
  static Result<TemporaryFolder> Make();  // where the system wants such folders; kIo
  TemporaryFolder(TemporaryFolder&&) noexcept = default;
  TemporaryFolder& operator=(TemporaryFolder&&) = delete;
  ~TemporaryFolder();

  std::string File(const std::string& name) const { return name_.path() + ("/" + name); }

 private:
  explicit TemporaryFolder(const std::string& path) : name_(path) {}
  TemporaryName name_;
};

}  // namespace qrewrite
