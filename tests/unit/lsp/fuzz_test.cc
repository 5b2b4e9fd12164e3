// The shipped rule files, damaged as typing damages them: every request is answered, none with an
// error of ours, and what is said points into the text.
#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <tuple>

#include "engine/base/dice.h"
#include "engine/rule/loader.h"
#include "tests/unit/lsp/shipped.h"
#include "tests/unit/lsp/talk.h"

namespace qrewrite::lsp {
namespace {

using test::kUri;
using test::ShippedPaths;
using test::Talk;

std::vector<std::string> ShippedFiles() {
  std::vector<std::string> texts;
  for (const std::string& path : ShippedPaths()) {
    std::ifstream in(path, std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    texts.push_back(text.str());
  }
  return texts;
}

// A piece of the file, so that there is time for many, with something wrong in it.
std::string Damaged(const std::string& file, Dice& dice) {
  constexpr size_t kMost = 12'000;
  static const std::string kPieces[] = {
      "$",       "@",  "{",   "}",  "[",  "\"",   "'",
      ":",       ": ", "|\n", "- ", "\n", "\t",   "<",
      "(",       ")",  "=",   "=>", "é😀", "\xff", std::string("\0", 1),
      "params.", "#",  "&a ", "*a"};
  std::string text = file.substr(0, std::min(file.size(), kMost));
  if (dice.Once(3)) text.resize(dice.Below(text.size()));
  for (size_t i = dice.Below(4); i-- > 0 && !text.empty();) {
    const size_t at = dice.Below(text.size());
    const size_t length = std::min<size_t>(dice.Below(20), text.size() - at);
    const std::string& piece = kPieces[dice.Below(std::size(kPieces))];
    switch (dice.Below(3)) {
      case 0: text.insert(at, piece); break;
      case 1: text.erase(at, length); break;
      default: text.replace(at, length, piece);
    }
  }
  return text;
}

void Walk(const Json& json, const Text& text, int* ranges) {
  if (json.is_object() && json.contains("start") && json.contains("end")) {
    const Range range = RangeOf(json);
    ++*ranges;
    CHECK(text.At(text.Offset(range.start)) == range.start);
    CHECK(text.At(text.Offset(range.end)) == range.end);
    CHECK(text.Offset(range.start) <= text.Offset(range.end));
    return;
  }
  if (!json.is_structured()) return;
  for (const auto& item : json) Walk(item, text, ranges);
}

}  // namespace

TEST_CASE("Server: damaged rule files") {
  Dice dice(20);
  int ranges = 0;
  const std::vector<std::string> files = ShippedFiles();
  REQUIRE(files.size() >= 10);
  for (size_t round = 0; round < 5 * files.size(); ++round) {
    const std::string content = Damaged(files[round % files.size()], dice);
    CAPTURE(content);
    Talk talk;
    talk.Open(content);
    const Text text(content);
    Walk(talk.Published(), text, &ranges);
    const Json document = {{"textDocument", {{"uri", kUri}}}};
    for (const char* method : {"documentSymbol", "semanticTokens/full", "codeLens"}) {
      const Json answer = talk.Ask("textDocument/" + std::string(method), document);
      CHECK_FALSE((answer.is_object() && answer.contains("error")));
      Walk(answer, text, &ranges);
    }
    for (int i = 0; i < 4; ++i) {
      const Position at = text.At(dice.Below(content.size() + 1));
      for (const char* method : {"hover", "completion", "definition", "prepareRename"}) {
        const Json answer = talk.At(method, at);
        CHECK_FALSE((answer.is_object() && answer.contains("error")));
        Walk(answer, text, &ranges);
      }
      const Json renamed = talk.At("rename", at, {{"newName", "fresh"}});
      // Why a name cannot be another is an answer.
      if (renamed.contains("error")) CHECK(renamed.at("error").at("code") == kRequestFailed);
      const Json range = ToJson(Range{at, at});
      const Json fixes = talk.Ask(
          "textDocument/codeAction",
          {{"textDocument", {{"uri", kUri}}}, {"range", range}, {"context", Json::object()}});
      CHECK(fixes.is_array());
      Walk(fixes, text, &ranges);
    }
  }
  CHECK(ranges > 1000);
}

TEST_CASE("Rename: a shipped file with another name in it is as right as before") {
  Dice dice(21);
  int renamed = 0;
  for (const std::string& content : ShippedFiles()) {
    const Text text(content);
    Talk talk;
    talk.Open(content);
    for (int i = 0; i < 60; ++i) {
      const Position at = text.At(dice.Below(content.size()));
      const Json answer = talk.At("rename", at, {{"newName", "fresh_name"}});
      if (answer.contains("error")) continue;
      std::vector<std::tuple<size_t, size_t, std::string>> edits;
      for (const Json& edit : answer.at("changes").at(kUri)) {
        const Range range = RangeOf(edit.at("range"));
        edits.emplace_back(text.Offset(range.start), text.Offset(range.end),
                           edit.at("newText").get<std::string>());
      }
      std::sort(edits.rbegin(), edits.rend());
      std::string other = content;
      for (const auto& [begin, end, with] : edits) other.replace(begin, end - begin, with);
      // What was right is right with the other name.
      const auto loaded = LoadRulesText("a.yaml", other);
      const auto before = LoadRulesText("a.yaml", content);
      if (!before.ok()) continue;  // it includes others, which are not here
      ++renamed;
      CAPTURE(answer.dump());
      CHECK_MESSAGE(loaded.ok(), (loaded.ok() ? "" : loaded.status().message()));
      // `<axis>` may stand alone; `<axis=fresh_name>` is a name that nothing uses.
      if (loaded.ok() && edits.size() > 1) CHECK(Lint(**loaded).size() == Lint(**before).size());
    }
  }
  CHECK(renamed > 20);
}

}  // namespace qrewrite::lsp
