#include "engine/rule/yaml_tests.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <doctest/doctest.h>

#include "engine/rule/doc.h"

namespace qrewrite {
namespace {

std::string Left(std::string_view yaml) {
  const auto rest = LeaveOutTests(yaml);
  return rest ? rest->text : "all";
}

TEST_CASE("LeaveOutTests: blocks of lists go, with their keys") {
  struct Row {
    const char *yaml, *left;
  };
  const Row rows[] = {
      {"a: 1\n", "all"},
      {"a: 1\ntests:\n  - x\nb: 2\n", "a: 1\nb: 2\n"},
      {"a: 1\ntests:\n- x\n- y\nb: 2", "a: 1\nb: 2"},
      {"a: 1\ntests:\n  - x\n\n  # of x\n  - y", "a: 1\n"},
      {"a: 1\ntests:   # all\n  - x\n# of b\nb: 2\n", "a: 1\n# of b\nb: 2\n"},
      {"rules:\n  - name: a\n    tests:\n      - x: |\n          y\n  - name: b\n    tests:\n    - "
       "z\n    doc: c\n",
       "rules:\n  - name: a\n  - name: b\n    doc: c\n"},
      // Texts are texts.
      {"doc: |\n  tests:\n    - x\nb: 2\n", "all"},
      {"doc: |\n  tests:\n    - x\ntests:\n  - y\nb: 2\n", "doc: |\n  tests:\n    - x\nb: 2\n"},
      {"a:\n  - |\n    tests:\n    - x\ntests:\n  - y\n", "a:\n  - |\n    tests:\n    - x\n"},
      {"a: \"\n  tests:\n    - x\"\n", "all"},
      {"a: 'it''s\n  b\n  tests:\n   - x'\ntests:\n  - y\n", "a: 'it''s\n  b\n  tests:\n   - x'\n"},
      {"a: {b: [1,\n 2]}  # {\ntests:\n  - y\n", "a: {b: [1,\n 2]}  # {\n"},
      {"a: it's {here\ntests:\n  - y\n", "a: it's {here\n"},
      {"a: {b: it's}\ntests:\n  - y\n", "a: {b: it's}\n"},
      // Where it is not clear everything stays.
      {"a: 1\ntests: []\n", "all"},
      {"a: 1\ntests:\n  x: 1\n", "all"},
      {"a: 1\ntests:\n  - x\ntests:\n  - y\n", "all"},
      {"a: 1\ntests:\n  - x\nb: 1\ntests:\n  - y\n", "all"},
      {"a: some\n  tests:\n    - x\n", "all"},
      {"---\na: 1\ntests:\n  - x\n", "all"},
      {"a: [1\ntests:\n  - x\n", "all"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.yaml);
    CHECK(Left(row.yaml) == row.left);
  }
}

TEST_CASE("LeaveOutTests: where the rest stood") {
  const std::string yaml = "a: 1\ntests:\n  - x\nb: 2\ntests2: 1\n";
  const auto rest = LeaveOutTests(yaml);
  REQUIRE(rest);
  for (size_t i = 0; i < rest->text.size(); ++i) CHECK(yaml[rest->Original(i)] == rest->text[i]);
}

// As written, without what stands under `tests`.
std::string Shown(const DocNode& node) {
  std::ostringstream out;
  out << node.place.begin << ' ';
  if (node.is_scalar()) out << node.text.text << '|' << node.text.where.back() << ' ';
  for (const DocNode& item : node.items) out << "- " << Shown(item);
  for (const DocEntry& entry : node.entries) {
    if (entry.name() != "tests") out << entry.name() << ": " << Shown(entry.value);
  }
  return out.str();
}

TEST_CASE("ReadYaml: the shipped files without their tests") {
  int shortened = 0;
  for (const auto& file : std::filesystem::directory_iterator(
           std::string(std::getenv("QREWRITE_SOURCE_DIR")) + "/rules")) {
    if (file.path().extension() != ".yaml") continue;
    CAPTURE(file.path().string());
    std::stringstream text;
    text << std::ifstream(file.path()).rdbuf();
    const SourceText source("r.yaml", text.str());
    DiagnosticSink sink;
    const auto whole = ReadYaml(source, sink), rest = ReadYaml(source, sink, /*tests=*/false);
    REQUIRE(whole);
    REQUIRE(rest);
    CHECK(Shown(*whole) == Shown(*rest));
    shortened += LeaveOutTests(source.text()) ? 1 : 0;
  }
  CHECK(shortened >= 12);
}

}  // namespace
}  // namespace qrewrite
