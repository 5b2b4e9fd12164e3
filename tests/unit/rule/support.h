// Helpers of the rule layer's tests.
#pragma once

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

#include "engine/rule/loader.h"

namespace qrewrite::test {

inline std::string SourceDir() {
  const char* dir = std::getenv("QREWRITE_SOURCE_DIR");
  return dir ? dir : ".";
}

inline std::string Slurp(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

using Files = std::map<std::string, std::string>;

inline LoadOptions Reading(Files files) {
  LoadOptions options;
  options.read = [files = std::move(files)](const std::string& path) -> Result<std::string> {
    const auto found = files.find(path);
    if (found != files.end()) return found->second;
    return Status(StatusCode::kIo, path + ": no such file");
  };
  return options;
}

// The messages of a load, "" if it succeeds.
inline std::string Messages(const std::string& text, Files files = {},
                            const std::string& path = "t.yaml") {
  const auto loaded = LoadRulesText(path, text, Reading(std::move(files)));
  return loaded.ok() ? "" : loaded.status().message();
}

// A file with the two keys that every file needs.
inline std::string File(const std::string& rest) { return "qrewrite: 1\nname: t\n" + rest; }

}  // namespace qrewrite::test
