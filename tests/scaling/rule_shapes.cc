// Rules of their own: ways of rewriting whose cost lies in the engine, not in one rule set.
#include "family.h"
#include "onnx_writer.h"

namespace scaling {
namespace {

const std::vector<int64_t> kRow = {1, 4};

std::string Chain(int64_t n, const char* op, const char* last) {
  Graph g;
  std::string x = g.Input(kFloat, kRow);
  for (int64_t i = 0; i < n; ++i) x = g.Node(op, {x});
  g.Output(g.Node(last, {x}), kFloat, kRow);
  return Model(g, 17);
}

std::string Readers(int64_t n, const char* op) {
  Graph g;
  const std::string x = g.Input(kFloat, kRow);
  std::vector<std::string> parts;
  for (int64_t i = 0; i < n; ++i) {
    parts.push_back(g.Node(op, {x, g.Scalar(static_cast<float>(i) + 0.5F)}));
  }
  g.Output(g.Node("Sum", parts), kFloat, kRow);
  return Model(g, 17);
}

std::string MixedChain(int64_t n) {
  Graph g;
  const char* ops[] = {"Relu", "Neg", "Abs", "Sigmoid", "Tanh", "Exp", "Floor", "Ceil"};
  std::string x = g.Input(kFloat, kRow);
  for (int64_t i = 0; i < n; ++i) x = g.Node(ops[i * 5 % 8], {x});
  g.Output(x, kFloat, kRow);
  return Model(g, 17);
}

// Operators that are all others.
std::string OperatorChain(int64_t n) {
  Graph g;
  std::string x = g.Input(kFloat, kRow);
  for (int64_t i = 0; i < n; ++i) x = g.Node("acme.Op" + std::to_string(i), {x});
  g.Output(x, kFloat, kRow);
  return Model(g, 17);
}

// A Concat of n chains of twenty.
std::string DeepOperands(int64_t n) {
  Graph g;
  const std::string x = g.Input(kFloat, kRow);
  std::vector<std::string> ends(static_cast<size_t>(n), x);
  for (std::string& end : ends) {
    for (int i = 0; i < 20; ++i) end = g.Node("Relu", {end});
  }
  g.Output(g.Node("Neg", {g.Node("Sum", ends)}), kFloat, kRow);
  return Model(g, 17);
}

// As many inputs and outputs.
std::string Lanes(int64_t n) {
  Graph g;
  for (int64_t i = 0; i < n; ++i) g.Output(g.Node("Relu", {g.Input(kFloat, kRow)}), kFloat, kRow);
  return Model(g, 17);
}

std::function<std::string(int64_t)> Text(const char* rules) {
  return [text = std::string("qrewrite: 1\nname: own\n") + rules](int64_t) { return text; };
}

// n rules that share no prefix of operators, chains of four.
std::string ChainRules(int64_t n) {
  const char* ops[] = {"Relu",     "Neg", "Abs",  "Sigmoid",  "Tanh",     "Exp",  "Floor", "Ceil",
                       "Softplus", "Sin", "Cos",  "Softsign", "Sqrt",     "Erf",  "Log",   "Sign",
                       "Round",    "Elu", "Atan", "Asin",     "Identity", "Acos", "Tan",   "Cosh"};
  std::string text = "qrewrite: 1\nname: own\nrules:\n";
  for (int64_t i = 0; i < n; ++i) {
    const auto op = [&](int64_t place) {
      int64_t k = i * 2654435761;
      for (int64_t p = 0; p < place; ++p) k /= 24;
      return std::string(ops[(k % 24 + 24) % 24]);
    };
    text += "  - {name: r" + std::to_string(i) + ", match: \"y = " + op(0) + "(" + op(1) + "(" +
            op(2) + "(" + op(3) + "(x))))\", where: rank(x) == 9, replace: \"y = " + op(0) +
            "(x)\"}\n";
  }
  return text;
}

// n rules, each of an operator of its own.
std::string RulesOfOperators(int64_t n) {
  std::string text = "qrewrite: 1\nname: own\nsignatures:\n";
  for (int64_t i = 0; i < n; ++i)
    text += "  acme.Op" + std::to_string(i) + ": {inputs: [x], outputs: [y]}\n";
  text += "rules:\n";
  for (int64_t i = 0; i < n; ++i) {
    text += "  - {name: r" + std::to_string(i) + ", match: y = acme.Op" + std::to_string(i) +
            "(x), where: rank(x) == 9, replace: y = Relu(x)}\n";
  }
  return text;
}

// n rules, each of a set of its own; all of the sets have the operator that the chain begins with.
std::string RulesOfSets(int64_t n) {
  std::string text = "qrewrite: 1\nname: own\nsets:\n";
  for (int64_t i = 0; i < n; ++i)
    text += "  s" + std::to_string(i) + ": [acme.Op0, acme.Other" + std::to_string(i) + "]\n";
  text += "rules:\n";
  for (int64_t i = 0; i < n; ++i) {
    text += "  - {name: r" + std::to_string(i) + ", match: y = n:@s" + std::to_string(i) +
            "(x), where: rank(x) == 9, replace: y = Relu(x)}\n";
  }
  return text;
}

constexpr const char* kBackward =  // Neg moves up over what no one else reads
    "sets: {abs: [Abs]}\n"
    "rules:\n"
    "  - name: up\n"
    "    match: y = Relu(x)\n"
    "    where: uses(y) > 0 and uses(y, @abs) == uses(y)\n"
    "    replace: y = Abs(x)\n";
constexpr const char* kTwoRoots =  // two readers of one value, until one is left
    "rules:\n"
    "  - name: two\n"
    "    match: |\n"
    "      y = Mul(x, a)\n"
    "      z = Mul(x, b)\n"
    "    where: const(a) and const(b)\n"
    "    replace: z = Mul(y, b / a)\n";
constexpr const char* kNoTwoRoots =  // n^2 pairs, and none fits
    "rules:\n"
    "  - name: two\n"
    "    match: |\n"
    "      y = Mul(x, a)\n"
    "      z = Mul(x, b)\n"
    "    where: a == b\n"
    "    replace: z = Identity(y)\n";
constexpr const char* kEqualReaders =  // n equal readers become one
    "rules:\n"
    "  - name: two\n"
    "    match: |\n"
    "      y = Relu(x)\n"
    "      z = Relu(x)\n"
    "    replace: z = y\n";
constexpr const char* kOtherReaders =  // n readers of one kind, n of another, none of the third
    "rules:\n"
    "  - name: two\n"
    "    match: |\n"
    "      y = Mul(x, a)\n"
    "      z = Exp(x)\n"
    "    replace: z = Identity(y)\n";
constexpr const char* kOutputs =  // the outputs of one node, one by one
    "rules:\n"
    "  - name: outputs\n"
    "    match: |\n"
    "      _..., y, _... = n:Split<**_>(q, _...)\n"
    "      z = Relu(y)\n"
    "    replace: z = Abs(y)\n";
constexpr const char* kFibonacci =  // exponential by nature
    "define:\n"
    "  fib(k):\n"
    "    - when k < 2 => k\n"
    "    - => $fib(k - 1) + $fib(k - 2)\n"
    "rules:\n"
    "  - {name: fib, match: y = Abs(x), where: '$fib(shape(x)[0]) < 0', replace: y = x}\n";
std::string Doubling(int64_t n) {  // a replacement that doubles with each template
  std::string text = "qrewrite: 1\nname: own\ndefine:\n  y = t0(v):\n    - => Sin(v)\n";
  for (int64_t i = 1; i <= n; ++i) {
    const std::string before = "$t" + std::to_string(i - 1);
    text += "  y = t" + std::to_string(i) + "(v):\n    - => Add(" + before + "(Cos(v)), " + before +
            "(v))\n";
  }
  text += "rules:\n  - {name: doubling, match: y = Abs(x), replace: y = $t";
  return text + std::to_string(n) + "(x)}\n";
}
constexpr const char* kUsesOf =  // each of n readers asks who the others are
    "sets: {known: [Mul, Add]}\n"
    "rules:\n"
    "  - {name: asks, match: 'y = Mul(x, a)', where: 'uses(x) > uses(x, @known)', replace: y = "
    "x}\n";
constexpr const char* kNodesOf =  // each node asks about the whole model
    "sets: {foreign: [Sin]}\n"
    "rules:\n"
    "  - {name: asks, match: y = Relu(x), where: count(@foreign) > 1, replace: y = Abs(x)}\n";
constexpr const char* kMerge =  // each pair of readers becomes one
    "rules:\n"
    "  - name: merge\n"
    "    match: |\n"
    "      y = Add(x, a)\n"
    "      z = Sub(y, b)\n"
    "    where: const(a) and const(b)\n"
    "    replace: z = Add(x, a - b)\n";
constexpr const char* kCollapse =  // a chain shrinks from its end
    "rules:\n"
    "  - {name: collapse, match: y = Neg(Neg(x)), replace: y = x}\n";
constexpr const char* kForward =  // an operator moves down the whole chain
    "rules:\n"
    "  - {name: down, match: y = Relu(Sin(x)), replace: y = Sin(Relu(x))}\n";
constexpr const char* kRows =
    "rules:\n"
    "  - {name: row, match: y = Relu(x), replace: y = Abs(x), record: {ins: {of: x}, outs: {of: "
    "y}}}\n"
    "write:\n"
    "  - {file: rows.json, json: [ins, outs]}\n";
constexpr const char* kRank =
    "rules:\n"
    "  - {name: rank, match: y = Relu(x), where: rank(x) == 4, replace: y = Abs(x)}\n";
constexpr const char* kName =
    "rules:\n"
    "  - name: named\n"
    "    match: y = Relu(x)\n"
    "    where: name(x) =~ '^conv.*[0-9]$'\n"
    "    replace: y = Abs(x)\n";
constexpr const char* kUp =  // a fact that asks all the way up
    "define:\n"
    "  depth(v):\n"
    "    - v = Relu(p) => $depth(p) + 1\n"
    "    - => 0\n"
    "rules:\n"
    "  - {name: deep, match: y = Relu(x), where: $depth(x) < 0, replace: y = Abs(x)}\n";
constexpr const char* kUpWide =
    "define:\n"
    "  plain(v):\n"
    "    - v = Relu(p) => $plain(p)\n"
    "    - v = Sum(ps...) when all($plain(ps)) => true\n"
    "    - => true\n"
    "rules:\n"
    "  - {name: wide, match: y = Neg(x), where: not $plain(x), replace: y = Abs(x)}\n";
constexpr const char* kLongChain =  // a pattern's own chain
    "rules:\n"
    "  - name: far\n"
    "    match: |\n"
    "      a = Sin(x)\n"
    "      t = c:Relu*(a)\n"
    "      y = Abs(t)\n"
    "    replace: y = c(a -> Abs(x))\n";

std::string SinChain(int64_t n) {
  Graph g;
  std::string x = g.Node("Sin", {g.Input(kFloat, kRow)});
  for (int64_t i = 0; i < n; ++i) x = g.Node("Relu", {x});
  g.Output(g.Node("Abs", {x}), kFloat, kRow);
  return Model(g, 17);
}

std::string EqualReaders(int64_t n) {
  Graph g;
  const std::string x = g.Input(kFloat, kRow);
  std::vector<std::string> parts;
  for (int64_t i = 0; i < n; ++i) parts.push_back(g.Node("Relu", {x}));
  g.Output(g.Node("Sum", parts), kFloat, kRow);
  return Model(g, 17);
}

std::string SplitRelus(int64_t n) {
  Graph g;
  const std::string sizes = g.Ints(std::vector<int64_t>(static_cast<size_t>(n), 2));
  std::vector<std::string> parts =
      g.Nodes("Split", {g.Input(kFloat, {1, 2 * n}), sizes}, {{"axis", 1}}, n);
  for (std::string& part : parts) part = g.Node("Relu", {part});
  g.Output(g.Node("Sum", parts), kFloat, {1, 2});
  return Model(g, 17);
}

// One node, on a value of n elements.
std::string Sized(int64_t n) {
  Graph g;
  g.Output(g.Node("Abs", {g.Input(kFloat, {n})}), kFloat, {n});
  return Model(g, 17);
}

std::string SumsAndDifferences(int64_t n) {
  Graph g;
  std::string x = g.Input(kFloat, kRow);
  for (int64_t i = 0; i < n; ++i) {
    x = g.Node("Sub", {g.Node("Add", {x, g.Scalar(static_cast<float>(i))}), g.Scalar(1)});
  }
  g.Output(x, kFloat, kRow);
  return Model(g, 17);
}

std::string LongTest(int64_t n, const char* made) {
  const auto chain = [n](const char* op) {
    std::string text = "          x: float[4]\n          y0 = Neg(x)\n";
    for (int64_t i = 0; i < n; ++i)
      text += "          y" + std::to_string(i + 1) + " = " + op + "(y" + std::to_string(i) + ")\n";
    return text;
  };
  return "qrewrite: 1\nname: own\nrules:\n  - name: r\n    match: y = Relu(x)\n    replace: y = "
         "Abs(x)\n    tests:\n"
         "      - name: t\n        given: |\n" +
         chain("Relu") + "        expect: |\n" + chain(made);
}

qrewrite::Status HaveFailed(const qrewrite::Rules& rules, int expected) {
  return rules.RunTests().failed == expected
             ? qrewrite::Status()
             : qrewrite::Status(qrewrite::StatusCode::kUsage, "not so many tests failed");
}

}  // namespace

std::vector<Family> RuleShapes() {
  const auto relus = [](int64_t n) { return Chain(n, "Relu", "Abs"); };
  const auto negs = [](int64_t n) { return Chain(2 * n, "Neg", "Abs"); };
  return {
      {"backward", "a rule that spreads from the end of a chain of n to its beginning", 100000,
       relus, Text(kBackward)},
      {"forward", "an operator that moves down a chain of n", 100000, SinChain, Text(kForward)},
      {"collapse", "a chain of 2 n that vanishes by pairs", 100000, negs, Text(kCollapse)},
      {"merge", "n pairs of a chain merge, each into the one before", 100000, SumsAndDifferences,
       Text(kMerge)},
      {"two-roots", "two of n readers of one value become one", 100000,
       [](int64_t n) { return Readers(n, "Mul"); }, Text(kTwoRoots)},
      {"two-roots-none", "two of n readers of one value, no two of them fit", 100000,
       [](int64_t n) { return Readers(n, "Mul"); }, Text(kNoTwoRoots), Stops::kMust},
      {"equal-readers", "n equal readers of one value become one", 100000, EqualReaders,
       Text(kEqualReaders)},
      {"other-readers", "n readers of one value look for one that is not there", 100000,
       [](int64_t n) { return Readers(n, "Mul"); }, Text(kOtherReaders)},
      {"outputs-one-by-one", "n outputs of one node, each with a reader", 100000, SplitRelus,
       Text(kOutputs)},
      {"uses-of", "n readers of one value count the readers of a set", 100000,
       [](int64_t n) { return Readers(n, "Mul"); }, Text(kUsesOf)},
      {"nodes-of", "n nodes count the nodes of a set", 100000, relus, Text(kNodesOf)},
      {"fibonacci", "a fact that calls itself twice", 400, Sized, Text(kFibonacci), Stops::kMust},
      {"tree", "n templates, each of which calls the one before twice", 400, Sized, Doubling,
       Stops::kMust},
      {"condition", "n times a condition on a rank", 100000, relus, Text(kRank)},
      {"regex", "n times a regular expression", 100000, relus, Text(kName)},
      {"fact-upward", "a fact over all that is above, asked n times", 100000, relus, Text(kUp)},
      {"fact-upward-wide", "the same over n operands of one node, each of them deep", 5000,
       DeepOperands, Text(kUpWide)},
      {"chain-pattern", "a pattern's chain of n steps", 100000, SinChain, Text(kLongChain)},
      {"rows", "n rows about inputs and outputs, written to a file", 100000, Lanes, Text(kRows)},
      {"many-rules", "n rules that do not fire, on a model of fixed size", 20000,
       [](int64_t) { return MixedChain(1000); }, ChainRules},
      {"many-operators", "n rules, each of an operator of its own, on a model of fixed size", 10000,
       [](int64_t) { return OperatorChain(10); }, RulesOfOperators},
      {"many-sets", "n rules, each of a set of its own, which all have one operator", 20000,
       [](int64_t) { return OperatorChain(10); }, RulesOfSets},
      {"many-rules-explained", "n rules that do not fire, asked why at one node", 20000,
       [](int64_t) { return MixedChain(10); }, ChainRules, Stops::kNever,
       [](const qrewrite::Model& model, const qrewrite::Rules& rules) {
         return qrewrite::Explain(model, rules, {.at = "v2"}).status();
       }},
      {"long-test", "a rule's test with n nodes, each of which is rewritten", 20000,
       [](int64_t) { return OperatorChain(10); }, [](int64_t n) { return LongTest(n, "Abs"); },
       Stops::kNever,
       [](const qrewrite::Model&, const qrewrite::Rules& rules) { return HaveFailed(rules, 0); }},
      {"long-test-failing", "the same, where each node is another one than the test expects", 20000,
       [](int64_t) { return OperatorChain(10); }, [](int64_t n) { return LongTest(n, "Exp"); },
       Stops::kNever,
       [](const qrewrite::Model&, const qrewrite::Rules& rules) { return HaveFailed(rules, 1); }},
      {"many-rules-and-nodes", "1000 rules that do not fire, on n nodes", 100000, MixedChain,
       [](int64_t) { return ChainRules(1000); }},
  };
}

}  // namespace scaling
