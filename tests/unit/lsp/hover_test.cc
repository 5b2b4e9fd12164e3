#include <doctest/doctest.h>

#include "tests/unit/lsp/talk.h"

namespace qrewrite::lsp {
namespace {

using test::Marked;
using test::Talk;

// What hovering over the `^|` says; "" for nothing.
std::string Hover(const std::string& marked) {
  const Marked at(marked);
  Talk talk;
  talk.Open(at.text);
  const Json answer = talk.At("hover", at.cursor);
  return answer.is_null() ? "" : answer.at("contents").at("value").get<std::string>();
}

bool Says(const std::string& text, const std::string& part) {
  CAPTURE(text);
  return text.find(part) != std::string::npos;
}

std::string File(const std::string& rest, const std::string& opset = "\">=13\"") {
  return "qrewrite: 1\nname: a\nopset: " + opset + "\n" + rest;
}

std::string Rule(const std::string& rest, const std::string& opset = "\">=13\"") {
  return File(
      "params: {lo: {default: 0.5, doc: least}}\n"
      "sets: {moves: [Transpose, Reshape]}\n"
      "signatures:\n  acme.Gain: {inputs: [x, factor], attributes: {axis: 1}, outputs: [y]}\n"
      "define:\n  range(v):\n    - v = Relu(_) => [0, 1e38]\n"
      "rules:\n  - name: r\n" +
          rest,
      opset);
}

}  // namespace

TEST_CASE("Hover: operators at the opset of the file") {
  const std::string softmax = "    match: y = Soft^|max<axis>(x)\n    replace: y = Relu(x)\n";
  CHECK(Says(Hover(Rule(softmax)), "output: T = Softmax(input: T)"));
  CHECK(Says(Hover(Rule(softmax)), "ai.onnx, version 13 of 1, 11, 13"));
  CHECK(Says(Hover(Rule(softmax)), "`axis`: int, default `-1`: Describes the dimension"));
  CHECK(Says(Hover(Rule(softmax)), "normalized exponential"));
  CHECK(Says(Hover(Rule(softmax, "\">=11 <13\"")), "version 11 of"));
  CHECK(Says(Hover(Rule(softmax, "\"==12\"")), "`axis`: int, default `1`"));
  // A rule narrows it, a test has its own.
  CHECK(Says(Hover(Rule("    opset: \"<12\"\n" + softmax, "\">=7\"")), "version 11 of"));
  CHECK(Says(Hover(Rule("    match: y = Relu(x)\n    tests:\n      - name: t\n        opset: 11\n"
                        "        given: \"x: float[2]\\ny = Soft^|max(x)\"\n")),
             "version 11 of"));
  // Without one it is tested at the nearest opset that file and rule allow.
  const std::string open =
      "    match: y = Relu(x)\n    tests:\n      - name: t\n"
      "        given: \"x: float[2]\\ny = Soft^|max(x)\"\n";
  CHECK(Says(Hover(Rule(open, "\"<13\"")), "version 11 of"));
  CHECK(Says(Hover(Rule("    opset: \"<11\"\n" + open, "\">=7\"")), "version 1 of"));
  CHECK(Says(Hover(Rule(open, "\">=7\"")), "version 13 of"));
  CHECK(Says(Hover(Rule("    match: y = acme.Ga^|in(x, f)\n")), "y = acme.Gain(x, factor)"));
  CHECK(Says(Hover(Rule("    match: y = acme.Ga^|in(x, f)\n")), "`axis`: int, default `1`"));
  CHECK(Says(Hover(Rule("    match: y = com.microsoft.QLinear^|Add(_...)\n")), "com.microsoft"));
  CHECK(Hover(Rule("    match: y = foo.B^|ar(x)\n")) == "");
}

TEST_CASE("Hover: names of a rule") {
  const std::string rule =
      "    match: |\n      y = n:Softmax<axis>(x)\n      z = Add(y, other)\n"
      "    let: {k: axis + 1}\n    where: rank(x) == k and op(n) == 'Softmax'\n";
  const auto at = [&](const std::string& what, size_t behind) {
    std::string text = Rule(rule);
    text.insert(text.find(what) + behind, "^|");
    return Hover(text);
  };
  CHECK(Says(at("(y, other)", 1), "`y`: output of `y = n:Softmax<axis>(x)`"));
  CHECK(Says(at("rank(x)", 5), "`x`: input 0 of `Softmax`"));
  CHECK(Says(at("other)", 0), "`other`: input 1 of `Add`"));
  CHECK(Says(at("axis + 1", 0), "attribute `axis` of Softmax: int, default `-1`"));
  CHECK(Says(at("== k", 3), "`k`: computed: `axis + 1`"));
  CHECK(Says(at("op(n)", 3), "label of the node `Softmax`"));
}

TEST_CASE("Hover: what a text may be") {
  CHECK(Says(Hover(Rule("    match: y = Gelu<approxi^|mate=_>(x)\n    opset: \">=20\"\n")),
             "string, default `'none'`; one of 'none', 'tanh'"));
}

TEST_CASE("Hover: functions, definitions, sets, parameters, keys") {
  CHECK(Says(Hover(Rule("    match: y = Relu(x)\n    where: ran^|k(x) == 2\n")), "rank(x)"));
  CHECK(Says(Hover(Rule("    match: y = Relu(x)\n    where: $ran^|ge(x) == 2\n")),
             "v = Relu(_) => [0, 1e38]"));
  CHECK(Says(Hover(Rule("    match: y = @mov^|es(x)\n")), "`Transpose`, `Reshape`"));
  CHECK(Says(Hover(Rule("    match: y = Relu(x)\n    where: x > params.l^|o\n")),
             "default `0.5`\n\nleast"));
  CHECK(Says(Hover(Rule("    mat^|ch: y = Relu(x)\n")), "statements, one a line (required)"));
  CHECK(Says(Hover("qre^|write: 1\n"), "version of the format"));
  CHECK(Hover(Rule("    match: y = Relu(x)   ^|\n")) == "");
}

TEST_CASE("Hover: half a file is better than none") {
  // A line that is no YAML, and a text that is no statement.
  CHECK(Says(Hover(Rule("    match: y = Soft^|max(x)\n    whe\n    replace: y = Relu(x)\n")),
             "Softmax"));
  CHECK(Says(Hover(Rule("    match: |\n      y = Soft^|max(x)\n      z = Add(y,\n")), "Softmax"));
  CHECK(Hover("{[^|") == "");
}

}  // namespace qrewrite::lsp
