#include "engine/tensor/attribute.h"

#include <cmath>

#include <doctest/doctest.h>

namespace qrewrite {
namespace {

TEST_CASE("Attributes: sorted by name, replaced and erased") {
  Attributes a{{"perm", std::vector<int64_t>{1, 0}}, {"axis", int64_t{2}}};
  a.Set("mode", std::string("linear"));
  a.Set("axis", int64_t{3});
  CHECK(a.size() == 3);
  CHECK(a.begin()->name == "axis");
  CHECK(a.Int("axis", 0) == 3);
  CHECK(a.Int("mode", 7) == 7);  // of another kind
  CHECK(a.Int("absent", 9) == 9);
  CHECK(a.String("mode", "") == "linear");
  REQUIRE(a.Ints("perm") != nullptr);
  CHECK(a.Floats("perm") == nullptr);
  CHECK(a.Erase("axis"));
  CHECK(!a.Erase("axis"));
  CHECK(a.Find("axis") == nullptr);
}

TEST_CASE("Attributes: a copy shares until one changes") {
  Attributes a = {{"x", int64_t{1}}};
  Attributes b = a;
  CHECK(a.IsSameAs(b));
  b.Set("x", int64_t{2});
  CHECK(a.Int("x", 0) == 1);
  CHECK(b.Int("x", 0) == 2);
  b = a;
  CHECK(b.Erase("x"));
  CHECK(b.empty());
  CHECK(b == Attributes());
  CHECK(a.Int("x", 0) == 1);
}

TEST_CASE("Attributes: equality by value") {
  const float nan = std::nanf("");
  CHECK(Equal(nan, nan));
  CHECK(!Equal(0.0f, -0.0f));
  CHECK(!Equal(int64_t{1}, 1.0f));
  CHECK(Equal(Tensor::Int64s({1, 2}), Tensor::Int64s({1, 2})));
  CHECK(!Equal(Tensor::Int64s({1}), Tensor::Int64Scalar(1)));
  const Attributes a{{"t", Tensor::Int64s({1})}, {"f", std::vector<float>{1, 2}}};
  const Attributes b{{"f", std::vector<float>{1, 2}}, {"t", Tensor::Int64s({1})}};
  CHECK(a == b);
  CHECK(a.Hash() == b.Hash());
  CHECK(a.Hash() != Attributes{}.Hash());
}

TEST_CASE("Attributes: kinds carry ONNX's numbers") {
  CHECK(KindOf(1.0f) == AttrKind::kFloat);
  CHECK(KindOf(int64_t{1}) == AttrKind::kInt);
  CHECK(KindOf(std::vector<Tensor>{}) == AttrKind::kTensors);
  CHECK(KindOf(BodyId{}) == AttrKind::kGraph);
  CHECK(KindOf(AttrReference{"x", AttrKind::kInts}) == AttrKind::kInts);
}

}  // namespace
}  // namespace qrewrite
