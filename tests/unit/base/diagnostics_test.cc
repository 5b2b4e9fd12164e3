#include "engine/base/diagnostics.h"

#include <doctest/doctest.h>

namespace qrewrite {
namespace {

std::string RenderAt(const SourceText& text, size_t begin, size_t end, std::string hint = "") {
  DiagnosticSink sink;
  sink.Error({&text, static_cast<uint32_t>(begin), static_cast<uint32_t>(end)}, "QR0102",
             "unknown key `wehre`")
      .hint = std::move(hint);
  return Render(sink.diagnostics()[0]);
}

TEST_CASE("Render: place, line, caret and hint") {
  const SourceText text("rules/fuse.yaml", "a: 1\nwehre: rank(x) == 4\n");
  CHECK(RenderAt(text, 5, 10, "did you mean `where`?") ==
        "rules/fuse.yaml:2:1: error[QR0102]: unknown key `wehre`\n"
        " 2 | wehre: rank(x) == 4\n"
        "   | ^^^^^ did you mean `where`?");
  CHECK(RenderAt(text, 12, 16) ==
        "rules/fuse.yaml:2:8: error[QR0102]: unknown key `wehre`\n"
        " 2 | wehre: rank(x) == 4\n"
        "   |        ^^^^");
}

TEST_CASE("Render: the caret stays below its column behind tabs and wide characters") {
  const SourceText text("f", "\t\xc3\xa4 = b\tc\n");
  CHECK(RenderAt(text, 6, 7) ==
        "f:1:6: error[QR0102]: unknown key `wehre`\n"
        " 1 | \t\xc3\xa4 = b\tc\n"
        "   | \t    ^");
  CHECK(RenderAt(text, 8, 9) ==
        "f:1:8: error[QR0102]: unknown key `wehre`\n"
        " 1 | \t\xc3\xa4 = b\tc\n"
        "   | \t     \t^");
}

TEST_CASE("Render: line numbers of several digits keep the bar in place") {
  const SourceText text("f", std::string(99, '\n') + "bad");
  CHECK(RenderAt(text, 99, 102) ==
        "f:100:1: error[QR0102]: unknown key `wehre`\n"
        " 100 | bad\n"
        "     | ^^^");
}

TEST_CASE("Render: control characters of the line are shown, the caret moves along") {
  const SourceText text("f",
                        "a\x01"
                        "b`\\");
  CHECK(RenderAt(text, 2, 3) ==
        "f:1:3: error[QR0102]: unknown key `wehre`\n"
        " 1 | a\\x01b`\\\n"
        "   |      ^");
  CHECK(RenderAt(text, 0, 2) ==
        "f:1:1: error[QR0102]: unknown key `wehre`\n"
        " 1 | a\\x01b`\\\n"
        "   | ^^^^^");
}

TEST_CASE("Render: of a very long line the part around the place") {
  const SourceText text("f", std::string(1000, 'a') + "BAD" + std::string(1000, 'b'));
  const std::string shown = RenderAt(text, 1000, 1003);
  CHECK(shown.find("f:1:1001: ") == 0);
  const std::string line = shown.substr(shown.find(" | ") + 3);
  const size_t caret = shown.substr(shown.rfind(" | ") + 3).find("^^^");
  CHECK(line.substr(caret, 3) == "BAD");
  CHECK(line.starts_with("...aaa"));
  CHECK(line.substr(0, line.find('\n')).ends_with("bbb..."));
  CHECK(line.find('\n') < 200);
  // A place that goes on and on is cut as well.
  CHECK(RenderAt(text, 0, 2000).size() < 500);
}

TEST_CASE("Render: without a place, with notes, with a file alone") {
  CHECK(Render({.message = "the model is empty", .hint = "give another"}) ==
        "error: the model is empty; give another");
  CHECK(Render({.severity = Severity::kWarning,
                .code = "QR0200",
                .span = {.file = "m.onnx"},
                .message = "old",
                .notes = {"opset 6", "ir 3"}}) ==
        "m.onnx: warning[QR0200]: old\n"
        "  note: opset 6\n"
        "  note: ir 3");
}

TEST_CASE("DiagnosticSink: all faults in order of place, at most `cap`") {
  const SourceText text("f", "a\nb\nc\nd");
  DiagnosticSink sink;
  CHECK(sink.ToStatus(StatusCode::kInvalidRules).ok());
  sink.Warning({&text, 0, 1}, "", "only a warning");
  CHECK(!sink.has_errors());
  CHECK(sink.ToStatus(StatusCode::kInvalidRules).ok());
  sink.Error({&text, 4, 5}, "", "third");
  sink.Error({&text, 2, 3}, "", "second");
  sink.Error({&text, 2, 3}, "", "second, again");
  const Status all = sink.ToStatus(StatusCode::kInvalidRules);
  CHECK(all.code() == StatusCode::kInvalidRules);
  REQUIRE(all.diagnostics().size() == 4);
  CHECK(all.diagnostics()[0].message == "only a warning");
  CHECK(all.diagnostics()[1].message == "second");
  CHECK(all.diagnostics()[2].message == "second, again");
  CHECK(all.diagnostics()[3].message == "third");
  const Status capped = sink.ToStatus(StatusCode::kInvalidRules, 2);
  REQUIRE(capped.diagnostics().size() == 3);
  CHECK(capped.diagnostics()[0].message == "second");
  CHECK(Render(capped.diagnostics()[2]) == "note: 2 more");
}

TEST_CASE("DiagnosticSink: a cap never hides the errors behind warnings") {
  const SourceText text("f", "a\nb\nc\nd");
  DiagnosticSink sink;
  for (int i = 0; i < 3; ++i) sink.Warning({&text, 0, 1}, "", "warning");
  sink.Error({&text, 6, 7}, "", "the error");
  const Status status = sink.ToStatus(StatusCode::kInvalidRules, 2);
  REQUIRE(status.diagnostics().size() == 3);
  CHECK(status.diagnostics()[1].message == "the error");
}

TEST_CASE(
    "DiagnosticSink: of very many faults on a long line the later ones hold no memory for it") {
  const SourceText text("f", std::string(size_t{20} << 10, 'a'));
  DiagnosticSink sink;
  for (uint32_t i = 0; i < 1100; ++i) sink.Error({&text, i, i + 1}, "QR0101", "bad");
  CHECK(sink.diagnostics()[0].span.line_text.size() == text.text().size());
  CHECK(sink.diagnostics()[1099].span.line_text.empty());
  CHECK(sink.diagnostics()[1099].span.line_text.capacity() < 100);
}

TEST_CASE("DidYouMean: the closest word, if it is close") {
  const std::vector<std::string> keys = {"match", "where", "replace", "let", "tests"};
  CHECK(DidYouMean("wehre", keys) == "did you mean `where`?");
  CHECK(DidYouMean("mach", keys) == "did you mean `match`?");
  CHECK(DidYouMean("lte", keys) == "did you mean `let`?");
  CHECK(DidYouMean("replacements", keys).empty());
  CHECK(DidYouMean("xyzzy", keys).empty());
  CHECK(DidYouMean("", keys).empty());
  CHECK(DidYouMean("match", std::vector<std::string>{}).empty());
}

TEST_CASE("DidYouMean: very long words are like no other") {
  const std::string word(100'000, 'a');
  CHECK(DidYouMean(word, std::vector<std::string>{word + "b"}).empty());
}

TEST_CASE("DidYouMean: case counts little; of equals the first wins") {
  CHECK(DidYouMean("QUANTIZELINEAR", std::vector<std::string>{"Quant", "QuantizeLinear"}) ==
        "did you mean `QuantizeLinear`?");
  CHECK(DidYouMean("ax", std::vector<std::string>{"ay", "az"}) == "did you mean `ay`?");
  CHECK(DidYouMean("a", std::vector<std::string>{"b"}).empty());  // nothing in common
}

TEST_CASE("Printable: control characters, quotes, long names, broken UTF-8") {
  CHECK(Printable("conv/w:0") == "conv/w:0");
  CHECK(Printable("a`b\\c") == "a\\`b\\\\c");
  CHECK(Printable("a\nb\tc\x1b[31m\x7f") == "a\\nb\\tc\\x1b[31m\\x7f");
  CHECK(Printable("\xc3\xa4") == "\xc3\xa4");
  CHECK(Printable(std::string(300, 'x')) == std::string(200, 'x') + "...");
  // A cut never splits a character.
  CHECK(Printable("ab\xc3\xa4", 3) == "ab...");
  CHECK(Printable("\xff\xc3(", 10) == "\\xff\\xc3(");
  // C1 control characters and bidirectional overrides could disguise a name.
  CHECK(Printable("\xc2\x9b") == "\\u{9b}");
  CHECK(Printable("\xe2\x80\xae") == "\\u{202e}");
}

}  // namespace
}  // namespace qrewrite
