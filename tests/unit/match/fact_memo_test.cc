#include "engine/match/fact_memo.h"

#include <doctest/doctest.h>

namespace qrewrite {
namespace {

FactMemo::Key Key(int definition, uint32_t value) { return {definition, ValueId(value)}; }

// A chain of facts: definition 0 of each value looks at that value and asks for it of the one
// before.
FactMemo Chain(uint32_t length) {
  FactMemo memo;
  for (uint32_t v = 0; v < length; ++v) {
    memo.Looked(Key(0, v), ValueId(v));
    if (v > 0) memo.Looked(Key(0, v), ValueId(v - 1));
    memo.Store(Key(0, v), Val::Int(v));
  }
  return memo;
}

std::string Known(const FactMemo& memo, uint32_t length) {
  std::string known;
  for (uint32_t v = 0; v < length; ++v) known += memo.Find(Key(0, v)) != nullptr ? 'x' : '.';
  return known;
}

}  // namespace

TEST_CASE("FactMemo: what was stored is found, by definition and value") {
  FactMemo memo;
  CHECK(memo.Find(Key(0, 7)) == nullptr);
  memo.Store(Key(0, 7), Val::Int(1));
  memo.Store(Key(1, 7), Val::Int(2));
  memo.Store(Key(0, 8), Val());
  REQUIRE(memo.Find(Key(0, 7)) != nullptr);
  CHECK(memo.Find(Key(0, 7))->get<int64_t>() == 1);
  CHECK(memo.Find(Key(1, 7))->get<int64_t>() == 2);
  CHECK(memo.Find(Key(0, 8))->absent());
  CHECK(memo.Find(Key(1, 8)) == nullptr);
  memo.Store(Key(0, 7), Val::Int(3));
  CHECK(memo.Find(Key(0, 7))->get<int64_t>() == 3);
  memo.Clear();
  CHECK(memo.Find(Key(0, 7)) == nullptr);
}

TEST_CASE("FactMemo: a value that changed takes along what was drawn from it, and no more") {
  FactMemo memo = Chain(6);
  CHECK(Known(memo, 6) == "xxxxxx");
  memo.Forget(ValueId(3u));
  CHECK(Known(memo, 6) == "xxx...");
  memo.Forget(ValueId(3u));  // once more: nothing is left to forget
  memo.Forget(ValueId(100u));
  CHECK(Known(memo, 6) == "xxx...");
  memo.Forget(ValueId(0u));
  CHECK(Known(memo, 6) == "......");
}

TEST_CASE("FactMemo: a fact that was stored anew is forgotten anew") {
  FactMemo memo = Chain(3);
  memo.Forget(ValueId(1u));
  CHECK(Known(memo, 3) == "x..");
  memo.Looked(Key(0, 1), ValueId(1u));
  memo.Looked(Key(0, 1), ValueId(0u));
  memo.Store(Key(0, 1), Val::Int(1));
  CHECK(Known(memo, 3) == "xx.");
  memo.Forget(ValueId(0u));
  CHECK(Known(memo, 3) == "...");
}

TEST_CASE("FactMemo: several definitions that look at one value are all forgotten") {
  FactMemo memo;
  for (const int definition : {0, 1, 2}) {
    memo.Looked(Key(definition, 5), ValueId(definition == 2 ? 4u : 5u));
    memo.Store(Key(definition, 5), Val::Int(definition));
  }
  memo.Forget(ValueId(5u));
  CHECK(memo.Find(Key(0, 5)) == nullptr);
  CHECK(memo.Find(Key(1, 5)) == nullptr);
  CHECK(memo.Find(Key(2, 5)) != nullptr);
}

TEST_CASE("FactMemo: facts about values that are gone go, others stay") {
  FactMemo memo = Chain(6);
  memo.Truncate(4);
  CHECK(Known(memo, 6) == "xxxx..");
  memo.Truncate(10);
  CHECK(Known(memo, 6) == "xxxx..");
  // The ids are used again, for values that have nothing to do with the old ones.
  memo.Looked(Key(0, 4), ValueId(4u));
  memo.Store(Key(0, 4), Val::Int(40));
  CHECK(Known(memo, 6) == "xxxxx.");
  memo.Forget(ValueId(4u));
  CHECK(Known(memo, 6) == "xxxx..");
}

}  // namespace qrewrite
