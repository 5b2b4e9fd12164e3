// The JSON Schema and docs/errors.md are made of the tables that the loader uses.
#include <algorithm>
#include <filesystem>
#include <set>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "engine/rule/codes.h"
#include "engine/rule/fields.h"
#include "tests/unit/rule/support.h"

namespace qrewrite {
namespace {

// The codes that appear as literals in the sources of `layers`.
std::set<std::string> CodesIn(const std::vector<std::string>& layers) {
  std::set<std::string> codes;
  for (const std::string& layer : layers) {
    for (const auto& entry :
         std::filesystem::directory_iterator(test::SourceDir() + "/engine/" + layer)) {
      if (entry.path().extension() != ".cc" && entry.path().extension() != ".h") continue;
      const std::string text = test::Slurp(entry.path());
      for (size_t at = 0; (at = text.find("\"QR0", at)) != std::string::npos; at += 4) {
        if (text.compare(at + 7, 1, "\"") == 0) codes.insert(text.substr(at + 1, 6));
      }
    }
  }
  return codes;
}

}  // namespace

TEST_CASE("Schema: no mapping takes unknown keys") {
  const auto schema = nlohmann::json::parse(RuleFileSchema());
  CHECK(schema["additionalProperties"] == false);
  CHECK(schema["required"] == nlohmann::json({"qrewrite", "name"}));
  CHECK(schema["properties"].contains("phases"));
  for (const char* kind : {"param", "signature", "output", "attribute", "constants", "phase",
                           "rule", "case", "test", "expect", "write"}) {
    CAPTURE(kind);
    REQUIRE(schema["$defs"].contains(kind));
    CHECK(schema["$defs"][kind]["additionalProperties"] == false);
    CHECK(schema["$defs"][kind]["properties"].size() > 0);
  }
}

TEST_CASE("Schema: every reference leads somewhere") {
  const std::string text = RuleFileSchema();
  const auto schema = nlohmann::json::parse(text);
  for (size_t at = 0; (at = text.find("\"#/$defs/", at)) != std::string::npos; ++at) {
    const size_t begin = at + 9, end = text.find('"', begin);
    CHECK(schema["$defs"].contains(text.substr(begin, end - begin)));
  }
}

TEST_CASE("Fields: a key stands once in its kind") {
  for (const KindInfo& kind : FieldKinds()) {
    std::set<std::string_view> keys;
    for (const Field* field : FieldsOf(kind.kind)) {
      CAPTURE(field->key);
      CHECK(keys.insert(field->key).second);
      CHECK_FALSE(field->doc.empty());
    }
  }
}

TEST_CASE("Codes: ordered, unique and explained") {
  const auto codes = ErrorCodes();
  CHECK(std::is_sorted(codes.begin(), codes.end(),
                       [](const ErrorCode& a, const ErrorCode& b) { return a.code <= b.code; }));
  for (const ErrorCode& code : codes) CHECK_FALSE(code.meaning.empty());
}

TEST_CASE("Codes: every code that the sources report is in the table") {
  std::set<std::string> known;
  for (const ErrorCode& code : ErrorCodes()) known.emplace(code.code);
  for (const std::string& code : CodesIn({"expr", "text", "rule"})) {
    CAPTURE(code);
    CHECK(known.contains(code));
  }
}

// The examples behind it are written by tools/gen_docs.py.
TEST_CASE("Codes: docs/errors.md begins with the table") {
  const std::string path = test::SourceDir() + "/docs/errors.md";
  const std::string page = test::Slurp(path);
  const size_t examples = page.find("\n## ");
  REQUIRE(examples != std::string::npos);
  if (std::getenv("QREWRITE_UPDATE_GOLDEN"))
    std::ofstream(path, std::ios::binary) << ErrorCodesMarkdown() << page.substr(examples);
  CHECK(page.substr(0, examples) == ErrorCodesMarkdown());
}

}  // namespace qrewrite
