// Large rule files: read, checked, linted. Where a limit of the language stops them, that is an
// answer too.
#include "family.h"

namespace scaling {
namespace {

const char kHead[] = "qrewrite: 1\nname: own\n";
const char kRule[] = "rules:\n  - {name: r, match: y = Relu(x), replace: y = Abs(x)}\n";

std::string Number(int64_t i) { return std::to_string(i); }

std::string Repeat(int64_t n, const std::function<std::string(int64_t)>& part) {
  std::string text;
  for (int64_t i = 0; i < n; ++i) text += part(i);
  return text;
}

std::string UnknownKeys(int64_t n) {
  return std::string(kHead) + kRule +
         Repeat(n, [](int64_t i) { return "unknown_key_" + Number(i) + ": 1\n"; });
}

std::string UnboundNames(int64_t n) {
  return std::string(kHead) + "rules:\n" + Repeat(n, [](int64_t i) {
           return "  - {name: r" + Number(i) + ", match: y = Relu(x), replace: y = Abs(z" +
                  Number(i) + ")}\n";
         });
}

std::string MissingIncludes(int64_t n) {
  return std::string(kHead) + "include: [./none.yaml" +
         Repeat(n, [](int64_t i) { return ", ./none" + Number(i) + ".yaml"; }) + "]\n" + kRule;
}

std::string Rules(int64_t n) {
  return std::string(kHead) + "rules:\n" + Repeat(n, [](int64_t i) {
           return "  - {name: r" + Number(i) +
                  ", match: y = Relu(Neg(Abs(Sin(x)))), replace: y = Neg(Sin(x))}\n";
         });
}

// Each rule makes what the next one matches.
std::string Cascade(int64_t n) {
  return std::string(kHead) + "rules:\n" + Repeat(n, [](int64_t i) {
           return "  - {name: r" + Number(i) + ", match: y = acme.Op" + Number(i) +
                  "(x), replace: y = acme.Op" + Number(i + 1) + "(x)}\n";
         });
}

// As many operators as signatures, each a letter away from one.
std::string Misspelled(int64_t n) {
  return std::string(kHead) + "signatures:\n" +
         Repeat(n,
                [](int64_t i) {
                  return "  acme.Op" + Number(i) + ": {inputs: [x], outputs: [y]}\n";
                }) +
         "rules:\n" + Repeat(n, [](int64_t i) {
           return "  - {name: r" + Number(i) + ", match: y = acme.Opp" + Number(i) +
                  "(x), replace: y = Abs(x)}\n";
         });
}

std::string Definitions(int64_t n) {
  return std::string(kHead) + "define:\n  f0(v):\n    - => 1\n" +
         Repeat(n,
                [](int64_t i) {
                  return "  f" + Number(i + 1) + "(v):\n    - v = Relu(p) => $f" + Number(i) +
                         "(p)\n    - => 0\n";
                }) +
         "rules:\n  - {name: r, match: y = Relu(x), where: $f" + Number(n) +
         "(x) == 1, replace: y = Abs(x)}\n";
}

// Every rule calls the last of the facts, which leads to all others.
std::string Callers(int64_t n) {
  return Definitions(n) + Repeat(n, [n](int64_t i) {
           return "  - {name: r" + Number(i) + ", match: y = Relu(x), where: $f" + Number(n) +
                  "(x) == 1, replace: y = Abs(x)}\n";
         });
}

std::string Templates(int64_t n) {
  return std::string(kHead) + "define:\n  y = t0(v):\n    - => Neg(v)\n" +
         Repeat(n,
                [](int64_t i) {
                  return "  y = t" + Number(i + 1) + "(v):\n    - => Abs($t" + Number(i) + "(v))\n";
                }) +
         "rules:\n  - {name: r, match: y = Relu(x), replace: y = $t" + Number(n) + "(x)}\n";
}

std::string Lets(int64_t n) {
  return std::string(kHead) + "rules:\n  - name: r\n    match: y = Relu(x)\n    where: a" +
         Number(n) + " == 1\n    replace: y = Abs(x)\n    let:\n      a0: rank(x)\n" +
         Repeat(n,
                [](int64_t i) { return "      a" + Number(i + 1) + ": a" + Number(i) + " + 1\n"; });
}

std::string LongExpression(int64_t n) {
  return std::string(kHead) + "rules:\n  - name: r\n    match: y = Relu(x)\n    where: rank(x)" +
         Repeat(n, [](int64_t i) { return " + " + Number(i); }) +
         " == 4\n    replace: y = Abs(x)\n";
}

std::string LongMatch(int64_t n) {
  return std::string(kHead) + "rules:\n  - name: r\n    match: |\n      v0 = Neg(x)\n" +
         Repeat(n,
                [](int64_t i) {
                  return "      v" + Number(i + 1) + " = Relu(v" + Number(i) + ")\n";
                }) +
         "    replace: v" + Number(n) + " = Abs(x)\n";
}

// Each reads the same value: any of them could be the first that is sought.
std::string ManyRoots(int64_t n) {
  return std::string(kHead) + "rules:\n  - name: r\n    match: |\n" +
         Repeat(n, [](int64_t i) { return "      y" + Number(i) + " = Relu(x)\n"; }) +
         "    replace: |\n" +
         Repeat(n, [](int64_t i) { return "      y" + Number(i) + " = Abs(x)\n"; });
}

std::string Cases(int64_t n) {
  return std::string(kHead) + "rules:\n  - name: r\n    match: y = Relu(x)\n    cases:\n" +
         Repeat(n, [](int64_t i) {
           return "      - when rank(x) == " + Number(i + 5) + " => y = Abs(x)\n";
         });
}

std::string Sets(int64_t n) {
  return std::string(kHead) + "sets:\n  all: [Sin" +
         Repeat(n, [](int64_t i) { return ", acme.Op" + Number(i); }) +
         "]\nrules:\n  - {name: r, match: y = n:@all(x), replace: y = Abs(x)}\n";
}

std::string Params(int64_t n) {
  return std::string(kHead) + "params:\n" +
         Repeat(n,
                [](int64_t i) {
                  return "  p" + Number(i) + ": {default: " + Number(i) + ", doc: none}\n";
                }) +
         kRule;
}

std::string Tests(int64_t n) {
  return std::string(kHead) +
         "rules:\n  - name: r\n    match: y = Relu(x)\n    replace: y = Abs(x)\n"
         "    tests:\n" +
         Repeat(n, [](int64_t i) {
           return "      - {name: t" + Number(i) +
                  ", given: \"x: float[4]\\ny = Relu(x)\", expect: \"x: float[4]\\ny = Abs(x)\"}\n";
         });
}

std::string PhaseOfEach(int64_t n) {
  const auto phase = [](int64_t i) {
    return "  - {name: p" + Number(i) + ", rules: [r" + Number(i) + "]}\n";
  };
  const auto rule = [](int64_t i) {
    return "  - {name: r" + Number(i) + ", match: y = Relu(x), replace: y = Abs(x)}\n";
  };
  return std::string(kHead) + "phases:\n" + Repeat(n, phase) + "rules:\n" + Repeat(n, rule);
}

std::string Phases(int64_t n) {
  return std::string(kHead) + "phases:\n" +
         Repeat(n, [](int64_t i) { return "  - {name: p" + Number(i) + ", rules: [r]}\n"; }) +
         kRule;
}

std::string Signatures(int64_t n) {
  return std::string(kHead) + "signatures:\n" +
         Repeat(n,
                [](int64_t i) {
                  return "  acme.Op" + Number(i) +
                         ": {inputs: [x], attributes: {axis: 1}, outputs: {y: {shape: shape(x), "
                         "dtype: dtype(x)}}}\n";
                }) +
         kRule;
}

// A text of n escapes, in YAML and in JSON.
std::string Escapes(int64_t n) {
  return std::string(kHead) + "doc: \"" + Repeat(n, [](int64_t) { return R"(a\n)"; }) + "\"\n" +
         kRule;
}

std::string JsonEscapes(int64_t n) {
  return R"json({"qrewrite": 1, "name": "own", "rules": [
  {"name": "r", "match": "y = Relu(x)", "replace": "y = Abs(x)"}], "doc": ")json" +
         Repeat(n, [](int64_t) { return R"(a\n)"; }) + "\"}";
}

Family Linted(const char* name, const char* about, std::string (*rules)(int64_t)) {
  return {name, about, 100000, nullptr, rules, Stops::kMay};
}

}  // namespace

