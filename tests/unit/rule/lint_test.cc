#include <doctest/doctest.h>

#include "tests/unit/rule/support.h"

namespace qrewrite {
namespace {

std::string Warnings(const std::string& text, test::Files files = {}) {
  const auto loaded = LoadRulesText("t.yaml", test::File(text), test::Reading(std::move(files)));
  if (!loaded.ok()) return loaded.status().message();
  std::string out;
  for (const Diagnostic& d : Lint(**loaded)) {
    CHECK(d.severity == Severity::kWarning);
    out += std::to_string(d.span.line) + " " + d.code + " " + d.message + "\n";
  }
  return out;
}

const std::string kTested =
    "    tests:\n"
    "      - {name: a, given: \"x: float[1]\\ny = Relu(x)\", expect: \"x: float[1]\\ny = "
    "Abs(x)\"}\n"
    "      - {name: b, given: \"x: float[1]\\ny = Neg(x)\", expect: unchanged}\n";

}  // namespace

TEST_CASE("Lint: what nothing uses") {
  CHECK(Warnings("params: {a: {default: 1}, b: {default: 2}}\n"
                 "sets: {s: [Relu], u: [Relu]}\n"
                 "define:\n"
                 "  f(v):\n"
                 "    - => rank(v)\n"
                 "  g(n):\n"
                 "    - => $g(n - 1)\n"
                 "phases: [{name: p, rules: [r]}]\n"
                 "rules:\n"
                 "  - name: r\n"
                 "    match: y = @s(x)\n"
                 "    where: $f(x) == params.a\n"
                 "    replace: y = Abs(x)\n" +
                 kTested +
                 "  - name: q\n"
                 "    match: y = Relu(x)\n"
                 "    replace: y = Abs(x)\n" +
                 kTested) ==
        "3 QR0501 parameter `b` is not used\n"
        "4 QR0501 set `@u` is not used\n"
        "8 QR0501 definition `$g` is not used\n"
        "19 QR0501 rule `q` is not used\n");
}

TEST_CASE("Lint: new operators that part of the opsets does not have") {
  const auto lint = [](const std::string& opset, const std::string& rest) {
    const std::string text = "qrewrite: 1\nname: s\n" + opset + "rules:\n  - name: r\n" + rest;
    const auto loaded = LoadRulesText("s.yaml", text, {});
    REQUIRE(loaded.ok());
    std::string out;
    for (const Diagnostic& d : Lint(**loaded)) {
      if (d.code == "QR0508") out += d.message + "; " + d.hint + "\n";
    }
    return out;
  };
  const std::string rule = "    match: y = Relu(x)\n    replace: y = Gelu(x)\n";
  CHECK(lint("opset: '>=13'\n", rule) ==
        "`Gelu` came with opset 20: rule `r` cannot fire in models of opset 13 to 19; `opset: "
        "\">=20\"` of the rule says so\n");
  CHECK(lint("opset: '>=13'\n", "    opset: '>=19'\n" + rule).find("opset 19;") !=
        std::string::npos);
  CHECK(lint("opset: '>=13'\n", "    opset: '>=20'\n" + rule).empty());
  CHECK(lint("", rule).empty());  // no opset was promised
  CHECK(lint("opset: '>=13'\n", "    where: opset > 19\n" + rule).empty());
}

TEST_CASE("Lint: operators of which nothing is known") {
  const auto loaded = LoadRulesText(
      "t.yaml", test::File("define:\n  y = own(x):\n    - y = acme.Op(x)\nrules:\n  - name: r\n"
                           "    match: y = op.Add(torch.nn.ReLU(x), microsoft.Gelu($own(x)))\n"
                           "    replace: y = com.microsoft.Gelu(x)\n" +
                           kTested));
  REQUIRE(loaded.ok());
  std::string out;
  for (const Diagnostic& d : Lint(**loaded)) out += d.code + " " + d.message + "; " + d.hint + "\n";
  const std::string tail = "`, so nothing about it is checked; ";
  const std::string otherwise = "`? else describe it under `signatures:`\n";
  const std::string known = "QR0507 nothing is known of `";
  CHECK(out == known + "acme.Op" + tail + "describe it under `signatures:`\n" +  //
                   known + "op.Add" + tail + "did you mean `Add" + otherwise +   //
                   known + "torch.nn.ReLU" + tail + "did you mean `Relu" + otherwise + known +
                   "microsoft.Gelu" + tail + "did you mean `com.microsoft.Gelu" + otherwise);
}

TEST_CASE("Lint: a file without rules exists to be included") {
  CHECK(Warnings("define:\n  f(v):\n    - => rank(v)\n") == "");
}

TEST_CASE("Lint: what is included is not judged") {
  CHECK(Warnings("include: [a.yaml]\nrules:\n  - name: r\n    match: y = Relu(x)\n"
                 "    replace: y = $f(x)\n" +
                     kTested,
                 {{"a.yaml",
                   "qrewrite: 1\nname: a\nsets: {s: [Relu]}\ndefine:\n  f(v):\n    - => v\n"
                   "  g(v):\n    - => v\n"}}) == "");
}

TEST_CASE("Lint: rules need tests of both kinds") {
  const std::string rule = "rules:\n  - name: r\n    match: y = Relu(x)\n    replace: y = Abs(x)\n";
  CHECK(Warnings(rule) ==
        "4 QR0502 rule `r` has no test in which it fires, and none in which it does not\n");
  CHECK(Warnings(rule +
                 "    tests: [{name: a, given: \"x: float; y = Neg(x)\", expect: unchanged}]\n") ==
        "4 QR0502 rule `r` has no test in which it fires\n");
  CHECK(Warnings("rules:\n  - name: r\n    match: y = Relu(x)\n    refuse: no\n"
                 "    tests: [{name: a, given: \"y = Relu(x)\", expect: {error: no}}]\n")
            .find("QR0108") != std::string::npos);
  CHECK(Warnings(
            "rules:\n  - name: r\n    match: y = Relu(x)\n    refuse: not here\n"
            "    tests: [{name: a, given: \"x: float; y = Relu(x)\", expect: {error: here}}]\n") ==
        "4 QR0502 rule `r` has no test in which it does not fire\n");
  CHECK(Warnings(
            "rules:\n  - name: r\n    match: y = Relu(x)\n    warn: odd\n"
            "    tests: [{name: a, given: \"x: float; y = Relu(x)\", expect: {warning: odd}}]\n") ==
        "4 QR0502 rule `r` has no test in which it does not fire\n");
}

TEST_CASE("Lint: cases that are never reached") {
  CHECK(Warnings("define:\n"
                 "  f(v):\n"
                 "    - => rank(v)\n"
                 "    - when const(v) => 1\n"
                 "rules:\n  - name: r\n    match: y = Relu(x)\n    where: $f(x) == 1\n"
                 "    replace: y = Abs(x)\n" +
                 kTested) == "6 QR0503 this case of `$f` is never reached\n");
}

TEST_CASE("Lint: a rule that matches what it makes") {
  const auto rule = [](const char* match, const char* replace, const char* more = "") {
    return Warnings(std::string("rules:\n  - name: r\n    match: ") + match +
                    "\n    replace: " + replace + "\n" + more + kTested);
  };
  const std::string loop = "4 QR0504 rule `r` matches what it makes and may never end\n";
  CHECK(rule("y = Relu(x)", "y = Relu(Abs(x))") == loop);
  CHECK(rule("y = n:Relu|Abs(x)", "y = Neg(n<>(Neg(x)))") == loop);
  CHECK(rule("y = Softmax<axis=1>(x)", "y = Softmax<axis=1>(Relu(x))") == loop);
  CHECK(rule("y = Softmax<axis=1>(x)", "y = Softmax<axis=2>(Relu(x))") == "");
  CHECK(rule("y = Clip(x, lo)", "y = Clip(x, lo, 1.0)") == "");
  CHECK(rule("y = Relu(x)", "y = Relu(Abs(x))", "    where: is_input(x)\n") == "");
  CHECK(rule("y = Relu(Relu(x))", "y = Relu(x)") == "");
}

TEST_CASE("Lint: two rules that match what the other makes") {
  const auto pair = [](const char* match, const char* replace, const char* more = "",
                       const char* phases = "") {
    return Warnings(std::string("rules:\n  - name: r\n    match: y = Relu(Abs(x))\n") +
                    "    replace: y = Neg(x)\n" + kTested + "  - name: q\n    match: " + match +
                    "\n    replace: " + replace + "\n" + more + kTested + phases);
  };
  CHECK(pair("y = Neg(x)", "y = Relu(Abs(x))") ==
        "10 QR0504 rules `r` and `q` match what the other makes and may never end\n");
  CHECK(pair("y = Neg(x)", "y = Relu(Sin(x))") == "");
  CHECK(pair("y = Neg(x)", "y = Relu(Abs(x))", "    where: is_input(x)\n") == "");
  CHECK(pair("y = Neg(x)", "y = Relu(Abs(x))", "",
             "phases: [{name: a, rules: [r]}, {name: b, rules: [q]}]\n") == "");
}

TEST_CASE("Lint: nodes on constants alone") {
  const auto rule = [](const char* replace, const char* more = "", const char* phases = "") {
    return Warnings(std::string("rules:\n  - name: r\n    match: y = Mul(x, w)\n    replace: ") +
                    replace + "\n    where: const(w) and rank(x) == 2\n" + more + kTested + phases);
  };
  CHECK(rule("y = Add(x, Sqrt(2.0))") ==
        "6 QR0505 rule `r` makes a node `Sqrt` that reads constants alone\n");
  CHECK(rule("y = Add(x, Sqrt(w))") ==
        "6 QR0505 rule `r` makes a node `Sqrt` that reads constants alone\n");
  CHECK(rule("y = Add(x, Sqrt(k))", "    let: {k: w * 2}\n") ==
        "6 QR0505 rule `r` makes a node `Sqrt` that reads constants alone\n");
  CHECK(rule("y = Add(x, k)", "    let: {k: Sqrt(w)}\n") == "");
  CHECK(rule("y = Add(x, Sqrt(x))") == "");
  CHECK(rule("y = Add(x, acme.Sqrt(w))") ==  // nothing computes it, so it may stay
        "6 QR0507 nothing is known of `acme.Sqrt`, so nothing about it is checked\n");
  CHECK(rule("y = Add(x, DequantizeLinear(w, w))") == "");  // of `constants: {keep}`
  CHECK(rule("y = Add(x, Sqrt(w))", "",
             "phases: [{name: a, rules: all}, {name: b, fold: all}]\n") == "");
}

TEST_CASE("Lint: names of `let` that nothing reads") {
  const auto rule = [](const char* let, const char* replace) {
    return Warnings(std::string("rules:\n  - name: r\n    match: y = n:Softmax<axis>(x)\n    "
                                "where: axis > 0\n    let: ") +
                    let + "\n    replace: " + replace + "\n" + kTested);
  };
  CHECK(rule("{k: axis + 1}", "y = Relu(x)") == "7 QR0501 `k` of rule `r` is not used\n");
  CHECK(rule("{'a, b': shape(x)}", "y = Relu(x)") == "7 QR0501 `a, b` of rule `r` is not used\n");
  CHECK(rule("{'a, b': shape(x)}", "y = Reshape(x, [a])") == "");
  CHECK(rule("{k: axis + 1, m: k * 2}", "y = Relu(Reshape(x, [m]))") == "");
}

TEST_CASE("Lint: attributes that are bound and dropped") {
  const auto rule = [](const char* match, const char* replace) {
    return Warnings(std::string("rules:\n  - name: r\n    match: ") + match +
                    "\n    replace: " + replace + "\n" + kTested);
  };
  const std::string dropped = " of rule `r` is bound to any value of `alpha` and not used\n";
  CHECK(rule("y = LeakyRelu<alpha>(x)", "y = Relu(x)") == "5 QR0501 `alpha`" + dropped);
  CHECK(rule("y = LeakyRelu<alpha=k>(x)", "y = Relu(x)") == "5 QR0501 `k`" + dropped);
  CHECK(rule("y = LeakyRelu<alpha=_>(x)", "y = Relu(x)") == "");
  CHECK(rule("y = LeakyRelu<alpha>(x)", "y = Mul(x, alpha)") == "");
  CHECK(rule("y = LeakyRelu<**a>(x)", "y = Relu(x)") ==
        "5 QR0501 `**a` of rule `r` takes whatever attributes there are and is not used\n");
  CHECK(rule("y = LeakyRelu<**_>(x)", "y = Relu(x)") == "");
  CHECK(rule("y = LeakyRelu<**a>(x)", "y = ThresholdedRelu<**a>(x)") == "");
  CHECK(rule("y = Transpose<perm?>(x)", "y = Relu(x)") ==
        "");  // how an attribute may be there or not
}

TEST_CASE("Lint: an attribute that is bound to a name nobody uses") {
  const auto lint = [](const std::string& match, const std::string& replace) {
    return Warnings("rules:\n  - name: r\n    match: " + match + "\n    replace: " + replace +
                    "\n" + kTested);
  };
  CHECK(lint("y = Pad<mode=reflect>(x, p)", "y = Abs(x)") ==
        "5 QR0501 `reflect` of rule `r` is bound to any value of `mode` and not used\n");
  CHECK(lint("y = Pad<mode='reflect'>(x, p)", "y = Abs(x)") == "");
  CHECK(lint("y = Pad<mode=_>(x, p)", "y = Abs(x)") == "");
  CHECK(lint("y = Softmax<axis=k>(x)", "y = LogSoftmax<axis=k>(x)") == "");
  CHECK(lint("y = Softmax<axis=k>(Softmax<axis=k>(x))", "y = Relu(x)") == "");
}

TEST_CASE("Lint: operators that nothing computes") {
  CHECK(Warnings("rules:\n  - name: r\n    match: y = n:Relu(x)\n    let: {k: "
                 "\"Sqrt(ConvTranspose(x, x))\"}\n"
                 "    where: [\"acme.Even(x) == 1\", op(n) == 'Relu']\n"
                 "    replace: y = Conv(x, k)\n" +
                 kTested) ==
        "7 QR0507 nothing is known of `acme.Even`, so nothing about it is checked\n"
        "7 QR0506 nothing computes `acme.Even` on constants (rule `r`)\n"
        "6 QR0506 nothing computes `ConvTranspose` on constants (rule `r`)\n");
}

}  // namespace qrewrite
