// Where shipped rule sets lie, and what a name without a slash stands for.
#include <algorithm>
#include <climits>
#include <cstdlib>
#include <filesystem>
#include <map>

#include <dlfcn.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "engine/api/rules_impl.h"

namespace qrewrite {
namespace {

namespace fs = std::filesystem;

constexpr const char* kEndings[] = {".yaml", ".yml", ".json"};

bool IsFile(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}

fs::path FolderOfProgram() {
  std::error_code error;
  fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (error) {  // a chroot without /proc: what the program was started as
    // NOLINTNEXTLINE(performance-no-int-to-ptr): getauxval gives addresses as integers
    const auto* const name = reinterpret_cast<const char*>(getauxval(AT_EXECFN));
    program = name == nullptr ? fs::path() : fs::canonical(name, error);
  }
  return program.parent_path();
}

// Of the library that this code is in: the shared one, a Python module, or the program again.
fs::path FolderOfLibrary() {
  Dl_info info = {};
  if (dladdr(reinterpret_cast<void*>(&FolderOfLibrary), &info) == 0 || info.dli_fname == nullptr) {
    return {};
  }
  const fs::path library(info.dli_fname);
  return library.is_absolute() ? library.parent_path() : fs::path();
}

// The file `name` in `folder`, with or without its ending; empty if there is none.
std::string FileIn(const fs::path& folder, const std::string& name) {
  for (const char* ending : kEndings) {
    if (name.ends_with(ending)) return IsFile(folder / name) ? (folder / name).string() : "";
  }
  for (const char* ending : kEndings) {
    if (IsFile(folder / (name + ending))) return (folder / (name + ending)).string();
  }
  return "";
}

}  // namespace

std::vector<std::string> ShippedRuleFolders() {
  std::vector<fs::path> candidates;
  if (const char* folder = std::getenv("QREWRITE_RULES_DIR"); folder != nullptr && *folder != 0) {
    candidates.emplace_back(folder);
  }
  if (const fs::path program = FolderOfProgram(); !program.empty()) {
    candidates.push_back(program / "../../rules");
    candidates.push_back(program / "../share/qrewrite/rules");
  }
  if (const fs::path library = FolderOfLibrary(); !library.empty()) {
    candidates.push_back(library / "../share/qrewrite/rules");
    candidates.push_back(library / "share/qrewrite/rules");  // a Python package holds all of it
  }
#ifdef QREWRITE_INSTALLED_RULES
  candidates.emplace_back(QREWRITE_INSTALLED_RULES);
#endif
#ifdef QREWRITE_SOURCE_RULES
  candidates.emplace_back(QREWRITE_SOURCE_RULES);
#endif
  std::vector<std::string> folders;
  for (const fs::path& path : candidates) {
    std::error_code error;
    if (!fs::is_directory(path, error)) continue;
    const fs::path canonical = fs::weakly_canonical(path, error);
    const std::string folder = error ? path.string() : canonical.string();
    if (std::find(folders.begin(), folders.end(), folder) == folders.end())
      folders.push_back(folder);
  }
  return folders;
}

std::vector<std::string> ShippedRuleFiles() {
  std::map<std::string, std::string> files;  // by name; the first folder wins
  for (const std::string& folder : ShippedRuleFolders()) {
    std::error_code error;
    std::vector<fs::path> entries;
    for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
      entries.push_back(it->path());
    }
    std::sort(entries.begin(), entries.end());
    for (const fs::path& entry : entries) {
      const std::string ending = entry.extension().string();
      const bool rules =
          std::find(std::begin(kEndings), std::end(kEndings), ending) != std::end(kEndings);
      if (rules && IsFile(entry)) files.try_emplace(entry.stem().string(), entry.string());
    }
  }
  std::vector<std::string> paths;
  paths.reserve(files.size());
  for (const auto& file : files) paths.push_back(file.second);
  return paths;
}

std::vector<std::string> ShippedRuleNames() {
  const std::vector<std::string> paths = ShippedRuleFiles();
  std::vector<std::string> names;
  names.reserve(paths.size());
  for (const std::string& path : paths) names.push_back(fs::path(path).stem().string());
  return names;
}

std::string FindRuleFile(const std::string& path_or_name, const std::vector<std::string>& search) {
  if (path_or_name.empty() || path_or_name.find('/') != std::string::npos || IsFile(path_or_name)) {
    return path_or_name;
  }
  std::vector<std::string> folders = search;
  for (std::string& folder : ShippedRuleFolders()) folders.push_back(std::move(folder));
  for (const std::string& folder : folders) {
    if (std::string file = FileIn(folder, path_or_name); !file.empty()) return file;
  }
  return path_or_name;
}

std::string FindRuleSet(const std::string& name, const std::vector<std::string>& search) {
  std::string found = FindRuleFile(name, search);
  return found == name ? "" : found;
}

}  // namespace qrewrite
