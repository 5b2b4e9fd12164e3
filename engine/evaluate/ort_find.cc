// Where ONNX Runtime is looked for.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include <unistd.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/evaluate/ort_api.h"

namespace qrewrite::ort {
namespace {

namespace fs = std::filesystem;

// As Node.js calls it.
#if defined(__aarch64__)
constexpr const char* kNodeArchitecture = "arm64";
#else
constexpr const char* kNodeArchitecture = "x64";
#endif

std::string Environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Entries of `folder` whose names begin so, in the order of their names.
std::vector<fs::path> Entries(const fs::path& folder, std::string_view prefix) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (it->path().filename().string().starts_with(prefix)) found.push_back(it->path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

// The library in `folder`, or "".
std::string LibraryIn(const fs::path& folder) {
  for (const fs::path& path : Entries(folder, "libonnxruntime.so")) {
    std::error_code error;
    if (!fs::is_directory(path, error)) return path.string();
  }
  return "";
}

// Folders that hold the packages of the Python whose program lies in `prefix`/bin.
std::vector<fs::path> PackageFolders(const fs::path& prefix) {
  std::vector<fs::path> folders;
  for (const fs::path& lib : {prefix / "lib", prefix / "local" / "lib", prefix / "lib64"}) {
    for (const fs::path& python : Entries(lib, "python3")) {
      folders.push_back(python / "site-packages");
      folders.push_back(python / "dist-packages");
    }
  }
  return folders;
}

// The first word of the command that started this program, if it is a Python.
fs::path ParentPython() {
  std::ifstream file(fmt::format("/proc/{}/cmdline", getppid()), std::ios::binary);
  std::string word;
  std::getline(file, word, '\0');
  return fs::path(word).filename().string().starts_with("python") ? fs::path(word) : fs::path();
}

// `program` as the shell finds it. Links are not followed: that of a virtual environment leads to
// another Python's folder.
fs::path OnPath(const fs::path& program) {
  if (program.empty() || program.has_parent_path()) return program;
  std::string path = Environment("PATH");
  for (size_t begin = 0; begin <= path.size();) {
    const size_t end = std::min(path.find(':', begin), path.size());
    const fs::path candidate = fs::path(path.substr(begin, end - begin)) / program;
    if (access(candidate.c_str(), X_OK) == 0) return candidate;
    begin = end + 1;
  }
  return {};
}

// Prefixes of the Pythons in use, the most particular one first.
std::vector<fs::path> Prefixes() {
  std::vector<fs::path> prefixes;
  for (const char* name : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    if (const std::string prefix = Environment(name); !prefix.empty())
      prefixes.emplace_back(prefix);
  }
  for (const fs::path& python : {OnPath(ParentPython()), OnPath("python3"), OnPath("python")}) {
    std::error_code error;  // no current folder
    const fs::path whole = python.empty() ? python : fs::absolute(python, error);
    if (!whole.empty()) prefixes.push_back(whole.parent_path().parent_path());
  }
  if (const std::string home = Environment("HOME"); !home.empty()) {
    prefixes.push_back(fs::path(home) / ".local");
  }
  return prefixes;
}

std::vector<fs::path> Folders() {
  std::vector<fs::path> folders;
  for (const fs::path& prefix : Prefixes()) {
    for (const fs::path& packages : PackageFolders(prefix)) {
      folders.push_back(packages / "onnxruntime" / "capi");
    }
  }
  for (const fs::path& abi : Entries("node_modules/onnxruntime-node/bin", "napi-v")) {
    folders.push_back(abi / "linux" / kNodeArchitecture);
  }
  return folders;
}

}  // namespace

Result<std::shared_ptr<const Api>> FindLibrary(const std::string& wanted) {
  const std::string named = wanted.empty() ? Environment("QREWRITE_ORT") : wanted;
  if (!named.empty()) {  // who names a library gets that one
    std::error_code error;
    if (!fs::is_directory(named, error)) {
      // The loader looks for a name without a slash in its own folders alone.
      const bool here = named.find('/') == std::string::npos && fs::exists(named, error);
      return OpenLibrary(here ? "./" + named : named);
    }
    for (const fs::path& folder : {fs::path(named), fs::path(named) / "onnxruntime" / "capi"}) {
      if (const std::string path = LibraryIn(folder); !path.empty()) return OpenLibrary(path);
    }
    return Status(StatusCode::kIo, fmt::format("there is no ONNX Runtime in `{}`", named));
  }
  Status last;
  for (const fs::path& folder : Folders()) {
    const std::string path = LibraryIn(folder);
    if (path.empty()) continue;
    Result<std::shared_ptr<const Api>> api = OpenLibrary(path);
    if (api.ok()) return api;
    last = api.status();
  }
  if (Result<std::shared_ptr<const Api>> api = OpenLibrary(""); api.ok()) return api;
  if (!last.ok()) return last;
  return Status(
      StatusCode::kIo,
      "no ONNX Runtime was found: neither in the packages of the Python in use nor by the "
      "loader; name it with --ort PATH or $QREWRITE_ORT, or `pip install onnxruntime`");
}

}  // namespace qrewrite::ort
