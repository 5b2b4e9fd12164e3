// Every file in fixtures/rules_bad has its whole rendered messages beside it. With
// QREWRITE_UPDATE_GOLDEN set the expectations are written anew; read them before you commit them.
#include <algorithm>
#include <filesystem>

#include <doctest/doctest.h>

#include "tests/unit/rule/support.h"

namespace qrewrite {
namespace {

std::vector<std::string> BadFiles(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string extension = entry.path().extension();
    if (extension == ".yaml" || extension == ".json") names.push_back(entry.path().filename());
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

TEST_CASE("Golden: every broken rule file gets exactly its messages") {
  const std::string folder = test::SourceDir() + "/fixtures/rules_bad/";
  const std::vector<std::string> names = BadFiles(folder);
  CHECK(names.size() >= 45);
  LoadOptions options;
  options.read = [&](const std::string& path) -> Result<std::string> {
    if (!std::filesystem::exists(folder + path)) {
      return Status(StatusCode::kIo, path + ": No such file or directory");
    }
    return test::Slurp(folder + path);
  };
  for (const std::string& name : names) {
    CAPTURE(name);
    const auto loaded = LoadRulesText(name, test::Slurp(folder + name), options);
    REQUIRE_FALSE(loaded.ok());
    CHECK(loaded.status().code() == StatusCode::kInvalidRules);
    const std::string got = loaded.status().message() + "\n";
    const std::string expected = folder + name + ".expected";
    if (std::getenv("QREWRITE_UPDATE_GOLDEN")) std::ofstream(expected, std::ios::binary) << got;
    CHECK(got == test::Slurp(expected));
  }
}

}  // namespace qrewrite
