#include <climits>
#include <cstdlib>
#include <fstream>
#include <string>

#include <doctest/doctest.h>

#include "engine/ops/signature.h"

namespace qrewrite {
namespace {

TEST_CASE("ParseSignature: all that a line can say") {
  const auto parsed = ParseSignature(
      "my.dom.Op 3 deprecated random commutative (X:T, n?:int64, xs...0:mixed V) -> "
      "(Y:T dtype=`dtype(X)` shape=`shape(X)`, z?) <a:int, b:ints?, body:graph, f:float=0.5, "
      "l:strings=[\"x\", \"\\\"\\\\\"], p:ints=`Range(rank(X), 0, -1)`> "
      "{T=float,int8; V=int8,seq}");
  REQUIRE_MESSAGE(parsed.ok(), parsed.status().message());
  const Signature& s = *parsed;
  CHECK(s.op == OpName{"my.dom", "Op"});
  CHECK(s.since == 3);
  CHECK(s.deprecated);
  CHECK(!s.deterministic);
  CHECK(s.commutative);
  CHECK(s.has_subgraphs);
  CHECK(s.min_inputs == 2);
  CHECK(s.max_inputs == INT_MAX);
  CHECK(s.min_outputs == 1);
  CHECK(s.max_outputs == 2);
  CHECK(s.InputIndex("xs") == 2);
  CHECK(s.InputIndex("Y") == -1);
  CHECK(s.inputs[1].arity == Arity::kOptional);
  CHECK(s.types[s.inputs[1].type_var].Allows(DType::kInt64));
  CHECK(!s.inputs[2].homogeneous);
  CHECK(s.types[s.inputs[2].type_var].containers == kSequence);
  CHECK(!s.types[s.inputs[2].type_var].only_tensors);
  CHECK(s.outputs[0].type_var == s.inputs[0].type_var);
  CHECK(s.outputs[0].dtype_expr == "dtype(X)");
  CHECK(s.outputs[0].shape_expr == "shape(X)");
  CHECK(s.outputs[1].type_var == -1);
  CHECK(s.FindAttribute("a")->required);
  CHECK(!s.FindAttribute("b")->required);
  CHECK(s.FindAttribute("b")->kind == AttrKind::kInts);
  CHECK(Equal(s.FindAttribute("f")->default_value, 0.5f));
  CHECK(Equal(s.FindAttribute("l")->default_value, std::vector<std::string>{"x", "\"\\"}));
  CHECK(s.FindAttribute("p")->computed_default == "Range(rank(X), 0, -1)");
  CHECK(s.FindAttribute("q") == nullptr);
}

TEST_CASE("ParseSignature: round trip of single lines") {
  const char* const lines[] = {
      "Op 1 () -> (y)",
      "Op 0 (x) -> (y...0)",
      "Op 1 (x, xs...2:T) -> (y:T, ys...:mixed T) {T=float}",
      "Op 1 (xs...:mixed) -> ()",
      "Op 1 (x:seq) -> (y:bool)",
      "d.Op 1 (x) -> (y) <a:float=-3.4028235e+38, b:float=1e-05, c:ints=[], d:string=\"\\n\\t\">",
      "d.Op 1 (x) -> (y) <a:sparse_tensor?, b:type_proto?, c:graphs?, d:tensor>",
  };
  for (const char* const line : lines) {
    const auto signature = ParseSignature(line);
    REQUIRE_MESSAGE(signature.ok(), signature.status().message());
    CHECK(PrintSignature(*signature) == line);
  }
  CHECK(ParseSignature("ai.onnx.Add 7 (A,B)->(C)")->op == OpName{"", "Add"});
}

TEST_CASE("ParseSignature: errors") {
  struct Case {
    const char* line;
    int column;
    const char* message;
  };
  const Case cases[] = {
      {"", 1, "expected an operator"},
      {"Op (x) -> (y)", 4, "expected the version since when the operator is like this"},
      {"Op -1 (x) -> (y)", 6, "expected the version since when the operator is like this"},
      {"Op 1 fast (x) -> (y)", 6, "unknown flag `fast`"},
      {"Op 1 x) -> (y)", 6, "unknown flag `x`"},
      {"Op 1 (x -> (y)", 9, "expected `)`"},
      {"Op 1 (x) (y)", 10, "expected `->`"},
      {"Op 1 (1x) -> (y)", 7, "expected a name"},
      {"Op 1 (x, x) -> (y)", 10, "`x` is there twice"},
      {"Op 1 (xs..., y) -> (z)", 14, "only the last one can be variadic"},
      {"Op 1 (x:) -> (y)", 9, "expected a type"},
      {"Op 1 (x:U) -> (y)", 9, "`U` is neither a type nor a variable"},
      {"Op 1 (x:T) -> (y) {T=floa}", 22, "`floa` is no type"},
      {"Op 1 (x:T) -> (y) {T=float; T=int8}", 29, "`T` is there twice"},
      {"Op 1 (x) -> (y) <a:integer>", 20, "`integer` is no kind of attribute"},
      {"Op 1 (x) -> (y) <a:int=x>", 24, "expected an integer"},
      {"Op 1 (x) -> (y) <a:float=x>", 26, "expected a number"},
      {"Op 1 (x) -> (y) <a:ints=1>", 25, "expected `[`"},
      {"Op 1 (x) -> (y) <a:string=\"x>", 30, "this text does not end"},
      {"Op 1 (x) -> (y) <a:string=\"\\x\">", 27, "unknown escape in this text"},
      {"Op 1 (x) -> (y) <a:ints=`x>", 25, "this expression does not end"},
      {"Op 1 (x) -> (y) <a:tensor=1>", 27,
       "attributes of this kind have no default that can be written"},
      {"Op 1 (x) -> (y) <a:int, a:int>", 25, "`a` is there twice"},
      {"Op 1 (x) -> (y) <a:int", 23, "expected `>`"},
      {"Op 1 (x) -> (y) more", 17, "nothing may follow here"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.line);
    const auto signature = ParseSignature(c.line);
    REQUIRE(!signature.ok());
    const Diagnostic& error = signature.status().diagnostics().at(0);
    CHECK(error.message == c.message);
    CHECK(error.span.column == c.column);
  }
}

// The text of a table without the C++ around it.
std::vector<std::string> TableLines(const std::string& file) {
  const char* const root = std::getenv("QREWRITE_SOURCE_DIR");
  REQUIRE(root != nullptr);
  std::ifstream in(std::string(root) + "/engine/ops/" + file);
  REQUIRE(in.good());
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("R\"~(")) line.erase(0, 4);
    if (line.empty() || line.starts_with("//") || line.starts_with(")~\"")) continue;
    lines.push_back(line);
  }
  return lines;
}

TEST_CASE("ParseSignature: round trip of the generated tables") {
  size_t count = 0;
  for (const char* const file :
       {"signatures_onnx.inc", "signatures_onnx_ml.inc", "signatures_microsoft.inc"}) {
    for (const std::string& line : TableLines(file)) {
      const auto signature = ParseSignature(line);
      REQUIRE_MESSAGE(signature.ok(), signature.status().message());
      CHECK(PrintSignature(*signature) == line);
      ++count;
    }
  }
  CHECK(count > 850);
}

TEST_CASE("PrintSignature: round trip of the built-in signatures, overlay included") {
  const Signatures& all = Signatures::Builtin();
  for (const OpName& op : all.Names()) {
    for (const Signature& signature : all.Versions(op.domain, op.name)) {
      const std::string line = PrintSignature(signature);
      const auto again = ParseSignature(line);
      REQUIRE_MESSAGE(again.ok(), again.status().message());
      CHECK(PrintSignature(*again) == line);
    }
  }
}

}  // namespace
}  // namespace qrewrite
