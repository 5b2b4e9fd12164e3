// Documents: what scalars mean, and where each of their bytes stands in the file.
#include <doctest/doctest.h>

#include "engine/rule/doc.h"
#include "engine/rule/yaml_text.h"
#include "tests/unit/rule/support.h"

namespace qrewrite {
namespace {

Snippet Joined(const DocNode& node) {
  Snippet lines;
  return JoinLines(node, lines);
}

struct Read {
  SourceText source;
  DiagnosticSink sink;
  std::optional<DocNode> root;

  explicit Read(std::string text, bool json = false) : source("f", std::move(text)) {
    root = json ? ReadJson(source, sink) : ReadYaml(source, sink);
  }
};

// Bytes of a text that stand in the file as they are: all but white space that folding made and
// what escapes stand for.
void CheckWhere(const DocNode& node, std::string_view file) {
  if (node.is_scalar()) {
    CAPTURE(node.text.text);
    REQUIRE(node.text.where.size() == node.text.text.size() + 1);
    for (size_t i = 0; i < node.text.text.size(); ++i) {
      const char c = node.text.text[i];
      const uint32_t at = node.text.where[i];
      REQUIRE(at < file.size());
      if (c != ' ' && c != '\n' && file[at] != '\\') CHECK(c == file[at]);
      if (i > 0) CHECK(at >= node.text.where[i - 1]);
    }
  }
  for (const DocNode& item : node.items) CheckWhere(item, file);
  for (const DocEntry& entry : node.entries) {
    CheckWhere(entry.key, file);
    CheckWhere(entry.value, file);
  }
}

// The line and column of the first `X` in the text of the value of `key`.
std::string PlaceOfX(const Read& read, std::string_view key) {
  const DocEntry* entry = read.root->Find(key);
  REQUIRE(entry != nullptr);
  const Snippet text = Joined(entry->value);
  const size_t at = text.text.find('X');
  REQUIRE(at != std::string::npos);
  const SourceSpan span = text.PlaceOf(at, at + 1).span();
  return std::to_string(span.line) + ":" + std::to_string(span.column);
}

}  // namespace

TEST_CASE("Doc: every byte of a scalar knows its place") {
  struct Row {
    const char* text;
    const char* value;  // of key `k`
    const char* place;  // of X
  };
  const Row rows[] = {
      {"k: a X", "a X", "1:6"},
      {"k: a\n  b X c # comment\n", "a b X c", "2:5"},
      {"k: a\n\n\n  X\n", "a\n\nX", "4:3"},
      {"k: |\n  a\n  X\n", "a\nX\n", "3:3"},
      {"k: |\n\n    a\n      X\n", "\na\n  X\n", "4:7"},
      {"k: |2\n    a\n   X\n", "  a\n X\n", "3:4"},
      {"k: |-  # comment X\n  a\n  X\n\n", "a\nX", "3:3"},
      {"k: |+\n  X\n\n", "X\n\n", "2:3"},
      {"k: >\n  a\n  X\n\n  c\n", "a X\nc\n", "3:3"},
      {"k: >-\n  a\n    b\n  X\n", "a\n  b\nX", "4:3"},
      {"k: 'it''s X'", "it's X", "1:11"},
      {"k: 'a\n  b\n\n  X'", "a b\nX", "4:3"},
      {"k: \"a\\tX\"", "a\tX", "1:8"},
      {"k: \"\\x41\\u0042\\U00000043X\"", "ABCX", "1:25"},
      {"k: \"a \\\n   X\"", "a X", "2:4"},
      {"k: \"\xc3\xa9X\"", "\xc3\xa9X", "1:6"},
      {"k: {a: 1}\n\n", nullptr, nullptr},
      {"k: [\"a\",\n   'b X']\n", "a\nb X", "2:7"},
      {"k:\n- a\n- X\n", "a\nX", "3:3"},
      {"k: a\r\n  X\r\n", "a X", "2:3"},
      {"k: |\r\n  a\r\n  X\r\n", nullptr, "3:3"},
      {"\xEF\xBB\xBFk: X\n", "X", "1:5"},
      {"? k\n: X\n", "X", "2:3"},
      {"k: |\n  a  \n  X  \n", "a  \nX  \n", "3:3"},
      {"k: |\n  a\n\n   \n  X\n", "a\n\n \nX\n", "5:3"},
      {"a: [1, {k: 2}]\nk: X", "X", "2:4"},
      {"k: - X\n", nullptr, nullptr},
      {"--- # start\nk: X\n...\n", "X", "2:4"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.text);
    const Read read(row.text);
    if (!row.place) {
      if (read.root) CheckWhere(*read.root, read.source.text());
      continue;
    }
    REQUIRE(read.root.has_value());
    CheckWhere(*read.root, read.source.text());
    if (row.value) CHECK(Joined(read.root->Find("k")->value).text == row.value);
    CHECK(PlaceOfX(read, "k") == row.place);
  }
}

TEST_CASE("Doc: the texts of all shipped rule sets are found byte by byte") {
  for (const char* name : {"aidge_export_qdq", "deeploy", "ezkl_dequant", "opset_upgrade",
                           "optimize", "qdq_to_qop", "qop_to_qdq", "qoperator"}) {
    CAPTURE(name);
    const Read read(test::Slurp(test::SourceDir() + "/rules/" + name + ".yaml"));
    REQUIRE(read.root.has_value());
    CHECK_FALSE(read.sink.has_errors());
    CheckWhere(*read.root, read.source.text());
  }
}

TEST_CASE("Doc: scalars mean what the core schema of YAML 1.2 says") {
  using Kind = Scalar::Kind;
  const std::pair<const char*, Kind> rows[] = {
      {"1", Kind::kInt},           {"-1", Kind::kInt},       {"+1", Kind::kInt},
      {"0x1F", Kind::kInt},        {"0o17", Kind::kInt},     {"1.", Kind::kFloat},
      {".5", Kind::kFloat},        {"1e3", Kind::kFloat},    {"-.inf", Kind::kFloat},
      {".nan", Kind::kFloat},      {"true", Kind::kBool},    {"False", Kind::kBool},
      {"null", Kind::kNull},       {"~", Kind::kNull},       {"", Kind::kNull},
      {"1_000", Kind::kString},    {"12:30", Kind::kString}, {"1e", Kind::kString},
      {".", Kind::kString},        {"-", Kind::kString},     {"'1'", Kind::kString},
      {"\"true\"", Kind::kString}, {"0x", Kind::kString},    {"9223372036854775808", Kind::kFloat},
      {"64MiB", Kind::kString},    {"y", Kind::kString},
  };
  for (const auto& row : rows) {
    const char* const text = row.first;
    const Kind kind = row.second;
    CAPTURE(text);
    const Read read("k: " + std::string(text) + "\n");
    if (std::string_view(text) == "-") continue;  // a list in YAML
    REQUIRE(read.root.has_value());
    CHECK(ResolveScalar(read.root->Find("k")->value).kind == kind);
  }
  const Read hex("k: 0x1F\n");
  CHECK(ResolveScalar(hex.root->Find("k")->value).int_value == 31);
}

TEST_CASE("Doc: JSON texts know their places") {
  const Read read(R"({"a": ["one", "two X"],
 "k": "\u00e9\n\ud83d\ude00 X"})",
                  true);
  REQUIRE(read.root.has_value());
  CHECK_FALSE(read.sink.has_errors());
  CheckWhere(*read.root, read.source.text());
  CHECK(read.root->Find("k")->value.text.text == "\xc3\xa9\n\xf0\x9f\x98\x80 X");
  CHECK(PlaceOfX(read, "k") == "2:29");
  CHECK(Joined(read.root->Find("a")->value).text == "one\ntwo X");
  CHECK(PlaceOfX(read, "a") == "1:20");
}

