#include "engine/onnx_io/external_data.h"

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <optional>

#include <fmt/format.h>

#include "engine/base/diagnostics.h"

namespace qrewrite {
namespace {

Status Invalid(std::string message) { return {StatusCode::kInvalidModel, std::move(message)}; }

std::optional<uint64_t> ParseNumber(std::string_view text) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// The path without links, or "" with errno set.
std::string RealPath(const std::string& path) {
  char* resolved = realpath(path.c_str(), nullptr);
  if (resolved == nullptr) return "";
  std::string result = resolved;
  std::free(resolved);
  return result;
}

}  // namespace

bool StaysInFolder(std::string_view location) {
  if (location.empty() || location.front() == '/') return false;
  if (location.find('\0') != std::string_view::npos) return false;
  while (!location.empty()) {
    const size_t slash = location.find('/');
    if (location.substr(0, slash) == "..") return false;
    if (slash == std::string_view::npos) break;
    location.remove_prefix(slash + 1);
  }
  return true;
}

Result<SharedBytes> ExternalData::WholeOf(const std::string& location) {
  if (const auto it = memory_.find(location); it != memory_.end()) return it->second;
  if (const auto it = files_.find(location); it != files_.end()) {
    return SharedBytes{it->second->bytes(), it->second};
  }
  if (in_memory_) {
    QR_ASSIGN_OR_RETURN(const std::optional<SharedBytes> found, in_memory_(location));
    if (found) {
      return memory_.emplace(location, *found).first->second;
    }
  }
  QR_ASSIGN_OR_RETURN(const std::shared_ptr<const MappedFile> file, Open(location));
  files_.emplace(location, file);
  return SharedBytes{file->bytes(), file};
}

Result<std::shared_ptr<const MappedFile>> ExternalData::Open(const std::string& location) const {
  if (folder_.empty()) {
    return Invalid(
        fmt::format("its data is in the file `{}`, but a model without a folder has no "
                    "data files",
                    Printable(location)));
  }
  if (!StaysInFolder(location)) {
    return Invalid(
        fmt::format("its data is in the file `{}`, which is not inside the folder of the "
                    "model",
                    Printable(location)));
  }
  const std::string path = folder_ + "/" + location;
  const std::string real_folder = RealPath(folder_);
  const std::string real_path = RealPath(path);
  if (real_folder.empty() || real_path.empty()) return IoError("read the data file", path, errno);
  const std::string prefix = real_folder == "/" ? "/" : real_folder + "/";
  if (real_path != real_folder && !real_path.starts_with(prefix)) {
    return Invalid(
        fmt::format("its data is in the file `{}`, a link that leaves the folder of the "
                    "model",
                    Printable(location)));
  }
  QR_ASSIGN_OR_RETURN(auto file, MappedFile::Open(real_path));
  // What the other names are cannot be told: perhaps one outside of the folder.
  if (file->links() > 1) {
    return Invalid(
        fmt::format("its data is in the file `{}`, which has other names (hard links) too",
                    Printable(location)));
  }
  return file;
}

Result<SharedBytes> ExternalData::Find(const std::vector<Entry>& entries, uint64_t size) {
  std::string location;
  std::optional<uint64_t> offset = 0, length = size;
  for (const Entry& entry : entries) {
    if (entry.key == "location") location = entry.value;
    if (entry.key == "offset") offset = ParseNumber(entry.value);
    if (entry.key == "length") length = ParseNumber(entry.value);
  }
  if (location.empty()) return Invalid("its data is external, but no file is named");
  if (!offset || !length) {
    return Invalid(fmt::format("its data is in `{}`, but offset or length is not a number",
                               Printable(location)));
  }
  if (*length != size) {
    return Invalid(fmt::format("its data is {} bytes of the file `{}`, but type and shape need {}",
                               *length, Printable(location), size));
  }
  QR_ASSIGN_OR_RETURN(const SharedBytes whole, WholeOf(location));
  const std::string_view all = whole.view;
  if (*offset > all.size() || size > all.size() - *offset) {
    return Invalid(
        fmt::format("its data is {} bytes at offset {} of the file `{}`, which has only {}", size,
                    *offset, Printable(location), all.size()));
  }
  return SharedBytes{all.substr(*offset, size), whole.owner};
}

}  // namespace qrewrite