std::vector<Family> RuleFiles() {
  return {
      Linted("lint-rules", "n rules with chains of four", Rules),
      Linted("lint-cascade", "n rules, each makes what the next matches", Cascade),
      Linted("lint-unknown-keys", "n keys that do not exist", UnknownKeys),
      Linted("lint-unbound", "n names that nothing binds", UnboundNames),
      Linted("lint-definitions", "n facts, each calls the one before", Definitions),
      Linted("lint-includes", "n files to include that do not exist, on one line", MissingIncludes),
      Linted("lint-callers", "n facts, each calls the one before; n rules call the last", Callers),
      Linted("lint-templates", "n templates, each calls the one before", Templates),
      Linted("lint-lets", "n names of let, each of the one before", Lets),
      Linted("lint-expression", "a sum of n terms", LongExpression),
      Linted("lint-match", "a pattern of n statements", LongMatch),
      Linted("lint-roots", "a pattern of n readers of one value", ManyRoots),
      Linted("lint-cases", "n cases", Cases),
      Linted("lint-set", "a set of n operators", Sets),
      Linted("lint-params", "n parameters", Params),
      Linted("lint-tests", "n tests", Tests),
      Linted("lint-phases", "n phases", Phases),
      Linted("lint-phase-rules", "n rules, each with a phase of its own", PhaseOfEach),
      Linted("lint-escapes", "a text of n escapes", Escapes),
      Linted("lint-json-escapes", "the same in JSON", JsonEscapes),
      Linted("lint-signatures", "n signatures", Signatures),
      Linted("lint-misspelled", "n signatures, and n operators that are a letter away", Misspelled),
  };
}

}  // namespace scaling
