#include "engine/base/temporary_folder.h"

#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace qrewrite {

Result<TemporaryFolder> TemporaryFolder::Make() {
  std::error_code error;
  std::string path = (std::filesystem::temp_directory_path(error) / "qrewrite-XXXXXX").string();
  if (error || mkdtemp(path.data()) == nullptr) {
    return Status(StatusCode::kIo, "no temporary folder can be made");
  }
  return TemporaryFolder(path);
}

TemporaryFolder::~TemporaryFolder() {
  if (!name_) return;
  std::error_code ignored;
  std::filesystem::remove_all(name_.path(), ignored);
  name_.Release();
}

}  // namespace qrewrite
