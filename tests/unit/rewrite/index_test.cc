#include <doctest/doctest.h>

#include <array>
#include <set>
#include <vector>

#include "engine/rewrite/index.h"

using namespace qrewrite;

namespace {

struct Fixture {
  Graph graph;
  ValueId x = graph.AddValue(graph.main(), "x");
  OpId relu = graph.InternOp("", "Relu");

  Fixture() { graph.AddInput(graph.main(), x); }
  NodeId Node(ValueId input, Attributes attributes = {}) {
    const std::vector<ValueId> inputs = {input}, outputs = {graph.AddValue(graph.main(), "")};
    return graph.AddNode(graph.main(), relu, inputs, outputs, std::move(attributes), "");
  }
  NodeId Find(NodeIndex& index, ValueId input, const Attributes& attributes = {},
              size_t outputs = 1) {
    const std::vector<ValueId> inputs = {input};
    return index.Find({graph.main(), relu, inputs, attributes, outputs});
  }
};

}  // namespace

TEST_CASE_FIXTURE(Fixture, "NodeIndex finds the earliest equal node") {
  const NodeId first = Node(x), second = Node(x);
  NodeIndex index(graph);
  CHECK(Find(index, x) == first);
  graph.RemoveNode(first);
  CHECK(Find(index, x) == second);
  graph.RemoveNode(second);
  CHECK_FALSE(Find(index, x).valid());
}

TEST_CASE_FIXTURE(Fixture, "NodeIndex follows inputs that change") {
  const NodeId first = Node(x);
  const NodeId second = Node(graph.output(first, 0));
  NodeIndex index(graph);
  CHECK(Find(index, x) == first);
  graph.SetInput(second, 0, x);
  index.Add(second);
  CHECK(Find(index, x) == first);  // not the one that came to it later
  CHECK_FALSE(Find(index, graph.output(first, 0)).valid());
  graph.RemoveNode(first);
  CHECK(Find(index, x) == second);
}

TEST_CASE_FIXTURE(Fixture, "NodeIndex tells attributes and outputs apart") {
  const Attributes two{{"axis", int64_t{2}}}, three{{"axis", int64_t{3}}};
  const NodeId a = Node(x, two), b = Node(x, three);
  NodeIndex index(graph);
  CHECK(Find(index, x, two) == a);
  CHECK(Find(index, x, three) == b);
  CHECK_FALSE(Find(index, x).valid());
  CHECK_FALSE(Find(index, x, two, 2).valid());
}

TEST_CASE_FIXTURE(Fixture, "NodeIndex: outputs that nobody asks for may be absent") {
  const OpId op = graph.InternOp("", "GRU");
  const ValueId h = graph.AddValue(graph.main(), "h");
  const std::vector<ValueId> inputs{x}, outputs{ValueId(), h};
  const NodeId n = graph.AddNode(graph.main(), op, inputs, outputs, {}, "");
  NodeIndex index(graph);
  const std::array<bool, 2> second{false, true}, both{true, true};
  const auto find = [&](const std::array<bool, 2>& present) {
    return index.Find({graph.main(), op, inputs, {}, 2, NodeIndex::kAll, present});
  };
  CHECK(find(second) == n);
  CHECK_FALSE(find(both).valid());
}

TEST_CASE_FIXTURE(Fixture, "NodeIndex forgets what was taken back") {
  Node(x);
  NodeIndex index(graph);
  const ValueId y = graph.output(NodeId(size_t{0}), 0);
  const Graph::Mark mark = graph.mark();
  index.Add(Node(y));
  Find(index, y);
  index.Add(Node(y));
  graph.Undo(mark);
  CHECK_FALSE(Find(index, y).valid());
}

TEST_CASE_FIXTURE(Fixture, "NodeIndex leaves out nodes in the old form during an upgrade") {
  Node(x);
  graph.BeginUpgrade(21);
  NodeIndex index(graph);
  CHECK_FALSE(Find(index, x).valid());
  const NodeId fresh = Node(x);
  index.Add(fresh);
  CHECK(Find(index, x) == fresh);
  graph.EndUpgrade();
}

TEST_CASE("ConstantPool gives the first constant of equal content") {
  Graph graph;
  const BodyId main = graph.main();
  const ValueId one = graph.AddConstant(main, "one", Tensor::FloatScalar(1));
  const ValueId other = graph.AddConstant(main, "other", Tensor::FloatScalar(1));
  ConstantPool pool(graph);
  CHECK(pool.Get(main, Tensor::FloatScalar(1)) == one);
  graph.RemoveConstant(one);
  CHECK(pool.Get(main, Tensor::FloatScalar(1)) == other);
  graph.RemoveConstant(other);
  const ValueId fresh = pool.Get(main, Tensor::FloatScalar(1));
  CHECK(fresh != other);
  CHECK(pool.Get(main, Tensor::FloatScalar(1)) == fresh);
}

TEST_CASE("ConstantPool tells element types and shapes apart") {
  Graph graph;
  ConstantPool pool(graph);
  const std::vector<int64_t> zero = {0};
  const ValueId a = pool.Get(graph.main(), Tensor::Int64Scalar(0));
  CHECK(pool.Get(graph.main(), Tensor::Int64s(zero)) != a);
  CHECK(pool.Get(graph.main(), Tensor::DoubleScalar(0)) != a);
  CHECK(pool.Get(graph.main(), Tensor::Int64Scalar(0)) == a);
}

