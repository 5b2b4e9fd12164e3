#include "engine/base/flat_map.h"

#include <unordered_map>

#include <doctest/doctest.h>

#include "engine/base/dice.h"

namespace qrewrite {
namespace {

TEST_CASE("FlatMap: an empty one has nothing") {
  FlatMap<int> map;
  CHECK(map.Find(0) == nullptr);
  map.Erase(0);
  CHECK(map.size() == 0);
}

TEST_CASE("FlatMap: a value is made once") {
  FlatMap<int> map;
  const auto [made, added] = map.FindOrAdd(7);
  CHECK(added);
  CHECK(*made == 0);
  *made = 3;
  CHECK_FALSE(map.FindOrAdd(7).second);
  CHECK(*map.Find(7) == 3);
}

// Few different keys in a small table: runs of slots that wrap around its end, and holes in them.
TEST_CASE("FlatMap: does what a map of the library does") {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    Dice dice(seed);
    FlatMap<uint64_t> map;
    std::unordered_map<uint64_t, uint64_t> expected;
    for (uint64_t step = 0; step < 2000; ++step) {
      const uint64_t key = static_cast<uint64_t>(dice.Below(40)) << (seed % 4);
      if (dice.Below(2) == 0) {
        *map.FindOrAdd(key).first = step;
        expected[key] = step;
      } else {
        map.Erase(key);
        expected.erase(key);
      }
      REQUIRE(map.size() == expected.size());
      for (uint64_t k = 0; k < 40; ++k) {
        const uint64_t* found = map.Find(k << (seed % 4));
        const auto known = expected.find(k << (seed % 4));
        REQUIRE((found != nullptr) == (known != expected.end()));
        if (found != nullptr) REQUIRE(*found == known->second);
      }
    }
  }
}

}  // namespace
}  // namespace qrewrite
