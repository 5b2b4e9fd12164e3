// The same name again means equal: what that is for values, constants, lists and what is absent; and
// what a chain asks of its steps.
#include <doctest/doctest.h>

#include <string>

#include "tests/support/rule_run.h"

namespace qrewrite {
namespace {

using testing::RunRules;

struct Row {
  const char* match;
  const char* given;
  bool fires;
};

void Hold(const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    std::string match = row.match;
    for (size_t at = 0; (at = match.find("; ", at)) != std::string::npos; at += 8) {
      match.replace(at, 2, "\n      ");
    }
    const testing::Ran ran = RunRules(
        "signatures: {acme.Mix: {inputs: [x, \"bias?\", \"gain?\"], outputs: [y]}, acme.Join: "
        "{inputs: "
        "[\"xs...\"], outputs: [y]}}\nrules:\n  - name: r\n    match: |\n      " +
            match + "\n    replace: y = Neg(x)\n",
        row.given);
    INFO(row.match, "\n", row.given, "\n", ran.graph);
    CHECK(ran.ok);
    CHECK(!ran.report.rules.empty() == row.fires);
  }
}

}  // namespace

TEST_CASE("A name that is absent in one place is absent in all, in whatever order they are seen") {
  const char* first_without = "x: float[2]; b: float[2]; t = acme.Mix(x); y = acme.Mix(t, b)";
  const char* second_without = "x: float[2]; b: float[2]; t = acme.Mix(x, b); y = acme.Mix(t)";
  const char* both = "x: float[2]; b: float[2]; t = acme.Mix(x, b); y = acme.Mix(t, b)";
  const char* neither = "x: float[2]; t = acme.Mix(x); y = acme.Mix(t)";
  for (const char* match :
       {"t = acme.Mix(x, b?); y = acme.Mix(t, b?)", "y = acme.Mix(t, b?); t = acme.Mix(x, b?)",
        "y = acme.Mix(acme.Mix(x, b?), b?)"}) {
    Hold({{match, both, true},
          {match, neither, true},
          {match, first_without, false},
          {match, second_without, false}});
  }
  // Of a step that may be missing, too.
  const char* skipped = "y = acme.Mix(acme.Mix?(x, b), b)";
  Hold({{skipped, "x: float[2]; b: float[2]; y = acme.Mix(acme.Mix(x, b), b)", true},
        {skipped, "x: float[2]; b: float[2]; y = acme.Mix(x, b)", false}});
}

TEST_CASE("Equal constants have one element type, one shape and one content") {
  const std::string match = "y = Mul(Mul(x, s), s)";
  const auto given = [](const std::string& a, const std::string& b) {
    return "x: ?; t = acme.Mix(x, " + a + "); y = acme.Mix(t, " + b + ")";
  };
  const struct {
    const char *a, *b;
    bool equal;
  } rows[] = {
      {"float 0.5", "float 0.5", true},
      {"float[2] 0.5", "float[2] 0.5", true},
      {"float 0.5", "float[1] 0.5", true},  // one element, whatever its rank
      {"float[1, 1] 0.5", "float[1] 0.5", true},
      {"float 0.5", "float[2] 0.5", false},
      {"float[2] 0.5", "float 0.5", false},
      {"float[1, 2] 0.5", "float[2] 0.5", false},
      {"float 0.5", "float 0.25", false},
      {"float 2", "double 2", false},
      {"int8 0", "uint8 0", false},
      {"zeros float[0]", "zeros float[0]", true},
      {"zeros float[0]", "zeros float[0, 2]", false},
      {"float nan", "float nan", true},
  };
  for (const auto& row : rows) {
    Hold({{"y = acme.Mix(acme.Mix(x, s), s)", given(row.a, row.b).c_str(), row.equal}});
  }
  // Members of a list that is named twice as well.
  const char* lists = "t = acme.Join(x, zs...); y = acme.Join(t, zs...)";
  Hold({{lists, "x: ?; t = acme.Join(x, 0.5, 1.0); y = acme.Join(t, 0.5, 1.0)", true},
        {lists, "x: ?; t = acme.Join(x, 0.5, 1.0); y = acme.Join(t, float[2] 0.5, 1.0)", false}});
}

TEST_CASE("A step of a chain has the inputs that the pattern says, and no others") {
  const auto given = [](const std::string& step) {
    return "x: float[2]; t = Relu(x); z = " + step + "; y = Neg(z); return y";
  };
  const struct {
    const char *args, *step;
    bool fires;
  } rows[] = {
      {"t, _", "acme.Mix(t, 1.0)", true},
      {"t, _", "acme.Mix(t)", false},
      {"t, _", "acme.Mix(t, absent, 1.0)", false},
      {"t, _?", "acme.Mix(t)", true},
      {"t, _?", "acme.Mix(t, 1.0)", true},
      {"t, absent, _", "acme.Mix(t, absent, 1.0)", true},
      {"t, absent, _", "acme.Mix(t, 1.0, 1.0)", false},
      {"t, 1", "acme.Mix(t, 1.0)", true},
      {"t, 1", "acme.Mix(t, 2.0)", false},
      {"t, 1", "acme.Mix(t)", false},
      {"t", "acme.Mix(t, 1.0)", false},
      {"t, _...", "acme.Mix(t, absent, 1.0)", true},
      {"t, _, _...", "acme.Mix(t)", false},
      {"t, _, _...", "acme.Mix(t, 1.0, 1.0)", true},
  };
  for (const auto& row : rows) {
    const std::string match =
        "t = Relu(x); z = acme.Mix+(" + std::string(row.args) + "); y = Neg(z)";
    Hold({{match.c_str(), given(row.step).c_str(), row.fires}});
  }
}

