// The rule files that the sources come with, by path.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace qrewrite::lsp::test {

inline std::vector<std::string> ShippedPaths() {
  const char* const sources = std::getenv("QREWRITE_SOURCE_DIR");
  REQUIRE_MESSAGE(sources != nullptr, "QREWRITE_SOURCE_DIR is not set");
  std::vector<std::string> paths;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::filesystem::path(sources) / "rules")) {
    if (entry.path().extension() == ".yaml") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

}  // namespace qrewrite::lsp::test
