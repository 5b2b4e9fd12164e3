// Random damage to real texts: no crash, no hang, and what still parses prints and reads back.
#include <doctest/doctest.h>

#include <random>
#include <vector>

#include "tests/unit/expr/parse_support.h"

namespace qrewrite {
namespace {

const Text kCorpus[] = {
#include "tests/unit/expr/corpus.inc"
};
const Fault kFaults[] = {
#include "tests/unit/expr/errors.inc"
};
constexpr std::string_view kGraphs[] = {
    "x: float[1, N]\nw = float[2, 2] [[1, 2], [3, 4]]\ny = Conv<pads=[0, 0]>(x, w, uint8 0)",
    "y = If<then_branch={ a = Relu(x); return a }, else_branch=(i: int64) => { b = Neg(i) }>(c)",
    "z = random(7) float8e4m3fn[3]; t = string 'a\\'b'\nreturn z, 'a/b:0'",
};
constexpr std::string_view kPieces[] = {
    "(",    ")",      "[",     "]",  "{",    "}",    "<",    ">",
    "=",    "==",     "=>",    "->", "...",  "?",    "??",   "*",
    "**",   ",",      ".",     ":",  ";",    "\n",   "'",    "\"",
    "#",    "@",      "$",     "|",  "!",    "~",    "-",    "1",
    "1e5",  "x",      "when",  "if", "else", "not ", "in",   "float",
    "INT8", "return", "zeros", " ",  "\\",   "\xc3", "\xff", std::string_view("\0", 1)};

class Damage {
 public:
  explicit Damage(uint32_t seed) : random_(seed) {}

  std::string Apply(std::string text, const std::vector<std::string>& others) {
    for (size_t i = 1 + Below(4); i > 0; --i) {
      const size_t at = Below(text.size() + 1);
      const size_t length = std::min(Below(8), text.size() - at);
      const std::string& other = others[Below(others.size())];
      switch (Below(5)) {
        case 0: text.erase(at, length); break;
        case 1: text.insert(at, kPieces[Below(std::size(kPieces))]); break;
        case 2: text.insert(at, text.substr(at, length)); break;
        case 3: text.replace(at, length, kPieces[Below(std::size(kPieces))]); break;
        case 4: text.insert(at, other.substr(Below(other.size() + 1), Below(12))); break;
      }
    }
    return text;
  }
  size_t Below(size_t n) { return n == 0 ? 0 : random_() % n; }

 private:
  std::mt19937 random_;
};

TEST_CASE("Fuzz: damaged texts never crash the parser") {
  std::vector<std::string> texts;
  std::vector<Kind> kinds;
  const auto add = [&](Kind kind, std::string_view text) {
    kinds.push_back(kind);
    texts.emplace_back(Trimmed(text));
  };
  for (const Text& text : kCorpus) add(text.kind, text.text);
  for (const Fault& fault : kFaults) add(fault.kind, fault.text);
  for (const std::string_view graph : kGraphs) add(Kind::kGraph, graph);
  Damage damage(20240229);
  int valid = 0;
  for (int i = 0; i < 20000; ++i) {
    const size_t chosen = damage.Below(texts.size());
    const std::string text = damage.Apply(texts[chosen], texts);
    // Now and then as a text of another kind.
    const Kind kind = damage.Below(4) == 0 ? static_cast<Kind>(damage.Below(5)) : kinds[chosen];
    DiagnosticSink sink;
    const std::string printed = ParseAndPrint(kind, text, sink);
    Rendered(sink);
    if (sink.has_errors()) continue;
    ++valid;
    if (kind == Kind::kHead) continue;
    DiagnosticSink again;
    CHECK_EQ(ParseAndPrint(kind, printed, again), printed);
    CHECK_EQ(Rendered(again), "");
  }
  CHECK(valid > 1000);  // the damage leaves enough that is worth printing
}

}  // namespace
}  // namespace qrewrite