TEST_CASE("Doc: JSON is read strictly") {
  for (const char* text : {"{\"a\": 1,}",
                           "[1 2]",
                           "{a: 1}",
                           "{'a': 1}",
                           "[01]",
                           "[+1]",
                           "[.5]",
                           "[1.]",
                           "[NaN]",
                           "[\"\\x41\"]",
                           "[\"\\ud800\"]",
                           "[\"\\udc00\"]",
                           "[\"\t\"]",
                           "[1] // c",
                           "",
                           "[",
                           "\"",
                           "{\"a\"}",
                           "[tru]",
                           "[\"\\u00\"]",
                           "nul",
                           "[1,,2]",
                           "{,}",
                           "\xff"}) {
    CAPTURE(text);
    const Read read(text, true);
    CHECK_FALSE(read.root.has_value());
    CHECK(read.sink.has_errors());
  }
  for (const char* text : {"[]", " {} ", "[1, -2.5e+3, true, false, null, \"\\/\"]", "\"\""}) {
    CAPTURE(text);
    const Read read(text, true);
    CHECK(read.root.has_value());
    CHECK_FALSE(read.sink.has_errors());
  }
}

TEST_CASE("Doc: a key that stands twice is found, however many the mapping has") {
  for (const int count : {2, 15, 16, 17, 18, 40, 300}) {
    for (const int again : {0, count / 2, count - 1}) {
      CAPTURE(count);
      CAPTURE(again);
      std::string text;
      for (int i = 0; i < count; ++i) text += "k" + std::to_string(i) + ": 1\n";
      const Read once(text);
      CHECK(once.sink.diagnostics().empty());
      REQUIRE(once.root.has_value());
      CHECK(once.root->entries.size() == static_cast<size_t>(count));
      const Read twice(text + "k" + std::to_string(again) + ": 2\n");
      REQUIRE(twice.sink.diagnostics().size() == 1);
      const Diagnostic& d = twice.sink.diagnostics()[0];
      CHECK(d.span.line == count + 1);
      REQUIRE(d.notes.size() == 1);
      CHECK(d.notes[0] == "the first one is on line " + std::to_string(again + 1));
    }
  }
}

TEST_CASE("Doc: nesting and size are limited") {
  const std::string open(100'000, '['), pairs(2000, '{');
  for (const bool json : {false, true}) {
    CHECK(Read(open, json).sink.has_errors());
    CHECK(Read(pairs, json).sink.has_errors());
  }
  std::string many = "[";
  for (int i = 0; i < 250'000; ++i) many += "1,";
  CHECK(Read(many + "1]", true).sink.has_errors());
  CHECK(Read(many + "1]", false).sink.has_errors());
}

}  // namespace qrewrite
