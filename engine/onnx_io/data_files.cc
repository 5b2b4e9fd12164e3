#include "engine/onnx_io/data_files.h"

#include <algorithm>
#include <filesystem>
#include <optional>

#include <sys/stat.h>

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include "engine/onnx_io/wire.h"

namespace qrewrite {
namespace {

namespace fs = std::filesystem;

// Bytes of other models that are searched for names.
constexpr uint64_t kMaxSearched = uint64_t{1} << 30;
constexpr std::string_view kDataSuffix = ".data";

std::string DataFile(const std::string& model, int i) {
  const std::string name = FileNameOf(model);
  return i == 1 ? fmt::format("{}{}", name, kDataSuffix)
                : fmt::format("{}.{}{}", name, i, kDataSuffix);
}

bool Exists(const std::string& path) {
  struct stat info = {};
  return lstat(path.c_str(), &info) == 0;
}

// "m.onnx.data" and "m.onnx.3.data" for "m.onnx".
bool IsDataFileOf(std::string_view name, std::string_view model) {
  if (!name.starts_with(model) || !name.ends_with(kDataSuffix)) return false;
  name.remove_prefix(model.size());
  name.remove_suffix(kDataSuffix.size());
  return name.empty() ||
         (name[0] == '.' && name.find_first_not_of("0123456789", 1) == std::string_view::npos);
}

// Names of regular files in the folder of `model`, in order: those that end so. Only these are
// looked at: the folder may hold many others.
std::vector<std::string> Neighbours(const std::string& model, std::string_view suffix) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator it(FolderOf(model), error), end; !error && it != end;
       it.increment(error)) {
    std::error_code ignored;
    const std::string& path = it->path().native();
    if (path.ends_with(suffix) && it->symlink_status(ignored).type() == fs::file_type::regular) {
      names.push_back(it->path().filename().string());
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

// Is `name` spelt in `model` as the value of an entry, as data locations are?
bool Uses(std::string_view model, std::string_view name) {
  std::string entry;
  PutBytes(entry, onnx::StringStringEntryProto::kValueFieldNumber, name);
  return model.find(entry) != std::string_view::npos;
}

}  // namespace

std::string FreeDataFile(const std::string& model) {
  int i = 1;
  while (Exists(Joined(FolderOf(model), DataFile(model, i)))) ++i;
  return DataFile(model, i);
}

std::string SameDataFile(const std::string& model, const OutputFile& file) {
  for (const std::string& name : Neighbours(model, kDataSuffix)) {
    if (!IsDataFileOf(name, FileNameOf(model))) continue;
    const auto there = MappedFile::Open(Joined(FolderOf(model), name));
    // Under other names too, it is not ours.
    if (there.ok() && (*there)->links() == 1 && file.Equals(**there)) return name;
  }
  return "";
}

std::vector<std::string> ObsoleteDataFiles(const std::string& model, const std::string& kept,
                                           const std::vector<FileId>& needed) {
  const auto old = MappedFile::Open(model);
  if (!old.ok()) return {};
  const std::string self = FileNameOf(model);
  const std::string folder = FolderOf(model);
  std::vector<std::string> names;
  for (const std::string& name : Neighbours(model, kDataSuffix)) {
    if (name == kept || !IsDataFileOf(name, self) || !Uses((*old)->bytes(), name)) continue;
    const std::optional<FileId> id = IdOf(Joined(folder, name));
    if (id && std::find(needed.begin(), needed.end(), *id) == needed.end()) names.push_back(name);
  }
  if (names.empty()) return {};
  uint64_t searched = 0;
  for (const std::string& name : Neighbours(model, ".onnx")) {
    if (name == self) continue;
    const auto other = MappedFile::Open(Joined(folder, name));
    if (!other.ok()) return {};
    searched += (*other)->bytes().size();
    if (searched > kMaxSearched) return {};
    std::erase_if(names, [&](const std::string& data) {
      return (*other)->bytes().find(data) != std::string_view::npos;
    });
  }
  for (std::string& name : names) name = Joined(folder, name);
  return names;
}

}  // namespace qrewrite
