// What editors ask for beside hovering: definitions, references, new names, completion, fixes, lenses.
#include <doctest/doctest.h>

#include <algorithm>

#include "tests/unit/lsp/talk.h"

namespace qrewrite::lsp {
namespace {

using test::kUri;
using test::Marked;
using test::Talk;

const std::string kB = "file:///rules/b.yaml";
const std::string kPart =
    "qrewrite: 1\nname: part\n"
    "sets: {moves: [Transpose, Reshape]}\n"
    "params: {lo: {default: 0.5}}\n"
    "signatures:\n  acme.Gain: {inputs: [x, factor], attributes: {axis: 1}, outputs: [y]}\n"
    "define:\n"
    "  y = nop(x):\n    - y = Identity(x)\n"
    "  range(v):\n    - v = Transpose(p) => $range(p)\n";

std::string File(const std::string& rules) {
  return "qrewrite: 1\nname: a\ninclude: [b.yaml]\nrules:\n" + rules;
}

// A document with what it includes, and the cursor.
struct Opened {
  explicit Opened(const std::string& marked) : at(marked) {
    talk.Open(kPart, kB);
    talk.Open(at.text);
  }
  // "b.yaml:2:7-12" of each location of an answer.
  std::string Locations(const std::string& method, const Json& params = Json::object()) {
    std::string out;
    for (const Json& location : talk.At(method, at.cursor, params)) {
      const Range range = RangeOf(location.at("range"));
      const std::string uri = location.at("uri").get<std::string>();
      out += (out.empty() ? "" : " ") + (uri == kUri ? "" : uri.substr(uri.rfind('/') + 1) + ":") +
             std::to_string(range.start.line) + ":" + std::to_string(range.start.character) + "-" +
             std::to_string(range.end.character);
    }
    return out;
  }
  // The text after renaming, or the error.
  std::string Renamed(const std::string& to) {
    const Json answer = talk.At("rename", at.cursor, {{"newName", to}});
    if (answer.contains("error")) return answer.at("error").at("message").get<std::string>();
    return Edited(answer.at("changes").value(kUri, Json::array()));
  }
  std::string Edited(const Json& edits) const {
    const Text text(at.text);
    std::vector<std::pair<size_t, std::pair<size_t, std::string>>> sorted;
    for (const Json& edit : edits) {
      const Range range = RangeOf(edit.at("range"));
      sorted.push_back({text.Offset(range.start),
                        {text.Offset(range.end), edit.at("newText").get<std::string>()}});
    }
    std::sort(sorted.rbegin(), sorted.rend());
    std::string content = at.text;
    for (const auto& [begin, edit] : sorted)
      content.replace(begin, edit.first - begin, edit.second);
    return content;
  }
  // The labels that completion offers, in order.
  std::vector<std::string> Labels() {
    std::vector<std::string> labels;
    const Json list = talk.At("completion", at.cursor);
    for (const Json& item : list.at("items")) {
      labels.push_back(item.at("label").get<std::string>());
    }
    return labels;
  }
  // Those of these labels that are offered.
  std::string Offers(const std::vector<std::string>& among) {
    const std::vector<std::string> labels = Labels();
    std::string out;
    for (const std::string& label : among) {
      if (std::find(labels.begin(), labels.end(), label) == labels.end()) continue;
      out += (out.empty() ? "" : " ") + label;
    }
    return out;
  }