TEST_CASE("ConstantPool knows large tensors by how they were made") {
  Graph graph;
  ConstantPool pool(graph);
  const auto lazy = [](uint64_t key) {
    return Tensor::Lazy(DType::kInt8, {100000}, key, []() -> Result<Tensor> {
      FAIL("a large tensor was computed");
      return Status(StatusCode::kLimit, "");
    });
  };
  const ValueId a = pool.Get(graph.main(), lazy(1));
  CHECK(pool.Get(graph.main(), lazy(1)) == a);
  CHECK(pool.Get(graph.main(), lazy(2)) != a);
}

TEST_CASE("ConstantPool survives ids that are used again") {
  Graph graph;
  ConstantPool pool(graph);
  pool.Get(graph.main(), Tensor::FloatScalar(3));
  const Graph::Mark mark = graph.mark();
  const ValueId gone = pool.Get(graph.main(), Tensor::FloatScalar(1));
  graph.Undo(mark);
  const ValueId two = pool.Get(graph.main(), Tensor::FloatScalar(2));
  CHECK(two == gone);
  const ValueId one = pool.Get(graph.main(), Tensor::FloatScalar(1));
  CHECK(one != two);
  CHECK(pool.Get(graph.main(), Tensor::FloatScalar(2)) == two);
}

TEST_CASE("ConstantPool keeps apart what has one key by chance") {
  Graph graph;
  ConstantPool pool(graph);
  const Tensor one = Tensor::FloatScalar(1).WithKey(7), two = Tensor::FloatScalar(2).WithKey(7);
  const ValueId of_one = pool.Get(graph.main(), one), of_two = pool.Get(graph.main(), two);
  CHECK(of_one != of_two);
  CHECK(pool.Get(graph.main(), one) == of_one);
  CHECK(pool.Get(graph.main(), two) == of_two);
  graph.RemoveConstant(of_one);
  CHECK(pool.Get(graph.main(), two) == of_two);
  CHECK(pool.Get(graph.main(), one) != of_two);
}

TEST_CASE("ConstantPool has one constant for each of many bodies") {
  Graph graph;
  ConstantPool pool(graph);
  const Tensor one = Tensor::FloatScalar(1);
  std::vector<ValueId> made;
  std::vector<BodyId> bodies;
  for (int i = 0; i < 5000; ++i) {
    bodies.push_back(graph.AddBody(BodyKind::kSubgraph, graph.main()));
    made.push_back(pool.Get(bodies.back(), one));
  }
  size_t found = 0;
  for (size_t i = 0; i < bodies.size(); ++i) found += pool.Get(bodies[i], one) == made[i];
  CHECK(found == bodies.size());
}

TEST_CASE("HashMix tells small numbers apart, whatever they are mixed with") {
  for (const uint64_t with : {uint64_t{0}, uint64_t{17}, uint64_t{0x123456789abcdef}}) {
    std::set<uint64_t> first, second;
    for (uint64_t i = 0; i < 5000; ++i) {
      first.insert(HashMix(i, with));
      second.insert(HashMix(with, i));
    }
    CHECK(first.size() == 5000);
    CHECK(second.size() == 5000);
  }
}

TEST_CASE("ConstantPool does not use what callers may override") {
  Graph graph;
  const ValueId input = graph.AddConstant(graph.main(), "w", Tensor::FloatScalar(1));
  graph.AddInput(graph.main(), input);
  ConstantPool pool(graph);
  CHECK(pool.Get(graph.main(), Tensor::FloatScalar(1)) != input);
}

TEST_CASE(
    "ConstantPool: an input in a body is a constant of the graphs around it, if its name means it "
    "there") {
  Graph graph;
  const ValueId outer = graph.AddConstant(graph.main(), "w", Tensor::FloatScalar(1));
  const ValueId hidden = graph.AddConstant(graph.main(), "v", Tensor::FloatScalar(2));
  const BodyId body = graph.AddBody(BodyKind::kSubgraph, graph.main());
  graph.AddConstant(body, "v", Tensor::FloatScalar(3));
  const BodyId function = graph.AddBody(BodyKind::kFunction, BodyId());
  ConstantPool pool(graph);
  CHECK(pool.Operand(body, Tensor::FloatScalar(1)) == outer);
  CHECK(pool.Get(body, Tensor::FloatScalar(1)) != outer);
  CHECK(pool.Operand(body, Tensor::FloatScalar(2)) != hidden);
  CHECK(graph.body_of(pool.Operand(function, Tensor::FloatScalar(1))) == function);
}

TEST_CASE_FIXTURE(Fixture, "NodeIndex: what a node computed is found where it went") {
  NodeIndex index(graph);
  const auto find = [&](ValueId input, const Attributes& attributes = {}) {
    const std::vector<ValueId> inputs = {input};
    return index.FindFormer({graph.main(), relu, inputs, attributes});
  };
  const Attributes two{{"axis", int64_t{2}}};
  const ValueId a = graph.AddValue(graph.main(), "a"), b = graph.AddValue(graph.main(), "b");
  CHECK_FALSE(find(x).valid());
  index.Remember(Node(x), a);
  index.Remember(Node(x, two), b);
  CHECK(find(x) == a);
  CHECK(find(x, two) == b);
  CHECK_FALSE(find(a).valid());
  const ValueId c = graph.AddValue(graph.main(), "c"), d = graph.AddValue(graph.main(), "d");
  index.Moved(a, c);
  index.Moved(c, d);
  CHECK(find(x) == d);
  index.ForgetFormers();
  CHECK_FALSE(find(x).valid());
  index.Remember(Node(x), c);  // which went to `d`
  CHECK(find(x) == d);
  CHECK_FALSE(find(x, two).valid());
}
