// What Prove() makes of a runtime that computes other numbers than the operators' definitions.
#include <doctest/doctest.h>

#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "qrewrite/evaluator.h"
#include "qrewrite/rewrite.h"
#include "tests/unit/prove/proof.h"

namespace qrewrite {
namespace {

using Outcome = ProvenRule::Outcome;

// The built-in kernels, but that sums of two products of 8 bits end at 16 bits, as on processors without VNNI, and that
// there is an operator more.
std::unique_ptr<Evaluator> CuttingRuntime() {
  const auto rules = std::make_shared<const Rules>(RulesOf(R"yaml(rules:
  - name: quantizer
    doc: it is inside of the product
    match: y = com.microsoft.DynamicQuantizeMatMul(a, b, bs)
    replace: |
      q, s, z = DynamicQuantizeLinear(a)
      y = Mul(Cast<to=FLOAT>(MatMulInteger(q, b, z)), Mul(s, bs))
  - name: pairs
    doc: the sum of two neighbours is cut off
    match: y = MatMulInteger(q, w, z?)
    where: rank(q) == 2 and rank(w) == 2 and shape(w)[0] % 2 == 0 and shape(q)[1] == shape(w)[0]
    replace: |
      p = Mul(Unsqueeze(Cast<to=INT32>(q), [2]), Unsqueeze(Cast<to=INT32>(w), [0]))
      pairs = Add(Slice(p, [0], [99], [1], [2]), Slice(p, [1], [99], [1], [2]))
      cut = ReduceSum<keepdims=0>(Clip(pairs, -32768, 32767), [1])
      y = Sub(cut, Mul(Cast<to=INT32>(z ?? 0), ReduceSum(Cast<to=INT32>(w), [0])))
)yaml"));
  const std::shared_ptr<Evaluator> kernels = BuiltinKernels();
  return HostEvaluator(
      "cutting",
      [rules, kernels](std::string bytes, const std::vector<std::string>&) -> Result<HostRun> {
        Result<Model> model = Model::Parse(std::move(bytes));
        if (!model.ok()) return model.status();
        if (const Result<Report> report = Rewrite(*model, *rules); !report.ok())
          return report.status();
        Result<std::unique_ptr<Session>> session = kernels->Load(*model);
        if (!session.ok()) return session.status();
        const std::shared_ptr<Session> shared = *std::move(session);
        return HostRun([kernels, shared](const Tensors& inputs) { return shared->Run(inputs); });
      });
}

TEST_CASE("Sums of 8 bits that a runtime cuts off blame no rule, be weights constants or inputs") {
  const std::string text = R"yaml(rules:
  - name: dynamic
    doc: the quantizer is beside the product
    equivalence: approx(60dB)
    match: y = com.microsoft.DynamicQuantizeMatMul(a, b, bs)
    where: size(bs) == 1 and dtype(b) == INT8
    replace: |
      q, s, z = DynamicQuantizeLinear(a)
      y = MatMul(DequantizeLinear(q, s, z), DequantizeLinear(b, bs))
    tests:
      - {name: weights, given: "a: float[2, 2]\nb: int8[2, 2]\ny = com.microsoft.DynamicQuantizeMatMul(a, b, 0.2)", expect: unchanged}
)yaml";
  const std::unique_ptr<Evaluator> runtime = CuttingRuntime();
  const std::string constant =
      Replaced(Replaced(text, "\\nb: int8[2, 2]", ""), "(a, b, 0.2)", "(a, int8[2, 2] 127, 0.2)");
  const std::string inside = Replaced(Replaced(text, "\\nb: int8[2, 2]", ""), "(a, b, 0.2)",
                                      "(a, Constant<value=int8[2, 2] 127>(), 0.2)");
  for (const std::string& graphs : {text, constant, inside}) {
    const ProvenRule proof = Proof(graphs, {.graphs = 60, .runtime = runtime.get()}).rules[0];
    CHECK_MESSAGE(proof.outcome == Outcome::kHeld, proof.why << '\n' << proof.counterexample);
    const std::string wrong =
        Replaced(graphs, "DequantizeLinear(b, bs)", "DequantizeLinear(b, bs * 1.01)");
    CHECK(Proof(wrong, {.graphs = 60, .runtime = runtime.get()}).rules[0].outcome ==
          Outcome::kRefuted);
  }
}

TEST_CASE("Random numbers that a runtime draws by the size of the model blame no rule") {
  const std::string text = R"yaml(rules:
  - name: signs
    doc: two signs are none
    equivalence: exact
    match: y = Neg(Neg(z))
    replace: y = z
    tests:
      - {name: a number, given: "x: float[2, 2]\ny = Neg(Neg(RandomNormalLike(x)))", expect: unchanged}
)yaml";
  const auto runtime =
      HostEvaluator("drawing", [](const std::string& bytes, const std::vector<std::string>& names) {
        const auto number = static_cast<float>(bytes.size());
        return HostRun([number, names](const Tensors&) -> Result<Tensors> {
          const float numbers[] = {number, number, number, number};
          std::vector<std::byte> of_numbers(sizeof numbers);
          std::memcpy(of_numbers.data(), numbers, sizeof numbers);
          Tensors values;
          for (const std::string& name : names)
            values[name] = {.dtype = 1, .dims = {2, 2}, .bytes = of_numbers};
          return values;
        });
      });
  const auto outcome = [&](const std::string& rules) {
    return Proof(rules, {.graphs = 1, .runtime = runtime.get()}).rules[0].outcome;
  };
  CHECK(outcome(text) != Outcome::kRefuted);
  // Inverse has no kernel, but one result.
  CHECK(outcome(Replaced(text, "RandomNormalLike(x)", "com.microsoft.Inverse(x)")) ==
        Outcome::kRefuted);
}

}  // namespace
}  // namespace qrewrite
