#include "engine/base/source.h"

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "engine/base/diagnostics.h"

namespace qrewrite {
namespace {

std::string Where(const SourceSpan& s) {
  return std::to_string(s.line) + ":" + std::to_string(s.column) + "-" +
         std::to_string(s.end_column) + " " + s.line_text;
}

TEST_CASE("SourceText: lines and columns count from 1") {
  const SourceText text("f", "ab\ncde\n\nf");
  CHECK(Where(text.Span(0, 1)) == "1:1-2 ab");
  CHECK(Where(text.Span(1, 2)) == "1:2-3 ab");
  CHECK(Where(text.Span(3, 6)) == "2:1-4 cde");
  CHECK(Where(text.Span(7, 7)) == "3:1-2 ");
  CHECK(Where(text.Span(8, 9)) == "4:1-2 f");
  CHECK(text.Span(0, 1).file == "f");
}

TEST_CASE("SourceText: a newline belongs to its line, the end of the text to the last") {
  const SourceText text("f", "ab\ncd");
  CHECK(Where(text.Span(2, 3)) == "1:3-4 ab");
  CHECK(Where(text.Span(5, 5)) == "2:3-4 cd");
  CHECK(Where(text.Span(99, 200)) == "2:3-4 cd");
  CHECK(Where(SourceText("f", "ab\n").Span(3, 3)) == "2:1-2 ");
  CHECK(Where(SourceText("f", "").Span(0, 0)) == "1:1-2 ");
}

TEST_CASE("SourceText: a range over several lines ends with the first") {
  const SourceText text("f", "abc\ndef");
  CHECK(Where(text.Span(1, 6)) == "1:2-4 abc");
}

TEST_CASE("SourceText: columns count code points, carriage returns are no text") {
  const SourceText text("f",
                        "\xc3\xa4\xe2\x82\xac"
                        "x\r\nb\r\n");  // ä€x
  CHECK(Where(text.Span(0, 2)) ==
        "1:1-2 \xc3\xa4\xe2\x82\xac"
        "x");
  CHECK(Where(text.Span(2, 5)).starts_with("1:2-3 "));
  CHECK(Where(text.Span(5, 6)).starts_with("1:3-4 "));
  CHECK(Where(text.Span(6, 7)).starts_with("1:4-5 "));
  CHECK(Where(text.Span(8, 9)) == "2:1-2 b");
}

TEST_CASE("SourceText: columns of a long line, wherever its characters lie") {
  std::string line;
  std::vector<size_t> starts;  // of each character
  for (int i = 0; i < 700; ++i) {
    starts.push_back(line.size());
    line += i % 13 == 0 ? "\xf0\x9f\x98\x80" : i % 7 == 0 ? "\xc3\xa4" : "x";
  }
  const SourceText text("f", line);
  for (size_t i = 0; i < starts.size(); ++i) {
    CAPTURE(i);
    CHECK(text.Span(starts[i], starts[i] + 1).column == static_cast<int>(i) + 1);
  }
}

TEST_CASE("SourceText: line starts") {
  const SourceText text("f", "ab\ncd\n");
  CHECK(text.LineStart(0) == 0);
  CHECK(text.LineStart(1) == 0);
  CHECK(text.LineStart(2) == 3);
  CHECK(text.LineStart(3) == 6);
  CHECK(text.LineStart(9) == 6);
}

TEST_CASE("Place: one without a source has an empty span") {
  CHECK(Place().span().line == 0);
  const SourceText text("f", "abc");
  CHECK(Where(Place{&text, 1, 2}.span()) == "1:2-3 abc");
}

TEST_CASE("Snippet: places of a decoded scalar point into the file") {
  // A folded scalar: indentation of the second line is gone, and `\n` was two bytes in the file.
  const SourceText file("f", "k: \"a\\nb\n   c\"");
  const Snippet snippet{.text = "a\nb c", .where = {4, 5, 7, 8, 12, 13}, .source = &file};
  CHECK(Where(snippet.PlaceOf(0, 1).span()) == "1:5-6 k: \"a\\nb");
  CHECK(Where(snippet.PlaceOf(2, 3).span()) == "1:8-9 k: \"a\\nb");
  CHECK(Where(snippet.PlaceOf(4, 5).span()) == "2:4-5    c\"");
  CHECK(Where(snippet.PlaceOf(5, 5).span()) == "2:5-6    c\"");  // the end
  CHECK(Where(snippet.PlaceOf(77, 99).span()) == "2:5-6    c\"");
  CHECK(Snippet{.source = &file}.PlaceOf(0, 1).span().line == 1);
}

TEST_CASE("Origins: the same bytes as a list of numbers, whatever was added") {
  Origins origins;
  std::vector<uint32_t> expected;
  const auto run = [&](uint32_t first, size_t count) {
    origins.AddRun(first, count);
    for (size_t i = 0; i < count; ++i) expected.push_back(first + static_cast<uint32_t>(i));
  };
  const auto same = [&](uint32_t byte, size_t count) {
    origins.AddSame(byte, count);
    expected.insert(expected.end(), count, byte);
  };
  const auto check = [&] {
    REQUIRE(origins.size() == expected.size());
    for (size_t i = 0; i < expected.size(); ++i) {
      CAPTURE(i);
      CHECK(origins[i] == expected[i]);
    }
  };
  CHECK(origins.empty());
  run(5, 3);
  run(8, 2);  // goes on where the last one ended
  check();
  same(10, 3);  // begins there, too, and stays
  run(11, 1);
  run(12, 0);
  same(20, 0);
  same(21, 1);
  run(22, 2);  // behind a single byte
  run(4, 2);   // backwards
  check();
  CHECK(origins.front() == 5);
  CHECK(origins.back() == 5);
  const Origins copy = origins;
  const std::vector<uint32_t> once = expected;
  origins.Append(copy);
  expected.insert(expected.end(), once.begin(), once.end());
  check();
  origins.PrependSame(7, 2);
  expected.insert(expected.begin(), 2, 7);
  run(expected.back() + 1, 2);
  check();
}

// Texts of few lines and of many, whose bytes are found in two ways.
TEST_CASE("Origins: what is straight, and from where") {
  for (const uint32_t lines : {1, 3, 15, 16, 17, 40}) {
    CAPTURE(lines);
    Origins origins;
    for (uint32_t line = 0; line < lines; ++line) origins.AddRun(100 * line, 5);
    origins.AddSame(7, 3);
    uint32_t first = 0;
    for (uint32_t line = 0; line < lines; ++line) {
      for (uint32_t begin = 0; begin < 5; ++begin) {
        CHECK(origins[5 * line + begin] == 100 * line + begin);
        CHECK(origins.Straight(5 * line + begin, 5 * line + 5, first));
        CHECK(first == 100 * line + begin);
        CHECK_FALSE(origins.Straight(5 * line + begin, 5 * line + 6, first));
      }
    }
    CHECK_FALSE(origins.Straight(5 * lines, 5 * lines + 1, first));
  }
}

TEST_CASE("Snippet: a whole text maps to itself") {
  const SourceText file("f", "abc");
  const Snippet snippet = WholeText(file);
  CHECK(snippet.text == "abc");
  CHECK(snippet.where.size() == 4);
  CHECK(snippet.PlaceOf(1, 3).begin == 1);
  CHECK(snippet.PlaceOf(1, 3).end == 3);
  CHECK(snippet.PlaceOf(3, 3).begin == 3);
}

}  // namespace
}  // namespace qrewrite
