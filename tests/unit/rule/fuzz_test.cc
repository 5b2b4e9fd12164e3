// Mutations of good and bad rule files: loading never crashes, and says why when it refuses.
#include <algorithm>
#include <filesystem>
#include <random>

#include <doctest/doctest.h>

#include "tests/unit/rule/support.h"

namespace qrewrite {
namespace {

struct Seed {
  std::string name, text;
};

std::vector<Seed> Seeds() {
  std::vector<Seed> seeds;
  for (const char* folder : {"/fixtures/rules_bad", "/rules"}) {
    for (const auto& entry : std::filesystem::directory_iterator(test::SourceDir() + folder)) {
      const std::string extension = entry.path().extension();
      if (extension != ".yaml" && extension != ".json") continue;
      seeds.push_back({entry.path().filename(), test::Slurp(entry.path())});
    }
  }
  std::sort(seeds.begin(), seeds.end(),
            [](const Seed& a, const Seed& b) { return a.name < b.name; });
  return seeds;
}

constexpr std::string_view kTokens[] = {"\n",
                                        " ",
                                        ":",
                                        ": ",
                                        "- ",
                                        "{",
                                        "}",
                                        "[",
                                        "]",
                                        "'",
                                        "\"",
                                        "|",
                                        ">",
                                        "#",
                                        "&a ",
                                        "*a",
                                        "!t ",
                                        "%",
                                        "@",
                                        "\t",
                                        "...",
                                        "---",
                                        "?",
                                        "=>",
                                        "->",
                                        "**",
                                        "<",
                                        ">",
                                        "(",
                                        ")",
                                        "$",
                                        "when ",
                                        "010",
                                        "on",
                                        "~",
                                        "\\",
                                        "\xff",
                                        "\xc3\xa9",
                                        "0",
                                        "1e999",
                                        "absent",
                                        "**_",
                                        "_...",
                                        "name: ",
                                        "match: ",
                                        "replace: y = ",
                                        "cases:\n  - ",
                                        "\r\n",
                                        "\\u0041",
                                        ",",
                                        "=",
                                        "n:",
                                        "qr.DQ",
                                        "params.",
                                        "@moves",
                                        "//",
                                        "??"};

std::string Mutate(std::string text, const std::vector<Seed>& seeds, std::mt19937& random) {
  const auto below = [&](size_t n) { return n == 0 ? 0 : random() % n; };
  for (size_t times = 1 + below(4); times > 0; --times) {
    const size_t at = below(text.size() + 1);
    const size_t length = below(std::min<size_t>(text.size() - at + 1, 40));
    switch (below(5)) {
      case 0: text.erase(at, length); break;
      case 1: text.insert(at, kTokens[below(std::size(kTokens))]); break;
      case 2: text.replace(at, length, kTokens[below(std::size(kTokens))]); break;
      case 3: text.insert(at, text.substr(below(text.size() + 1), 60)); break;
      default: {
        const std::string& other = seeds[below(seeds.size())].text;
        text.insert(at, other.substr(below(other.size() + 1), below(200)));
      }
    }
  }
  return text;
}

}  // namespace

TEST_CASE("Fuzz: loading mutated files never crashes") {
  const std::vector<Seed> seeds = Seeds();
  REQUIRE(seeds.size() > 40);
  const LoadOptions options = test::Reading([&] {
    test::Files files;
    for (const Seed& seed : seeds) files[seed.name] = seed.text;
    return files;
  }());
  std::mt19937 random(20260);
  const char* rounds_text = std::getenv("QREWRITE_FUZZ_ROUNDS");
  const int rounds = rounds_text ? std::atoi(rounds_text) : 1500;
  int refused = 0;
  for (int i = 0; i < rounds; ++i) {
    const Seed& seed = seeds[i % seeds.size()];
    const std::string text = Mutate(seed.text, seeds, random);
    const auto loaded = LoadRulesText(seed.name, text, options);
    if (loaded.ok()) {
      Lint(**loaded);
      continue;
    }
    ++refused;
    CHECK(loaded.status().code() == StatusCode::kInvalidRules);
    const bool explained = !loaded.status().diagnostics().empty() &&
                           !loaded.status().diagnostics().front().message.empty();
    CHECK(explained);
  }
  CHECK(refused > rounds / 2);
}

TEST_CASE("Fuzz: deep and long expressions are refused, not followed") {
  const auto rule = [](const std::string& where) {
    return test::File(
        "rules:\n  - name: r\n    match: y = Relu(x)\n    replace: y = Abs(x)\n    where: |\n     "
        " " +
        where + "\n");
  };
  std::string sum = "x", parens, chain = "x";
  for (int i = 0; i < 20'000; ++i) {
    sum += " + x";
    parens += "(";
    chain += ".a";
  }
  for (const std::string& text : {sum, parens + "x", chain, std::string(30'000, '-') + "x"}) {
    CHECK_FALSE(LoadRulesText("t.yaml", rule(text)).ok());
  }
  std::string conditions =
      "rules:\n  - name: r\n    match: y = Relu(x)\n    replace: y = Abs(x)\nphases:\n"
      "  - name: p\n    rules: all\n    when:\n";
  for (int i = 0; i < 20'000; ++i) conditions += "      - opset > 3\n";
  CHECK(LoadRulesText("t.yaml", test::File(conditions)).ok());
}

}  // namespace qrewrite
