// Sizes that a model leaves open become numbers.
#include "engine/rewrite/input_shapes.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "tests/support/graph_maker.h"

using namespace qrewrite;

namespace {

// x: float[N, 3, ?], z: of unknown rank; a: float[N, M], an output y: float[N].
struct Open {
  Open() {
    const Dim n = m.graph.SymbolDim("N"), other = m.graph.SymbolDim("M");
    x = m.Input("x"), z = m.Input("z");
    a = m.Node("Relu", {x}, "a"), y = m.Node("Relu", {a}, "y");
    m.Output(y);
    Declare(x, {n, Dim(3), Dim()});
    Declare(a, {n, other});
    Declare(y, {n});
  }
  void Declare(ValueId v, std::vector<Dim> dims) {
    m.graph.SetDeclared(v, {.dtype = DType::kFloat, .has_rank = true, .dims = std::move(dims)});
  }
  std::string Shape(ValueId v) const {
    const TypeInfo& type = m.graph.declared(v);
    std::string text;
    for (const Dim dim : type.dims) {
      text += text.empty() ? "" : " ";
      text += dim.known()      ? std::to_string(dim.size())
              : dim.symbolic() ? m.graph.symbol_name(dim)
                               : "?";
    }
    return type.has_rank ? "[" + text + "]" : "?";
  }
  std::string All() const { return Shape(x) + " " + Shape(z) + " " + Shape(a) + " " + Shape(y); }
  std::string Fault(const std::map<std::string, std::vector<int64_t>>& shapes) {
    const Result<int64_t> fixed = FixInputShapes(m.graph, shapes);
    CHECK(All() == "[N 3 ?] ? [N M] [N]");
    if (fixed.ok()) return "";
    CHECK(fixed.status().code() == StatusCode::kUsage);
    const Diagnostic& told = fixed.status().diagnostics()[0];
    return told.message + (told.hint.empty() ? "" : "; " + told.hint);
  }

  GraphMaker m;
  ValueId x, z, a, y;
};

}  // namespace

TEST_CASE("Input shapes: a name is the same size wherever it stands") {
  Open open;
  CHECK(*FixInputShapes(open.m.graph, {{"x", {2, 3, 5}}}) == 3);
  CHECK(open.All() == "[2 3 5] ? [2 M] [2]");
  CHECK(*FixInputShapes(open.m.graph, {{"x", {2, 3, 5}}}) == 0);
  CHECK(*FixInputShapes(open.m.graph, {{"z", {}}}) == 1);
  CHECK(open.All() == "[2 3 5] [] [2 M] [2]");
}

TEST_CASE("Input shapes: what contradicts the model changes nothing") {
  Open open;
  CHECK(open.Fault({{"x", {2, 3}}}) == "input `x` has rank 3, but 2 sizes are given");
  CHECK(open.Fault({{"x", {2, 4, 5}}}) == "size 1 of input `x` is 3, not 4");
  CHECK(open.Fault({{"a", {2, 4}}}) == "the model has no input `a`");
  CHECK(open.Fault({{"x", {2, 3, 5}}, {"w", {1}}}) == "the model has no input `w`");
  open.Declare(open.z, {open.m.graph.SymbolDim("N")});
  const Result<int64_t> twice = FixInputShapes(open.m.graph, {{"x", {2, 3, 5}}, {"z", {4}}});
  CHECK(twice.status().message().find("size 0 of input `z` is 2 elsewhere, not 4") !=
        std::string::npos);
  open.m.graph.SetDeclared(open.z, {.is_tensor = false});
  CHECK(FixInputShapes(open.m.graph, {{"z", {4}}}).status().message().find("is no tensor") !=
        std::string::npos);
}
