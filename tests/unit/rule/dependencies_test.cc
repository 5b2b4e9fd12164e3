// Which rules of a phase may enable which.
#include "engine/rule/dependencies.h"

#include <algorithm>

#include <doctest/doctest.h>

#include "tests/unit/rule/support.h"

namespace qrewrite {
namespace {

struct Loaded {
  explicit Loaded(const std::string& text) {
    auto loaded = LoadRulesText("t.yaml", test::File(text));
    const std::string messages = loaded.ok() ? "" : loaded.status().message();
    REQUIRE_MESSAGE(loaded.ok(), messages);
    set = *loaded;
  }
  Dependencies Of() const { return {*set, set->phases.front().rules}; }
  std::string Name(size_t rule) const { return set->phases.front().rules[rule]; }

  std::shared_ptr<const RuleSet> set;
};

// "a>b c" for each rule that may enable others.
std::string Edges(const Loaded& loaded) {
  const Dependencies dependencies = loaded.Of();
  std::string out;
  for (size_t i = 0; i < dependencies.size(); ++i) {
    std::vector<std::string> names;
    dependencies.Enabled(i, [&](size_t other) { names.push_back(loaded.Name(other)); });
    std::sort(names.begin(), names.end());
    if (names.empty()) continue;
    out += (out.empty() ? "" : ", ") + loaded.Name(i) + ">";
    for (const std::string& name : names) out += (&name == &names.front() ? "" : " ") + name;
  }
  return out;
}

std::string Rules(std::initializer_list<std::pair<const char*, const char*>> rules) {
  std::string text = "rules:\n";
  char name = 'a';
  for (const auto& [match, rest] : rules) {
    text += std::string("  - name: ") + name++ + "\n    match: " + match + "\n    " + rest + "\n";
  }
  return text;
}

}  // namespace

TEST_CASE("Dependencies: who makes what whom reads") {
  struct Row {
    const char* text;
    std::string rules;
    const char* edges;
  };
  const Row rows[] = {
      {"an operator",
       Rules({{"y = Relu(x)", "replace: y = Abs(x)"},
              {"y = Abs(x)", "replace: y = Neg(x)"},
              {"y = Sin(x)", "replace: y = Cos(x)"}}),
       "a>b"},
      {"itself", Rules({{"y = Relu(x)", "replace: y = Neg(Relu(x))"}}), "a>a"},
      {"a label makes its operator again",
       Rules({{"y = n:Relu|Abs(x)", "replace: y = n(Sin(x))"},
              {"y = Abs(x)", "replace: y = Cos(x)"}}),
       "a>a b"},
      {"sets, and their data",
       "sets: {s: {Relu: {op: Sin}, Abs: {op: Cos}}, t: [Tan, Sin]}\n" +
           Rules({{"y = n:@s(x)", "replace: y = n.op(x)"}, {"y = @t(x)", "replace: y = Exp(x)"}}),
       "a>b"},
      {"templates make, patterns read, through each other",
       "define:\n  y = outer(x):\n    - => $inner(x)\n  y = inner(x):\n    - => Cos(x)\n"
       "  y = seen(x):\n    - match: y = Cos(x)\n" +
           Rules({{"y = Relu(x)", "replace: y = $outer(x)"},
                  {"y = $seen(x)", "replace: y = Exp(x)"}}),
       "a>b"},
      {"facts read what their patterns look at",
       "define:\n  f(v):\n    - v = Abs(u) => 1\n    - => 0\n" +
           Rules({{"y = Relu(x)", "replace: y = Abs(x)"},
                  {"y = Sin(x)", "replace: y = Cos(x)\n    where: $f(x) == 1"}}),
       "a>b"},
      {"what is computed is not made",
       Rules({{"y = Relu(x)", "replace: y = Neg(k)\n    let: {k: Abs(1.0)}"},
              {"y = Abs(x)", "replace: y = Cos(x)"}}),
       ""},
      {"a join brings neighbours together",
       Rules({{"y = Identity(x)", "replace: y = x"},
              {"y = Relu(Relu(x))", "replace: y = Sin(x)"},
              {"y = Abs(x)", "replace: y = Cos(x)"},
              {"y = Tan(x)", "replace: y = Cos(x)\n    where: const(x)"}}),
       "a>b d"},
      {"whoever asks for readers depends on every rule",
       Rules({{"y = Relu(x)", "replace: y = Abs(x)"},
              {"y = Sin(x)", "replace: y = Cos(x)\n    where: uses(x) == 1"}}),
       "a>b, b>b"},
      {"heads that nobody lists",
       "sets: {w: [\"com.microsoft.*\"], s: [Relu]}\n" +
           Rules({{"y = Relu(x)", "replace: y = Abs(x)"},
                  {"y = n:!@s(x)", "replace: y = n(Sin(x))"},
                  {"y = @w(x)", "replace: y = Cos(x)"}}),
       "a>b c, b>a b c, c>b c"},
      {"a label handed to a template",
       "define:\n  y = again(n, x):\n    - => n(x -> Sin(x))\n" +
           Rules({{"y = n:Relu(x)", "replace: y = $again(n, x)"},
                  {"y = Abs(x)", "replace: y = Cos(x)"}}),
       "a>a b"},
      {"cases",
       Rules({{"y = Relu(x)",
               "cases:\n      - when const(x) => y = Abs(x)\n"
               "      - => y = Sin(x)"},
              {"y = Sin(x)", "replace: y = Cos(x)"}}),
       "a>b"},
      {"who refuses makes nothing",
       Rules({{"y = Relu(x)", "refuse: not here"}, {"y = Relu(x)", "replace: y = Abs(x)"}}), ""},
  };
  for (const Row& row : rows) {
    CAPTURE(row.text);
    CHECK(Edges(Loaded(row.rules)) == row.edges);
  }
}

TEST_CASE("Dependencies: components come in the order in which they enable each other") {
  const Loaded loaded(Rules({{"y = Cos(x)", "replace: y = Tan(x)"},
                             {"y = Abs(x)", "replace: y = Neg(x)"},
                             {"y = Relu(x)", "replace: y = Abs(x)"},
                             {"y = Neg(x)", "replace: y = Abs(Cos(x))"},
                             {"y = Sin(x)", "replace: y = Exp(Sin(x))"}}));
  const Dependencies dependencies = loaded.Of();
  std::string out;
  for (const std::vector<size_t>& component : dependencies.components()) {
    out += "[";
    for (const size_t rule : component) out += loaded.Name(rule);
    out += "]";
  }
  const auto at = [&](const char* what) { return out.find(what); };
  CAPTURE(out);
  REQUIRE(at("[bd]") != std::string::npos);
  CHECK(dependencies.components().size() == 4);
  CHECK(at("[c]") < at("[bd]"));
  CHECK(at("[bd]") < at("[a]"));
  CHECK(dependencies.component(1) == dependencies.component(3));
  CHECK(dependencies.Loops(1));
  CHECK(dependencies.Loops(4));
  CHECK_FALSE(dependencies.Loops(0));
  CHECK_FALSE(dependencies.Loops(2));
}

}  // namespace qrewrite