TEST_CASE("Attributes that both do not mention are equal by value, with their defaults") {
  const auto given = [](const std::string& a, const std::string& b) {
    return "x: float[1, 2, 4, 4]; p = " + a + "(x); q = " + b + "(x); y = Add(p, q); return y";
  };
  const struct {
    const char *a, *b;
    bool equal;
  } rows[] = {
      {"MaxPool<kernel_shape=[2, 2]>", "AveragePool<kernel_shape=[2, 2]>", true},
      {"MaxPool<kernel_shape=[2, 2]>", "AveragePool<kernel_shape=[2, 1]>", false},
      {"MaxPool<kernel_shape=[2, 2], ceil_mode=0>", "AveragePool<kernel_shape=[2, 2]>", true},
      {"MaxPool<kernel_shape=[2, 2], strides=[1, 1]>", "AveragePool<kernel_shape=[2, 2]>", true},
      {"MaxPool<kernel_shape=[2, 2], strides=[2, 2]>", "AveragePool<kernel_shape=[2, 2]>", false},
      {"MaxPool<kernel_shape=[2, 2], storage_order=1>", "AveragePool<kernel_shape=[2, 2]>", false},
  };
  for (const auto& row : rows) {
    const testing::Ran ran = RunRules(R"(
sets: {pools: [MaxPool, AveragePool]}
rules:
  - name: r
    match: |
      p = n:@pools<**k>(x)
      q = m:@pools<**k>(x)
      y = Add(p, q)
    where: op(n) != op(m)
    replace: y = Add(n<**k>(x), n<**k>(x))
)",
                                      given(row.a, row.b));
    INFO(row.a, " ", row.b, "\n", ran.graph);
    CHECK(ran.ok);
    CHECK(!ran.report.rules.empty() == row.equal);
  }
}

TEST_CASE("Bodies are equal that compute the same of the same values") {
  const struct {
    const char *then_branch, *else_branch;
    bool equal;
  } rows[] = {
      {"a = Relu(x)", "b = Relu(x)", true},
      {"a = Relu(x)", "b = Relu(z)", false},
      {"a = Relu(x)", "b = Neg(x)", false},
      {"a = Add(x, 2.0)", "b = Add(x, 2.0)", true},
      {"a = Add(x, 2.0)", "b = Add(x, 3.0)", false},
      {"a = Add(x, z)", "b = Add(z, x)", false},
      {"t = Neg(x); a = Add(t, t)", "b = Add(Neg(x), Neg(x))", false},  // shared in another way
      {"t = Neg(x); u = Neg(z); a = Sub(t, u)", "u = Neg(z); t = Neg(x); b = Sub(t, u)", true},
      {"a = LeakyRelu<alpha=0.5>(x)", "b = LeakyRelu<alpha=0.25>(x)", false},
      {"a = Identity(x)", "b = Identity(x)", true},
      {"p, a = Split<num_outputs=2>(z); return a", "b, q = Split<num_outputs=2>(z); return b",
       false},
      {"a = If<then_branch={ p = Neg(x) }, else_branch={ p = Abs(x) }>(c)",
       "b = If<then_branch={ q = Neg(x) }, else_branch={ q = Abs(x) }>(c)", true},
      {"a = If<then_branch={ p = Neg(x) }, else_branch={ p = Abs(x) }>(c)",
       "b = If<then_branch={ q = Neg(x) }, else_branch={ q = Cos(x) }>(c)", false},
  };
  const std::string by_name = R"(
rules:
  - name: r
    match: y = If<then_branch=t, else_branch=t>(c)
    replace: y = t()
)";
  const std::string by_condition = R"(
rules:
  - name: r
    match: y = If<then_branch=t, else_branch=e>(c)
    where: t == e
    replace: y = e()
)";
  for (const auto& row : rows) {
    for (const std::string& rules : {by_name, by_condition}) {
      const testing::Ran ran =
          RunRules(rules, "x: float[4]; z: float[4]; c: bool; o = If<then_branch={ " +
                              std::string(row.then_branch) + " }, else_branch={ " +
                              row.else_branch + " }>(c); return o");
      INFO(row.then_branch, " / ", row.else_branch, "\n", ran.graph);
      CHECK(ran.ok);
      CHECK(!ran.report.rules.empty() == row.equal);
    }
  }
}

}  // namespace qrewrite