  Marked at;
  Talk talk;
};

std::string Rule(const std::string& rest) { return File("  - name: r\n" + rest); }

}  // namespace

TEST_CASE("Definition: names of a rule and of files") {
  const auto to = [](const std::string& marked) { return Opened(marked).Locations("definition"); };
  CHECK(to(Rule("    match: y = Relu(x)\n    where: rank(^|x) == 2\n")) == "5:20-21");
  CHECK(to(Rule("    match: y = Relu(x)\n    let: {k: 1, l: ^|k}\n")) == "6:10-11");
  CHECK(to(Rule("    match: y = Relu(x)\n    refuse: no {name(^|x)} here\n")) == "5:20-21");
  CHECK(to(Rule("    match: y = n:Relu(x)\n    replace: y = ^|n.op(x)\n")) == "5:15-16");
  CHECK(to(Rule("    match: y = Softmax<axis>(x)\n    replace: y = Softmax<axis=ax^|is>(x)\n")) ==
        "5:23-27");
  CHECK(to(Rule("    match: y = $no^|p(x)\n")) == "b.yaml:7:6-9");
  CHECK(to(Rule("    match: y = @mo^|ves(x)\n")) == "b.yaml:2:7-12");
  CHECK(to(Rule("    match: y = Relu(x)\n    where: x > params.l^|o\n")) == "b.yaml:3:9-11");
  CHECK(to(Rule("    match: y = acme.Ga^|in(x, f)\n")) == "b.yaml:5:2-11");
  CHECK(to(Rule("    match: y = acme.Gain<ax^|is=1>(x, f)\n")) == "b.yaml:5:48-52");
  CHECK(to("qrewrite: 1\nname: a\ninclude: [b^|.yaml]\n") == "b.yaml:0:0-0");
  CHECK(to(Rule("    match: y = Relu(x)\nphases: [{name: p, rules: [^|r]}]\n")) == "4:10-11");
  CHECK(to(Rule("    match: y = Rel^|u(x)\n")) == "");
  CHECK(to(Rule("    match: y = Relu(x)\n    replace: y = Abs(^|z)\n")) == "");
  // A name of a test is another one than that of the rule.
  CHECK(to(Rule("    match: y = Relu(x)\n    tests:\n      - name: t\n        given: |\n"
                "          x: float[2]\n          y = Relu(^|x)\n")) == "9:10-11");
}

TEST_CASE("References: of a name, with its definition or without") {
  const std::string rule =
      "    match: y = Relu(^|x)\n    where: rank(x) == 2\n    replace: y = Abs(x)\n"
      "    tests:\n      - {name: t, given: \"x: float[2]\\ny = Relu(x)\", expect: unchanged}\n";
  CHECK(Opened(Rule(rule)).Locations("references", {{"context", {{"includeDeclaration", true}}}}) ==
        "5:20-21 6:16-17 7:21-22");
  CHECK(
      Opened(Rule(rule)).Locations("references", {{"context", {{"includeDeclaration", false}}}}) ==
      "6:16-17 7:21-22");
  CHECK(Opened(Rule("    match: y = @^|moves(x)\n    where: uses(x, @moves) == 1\n"))
            .Locations("references", {{"context", {{"includeDeclaration", true}}}}) ==
        "5:16-21 6:20-25 b.yaml:2:7-12");
}

TEST_CASE("Highlight: where a name stands in the document") {
  const std::string rule = "    match: y = @^|moves(x)\n    where: uses(x, @moves) == 1\n";
  Opened opened(Rule(rule));
  const Json places = opened.talk.At("documentHighlight", opened.at.cursor);
  REQUIRE(places.size() == 2);
  CHECK(places.at(1).at("range") == ToJson(Range{{6, 20}, {6, 25}}));
}

TEST_CASE("Rename: a name of a rule, everywhere and nowhere else") {
  const std::string rule =
      "    match: |\n      t = Softmax<^|axis>(x)\n      y = n:Add(t, axis_)\n"
      "    where: axis == 1 and n.axis == 1\n"
      "    let: {k: axis + 1}\n"
      "    replace: y = Softmax<axis>(x)  # axis\n";
  Opened opened(Rule(rule));
  std::string expected = Rule(
      "    match: |\n      t = Softmax<axis=a>(x)\n      y = n:Add(t, axis_)\n"
      "    where: a == 1 and n.axis == 1\n"
      "    let: {k: a + 1}\n"
      "    replace: y = Softmax<axis=a>(x)  # axis\n");
  CHECK(opened.Renamed("a") == expected);
  CHECK(opened.Renamed("t") == "`t` is another name here (line 7)");
  CHECK(opened.Renamed("rank") == "`rank` is a function");
  CHECK(opened.Renamed("when") == "`when` cannot be a name");
  CHECK(opened.Renamed("a b") == "`a b` cannot be a name");
  CHECK(opened.Renamed("") == "`` cannot be a name");
  CHECK(opened.Renamed("axis") == opened.at.text);
  const Json prepared = opened.talk.At("prepareRename", opened.at.cursor);
  CHECK(prepared.at("placeholder") == "axis");
  CHECK(RangeOf(prepared.at("range")) == Range{{6, 18}, {6, 22}});
}

TEST_CASE("Rename: what cannot have another name") {
  const auto refused = [](const std::string& marked) {
    Opened opened(marked);
    CHECK(opened.talk.At("prepareRename", opened.at.cursor).is_null());
    return opened.Renamed("new_name");
  };
  CHECK(refused(Rule("    match: y = Re^|lu(x)\n")) ==
        "this name is not one of the rule file's own");
  CHECK(refused(Rule("    match: y = Relu(x)\n    where: ran^|k(x) == 2\n")) ==
        "this name is not one of the rule file's own");
  CHECK(refused(Rule("    match: y = Relu(x)\n    where: ^|z == 2\n")) == "nothing binds `z`");
  CHECK(refused(Rule("   ^| match: y = Relu(x)\n")) == "there is no name here");
  const std::string signature =
      "qrewrite: 1\nname: r\nsignatures:\n  acme.Half:\n    inputs: [x]\n    outputs: {y: {shape: "
      "shape(x)}}\n";
  for (const char* computes : {"^|y = Mul(x, 0.5)", "y = Mul(^|x, 0.5)"}) {
    CHECK(refused(signature + "    computes: " + computes + "\n") ==
          "callers name inputs, outputs and attributes, too");
  }
  // A place that cannot be read may hold the name, too.
  CHECK(refused(Rule("    match: y = Relu(^|x)\n    where: rank(x == 2\n")) ==
        "a text of this rule cannot be read");
  CHECK(refused(Rule("    match: y = Relu(^|x)\n    whe\n    replace: y = Abs(x)\n")) ==
        "a text of this rule cannot be read");
}

TEST_CASE("Rename: a definition and a set of an included file") {
  Opened opened(Rule("    match: y = $^|nop(x)\n"));
  const Json changes =
      opened.talk.At("rename", opened.at.cursor, {{"newName", "idle"}}).at("changes");
  CHECK(changes.size() == 2);
  CHECK(changes.at(kB).size() == 1);
  CHECK(opened.Renamed("idle") == Rule("    match: y = $idle(x)\n"));
  CHECK(opened.Renamed("range") == "there is a `range` already");
}

TEST_CASE("Completion: keys where they belong") {
  const std::vector<std::string> keys = {"match", "where", "given", "default", "phases", "when"};
  CHECK(Opened(Rule("    match: y = Relu(x)\n    ^|\n")).Offers(keys) == "where");
  CHECK(Opened(Rule("    match: y = Relu(x)\n    whe^|\n")).Offers(keys) == "where");
  CHECK(Opened(Rule("    match: y = Relu(x)\n    whe^|\n    replace: y = x\n")).Offers(keys) ==
        "where");
  CHECK(Opened(Rule("    match: |\n      y = Relu(x)\n    ^|")).Offers(keys) == "where");
  CHECK(Opened(File("  - ^|\n")).Offers(keys) == "match where");
  CHECK(Opened(File("  - {name: r, ^|}\n")).Offers(keys) == "match where");
  CHECK(Opened(File("  - {name: r, m^|\n")).Offers(keys) == "match where");
  CHECK(Opened("qrewrite: 1\n^|\n").Offers(keys) == "phases");
  CHECK(Opened("^|").Offers({"qrewrite", "name"}) == "qrewrite name");
  CHECK(Opened("params:\n  a:\n    ^|\n").Offers(keys) == "default");
  CHECK(Opened("params: {a: {^|}}\n").Offers(keys) == "default");
  CHECK(Opened(Rule("    tests:\n      - name: t\n        gi^|\n")).Offers(keys) == "given");
  CHECK(Opened("define:\n  f(v):\n    - ma^|\n").Offers(keys) == "match when");
  const Json item = Opened(Rule("    whe^|\n")).talk.At("completion", {5, 7}).at("items").at(0);
  CHECK(item.at("textEdit").at("newText") == "doc: ");
  CHECK(RangeOf(item.at("textEdit").at("range")) == Range{{5, 4}, {5, 7}});
}

TEST_CASE("Completion: in texts") {
  const std::vector<std::string> among = {"x",       "y",         "axis",  "Relu", "rank",
                                          "factor=", "acme.Gain", "moves", "nop",  "lo",
                                          "params",  "op",        "**_"};
  const auto offers = [&](const std::string& rest) { return Opened(Rule(rest)).Offers(among); };
  CHECK(offers("    match: y = Re^|\n") == "y Relu acme.Gain");
  CHECK(offers("    match: |\n      y = Relu(x)\n      z = A^|\n") == "x y Relu acme.Gain");
  CHECK(offers("    match: y = Softmax<^|\n") == "axis **_");
  CHECK(offers("    match: y = Softmax<^|>(x)\n") == "axis **_");
  CHECK(offers("    match: y = acme.Gain<ax^|>(x, f)\n    where: f == 1\n") == "axis **_");
  CHECK(offers("    match: y = acme.Gain(x, fac^|)\n") == "x y Relu factor= acme.Gain");
  CHECK(offers("    match: y = $^|(x)\n") == "nop");
  CHECK(offers("    match: y = n:@mo^|\n") == "moves");
  CHECK(offers("    match: y = Relu(x)\n    where: ^|\n") == "x y Relu rank acme.Gain params op");
  CHECK(offers("    match: y = Relu(x)\n    where:\n      - ra^|\n") ==
        "x y Relu rank acme.Gain params op");
  CHECK(offers("    match: y = Relu(x)\n    where: rank(^|\n") ==
        "x y Relu rank acme.Gain params op");
  CHECK(offers("    match: y = Relu(x)\n    where: x > params.^|\n") == "lo");
  CHECK(offers("    match: y = Softmax<axis>(x)\n    let: {k: \"ax^|\"}\n") ==
        "x y axis Relu rank acme.Gain params op");
  CHECK(offers("    match: y = n:Softmax(x)\n    where: n.^|\n") == "");
  CHECK(Opened("sets: {pools: {MaxPool: {over: 2}}}\nrules:\n  - name: r\n    match: y = "
               "n:@pools<**_>(x)\n"
               "    where: n.^|\n")
            .Offers({"over", "kernel_shape", "x", "Relu"}) == "over");
  CHECK(offers("    match: y = Relu(x)\n    replace: y = Softmax<axis=1, ^|\n") == "**_");
  const std::vector<std::string> modes = {"'nearest'", "'linear'", "'cubic'", "'floor'"};
  CHECK(Opened(Rule("    match: y = Resize<mode=^|\n")).Offers(modes) ==
        "'nearest' 'linear' 'cubic'");
  CHECK(Opened(Rule("    opset: \"<11\"\n    match: y = Resize<mode=^|\n")).Offers(modes) ==
        "'nearest' 'linear'");
  CHECK(Opened(Rule("    match: y = Resize<nearest_mode='ceil', mode=m^|\n")).Offers(modes) ==
        "'nearest' 'linear' 'cubic'");
  CHECK(Opened(Rule("    match: y = Relu(x)\nphases: [{name: p, rules: [^|\n"))
            .Offers({"r", "all"}) == "r all");
  CHECK(Opened("constants: {keep: [^|]}\n").Offers({"Relu", "QuantizeLinear"}) ==
        "Relu QuantizeLinear");
  CHECK(Opened(Rule("    tests:\n      - name: t\n        given: |\n          x: float[2]\n"
                    "          y = Softmax<^|\n"))
            .Offers(among) == "axis");
  // A list of inputs is no mapping of YAML, whose keys stand behind commas, too.
  CHECK(
      Opened(
          Rule("    match: y = Relu(x)\n    cases:\n      - when rank(x) == 2 => y = Add(x, ^|\n"))
          .Offers({"x", "when", "let"}) == "x");
  CHECK(Opened("define:\n  f(v, w):\n    - ^|\n").Offers({"v", "w", "when", "let"}) ==
        "v w when let");
  CHECK(Opened("define:\n  f(v, w):\n    - v = Relu(_) ^|\n").Offers({"v", "when", "let"}) ==
        "v when");
  CHECK(Opened(Rule("    match: y = Relu<**rest>(x)\n    replace: y = Abs<**^|\n"))
            .Offers({"rest"}) == "rest");
  CHECK(Opened(Rule("    match: y = Relu(x)\n    where: dtype(x) == ^|\n"))
            .Offers({"INT8", "int8"}) == "INT8");
  CHECK(
      Opened(Rule("    match: y = Relu(x)\n    where: rank(x) == 2 ^|\n")).Offers({"and", "or"}) ==
      "and or");
  CHECK(Opened(Rule("    tests:\n      - name: t\n        given: |\n          x: ^|\n"))
            .Offers({"INT8", "int8"}) == "int8");
  // Gelu is there from opset 20 on, Upsample up to 9.
  CHECK(offers("    opset: \"<20\"\n    match: y = ^|\n") == "y Relu acme.Gain");
  const std::vector<std::string> dated = {"Gelu", "Upsample"};
  CHECK(Opened(Rule("    opset: \"<20\"\n    match: y = ^|\n")).Offers(dated) == "Upsample");
  CHECK(Opened(Rule("    opset: \">=10\"\n    match: y = ^|\n")).Offers(dated) == "Gelu");
  CHECK(Opened("rules:\n  - name: r\n    equivalence: ^|\n").Offers({"exact", "rescaled"}) ==
        "exact rescaled");
}

TEST_CASE("Completion: shipped rule sets can be included by name") {
  const auto offers = [](const std::string& marked) {
    return Opened(marked).Offers({"optimize", "ezkl_dequant"});
  };
  CHECK(offers("qrewrite: 1\nname: a\ninclude: [opt^|]\n") == "optimize ezkl_dequant");
  CHECK(offers("qrewrite: 1\nname: a\ninclude:\n  - ^|\n") == "optimize ezkl_dequant");
  CHECK(offers("qrewrite: 1\nname: optimize\ninclude: [opt^|]\n") == "ezkl_dequant");
}

TEST_CASE("Completion: what an item is") {
  Opened opened(Rule("    match: y = Softm^|\n"));
  const Json list = opened.talk.At("completion", opened.at.cursor);
  for (const Json& item : list.at("items")) {
    if (item.at("label") != "Softmax") continue;
    const Json resolved = opened.talk.Ask("completionItem/resolve", item);
    CHECK(resolved.at("documentation").at("value").get<std::string>().find("ai.onnx, version 13") !=
          std::string::npos);
    CHECK(RangeOf(item.at("textEdit").at("range")) == Range{{5, 15}, {5, 20}});
    return;
  }
  FAIL("Softmax is not offered");
}

TEST_CASE("Completion: JSON") {
  Opened opened("^|");
  const std::string uri = "file:///rules/c.json";
  const auto labels = [&](const std::string& marked) {
    const Marked at(marked);
    opened.talk.Open(at.text, uri);
    std::string out;
    const Json list = opened.talk.At("completion", at.cursor, Json::object(), uri);
    for (const Json& item : list.at("items")) {
      const std::string label = item.at("label");
      if (label == "match" || label == "Relu" || label == "rules") out += label + " ";
    }
    return out;
  };
  CHECK(labels("{\"rules\": [{\"name\": \"r\", \"ma^|\"}]}") == "match ");
  CHECK(labels("{\"name\": \"r\", \"^|\n}") == "rules ");
  CHECK(labels("{\"rules\": [{\"name\": \"r\", \"match\": \"y = R^|\"}]}") == "Relu ");
}

TEST_CASE("Code actions: what the hints say to write") {
  // The text after the only fix for the place of the cursor.
  const auto fixed = [](const std::string& marked) -> std::string {
    Opened opened(marked);
    const Json range = ToJson(Range{opened.at.cursor, opened.at.cursor});
    const Json actions =
        opened.talk.Ask("textDocument/codeAction", {{"textDocument", {{"uri", kUri}}},
                                                    {"range", range},
                                                    {"context", {{"diagnostics", Json::array()}}}});
    if (actions.size() != 1) return std::to_string(actions.size()) + " fixes";
    CHECK(actions.at(0).at("kind") == "quickfix");
    CHECK(actions.at(0).at("diagnostics").size() == 1);
    return opened.Edited(actions.at(0).at("edit").at("changes").at(kUri));
  };
  const auto rule = [&](const std::string& marked) { return fixed(Rule(marked)); };
  CHECK(rule("    match: y = Rl^|eu(x)\n") == Rule("    match: y = Relu(x)\n"));
  CHECK(rule("    match: y = Relu(x)\n    where: rn^|ak(x) == 2\n") ==
        Rule("    match: y = Relu(x)\n    where: rank(x) == 2\n"));
  CHECK(rule("    match: y = @mov^|se(x)\n") == Rule("    match: y = @moves(x)\n"));
  CHECK(rule("    match: y = $no^|pp(x)\n") == Rule("    match: y = $nop(x)\n"));
  CHECK(rule("    match: y = Softmax<ax^|es=1>(x)\n") ==
        Rule("    match: y = Softmax<axis=1>(x)\n"));
  CHECK(rule("    match: y = Relu(x)\n    weh^|re: rank(x) == 2\n") ==
        Rule("    match: y = Relu(x)\n    where: rank(x) == 2\n"));
  CHECK(rule("    match: y = Relu(x)\n    where: rank(x) ^|= 2\n") ==
        Rule("    match: y = Relu(x)\n    where: rank(x) == 2\n"));
  CHECK(rule("    match: y = Relu(x)\n    where: rank(x) == 2 ^|&& dtype(x) == FLOAT\n") ==
        Rule("    match: y = Relu(x)\n    where: rank(x) == 2 and dtype(x) == FLOAT\n"));
  CHECK(rule("    match: y = Pad<mode=\"ed^|ge\">(x, p)\n") ==
        Rule("    match: y = Pad<mode='edge'>(x, p)\n"));
  CHECK(rule("    match: y = Conv<strides=[2 ^|2]>(x, w)\n") ==
        Rule("    match: y = Conv<strides=[2, 2]>(x, w)\n"));
  CHECK(rule("    match: y = Softmax<axis>(x)\n    where: axis^|<3\n") ==
        Rule("    match: y = Softmax<axis>(x)\n    where: axis <3\n"));
  CHECK(rule("    match: y = Pad<mode='eg^|de'>(x, p)\n") ==
        Rule("    match: y = Pad<mode='edge'>(x, p)\n"));
  CHECK(rule("    match: y = Add(x, w)\n    where: ^|!const(w)\n") ==
        Rule("    match: y = Add(x, w)\n    where: not const(w)\n"));
  CHECK(rule("    match: y = Relu(x)\n    where: x ^|is absent\n") == "0 fixes");
  CHECK(rule("    match: y = Re^|lu(x)\n") == "0 fixes");
}

TEST_CASE("Lenses: tests run, failures are diagnostics") {
  const std::string tested =
      "    match: y = Relu(Relu(x))\n    replace: y = Relu(x)\n    tests:\n"
      "      - {name: good, given: \"x: float[2]\\ny = Relu(Relu(x))\", expect: \"x: float[2]\\ny "
      "= Relu(x)\"}\n"
      "      - {name: bad, given: \"x: float[2]\\ny = Relu(Relu(x))\", expect: unchanged}\n";
  Opened opened(Rule(tested) + "^|");
  CHECK(opened.talk.Diagnostics().find("this test fails") == std::string::npos);
  const Json lenses = opened.talk.Ask("textDocument/codeLens", {{"textDocument", {{"uri", kUri}}}});
  REQUIRE(lenses.size() == 3);
  CHECK(lenses.at(0).at("command").at("title") == "run 2 tests");
  const auto run = [&](size_t i) {
    const Json& command = lenses.at(i).at("command");
    return opened.talk.Ask("workspace/executeCommand", {{"command", command.at("command")},
                                                        {"arguments", command.at("arguments")}});
  };
  CHECK(run(1).at("passed") == true);
  CHECK(run(0).at("results").size() == 2);
  CHECK(run(2).at("passed") == false);
  bool shown = false;
  for (const Json& m : opened.talk.sent) {
    shown |= m.value("method", "") == "window/showMessage" && m.at("params").at("type") == 1;
  }
  CHECK(shown);
  const std::string diagnostics = opened.talk.Diagnostics();
  CHECK(diagnostics.find("9:15-18  this test fails\nthe graph was to stay as it is") !=
        std::string::npos);
  // What was run is of no interest any more.
  opened.talk.Change(Json::array({{{"text", opened.at.text + "\n"}}}));
  CHECK(opened.talk.Diagnostics().find("this test fails") == std::string::npos);
  opened.talk.Change(Json::array({{{"text", "qrewrite: 1\n"}}}));
  CHECK(run(0).at("message") == "the file has errors, so its tests cannot run");
  CHECK(opened.talk.Ask("workspace/executeCommand", {{"command", "rm"}}).contains("error"));
}

TEST_CASE("Symbols and tokens") {
  Opened opened(
      Rule("    match: y = Relu(x)\n    tests:\n      - {name: t, given: \"x: float\"}\n") +
      "params: {p: {default: 1}}\n^|");
  const Json symbols =
      opened.talk.Ask("textDocument/documentSymbol", {{"textDocument", {{"uri", kUri}}}});
  REQUIRE(symbols.size() == 2);
  CHECK(symbols.at(0).at("name") == "r");
  CHECK(symbols.at(0).at("children").at(0).at("name") == "t");
  CHECK(symbols.at(0).at("range") == ToJson(Range{{4, 4}, {7, 35}}));
  CHECK(symbols.at(1).at("name") == "p");
  const Json tokens =
      opened.talk.Ask("textDocument/semanticTokens/full", {{"textDocument", {{"uri", kUri}}}})
          .at("data");
  CHECK(tokens.size() % 5 == 0);
  CHECK(tokens.size() > 50);
  // The first three: the keys `qrewrite`, `name`, `include`.
  CHECK(Json(std::vector<Json>(tokens.begin(), tokens.begin() + 15)) ==
        Json{0, 0, 8, 8, 0, 1, 0, 4, 8, 0, 1, 0, 7, 8, 0});
}

}  // namespace qrewrite::lsp
