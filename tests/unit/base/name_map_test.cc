#include "engine/base/name_map.h"

#include <map>

#include <doctest/doctest.h>

#include "engine/base/dice.h"

namespace qrewrite {
namespace {

TEST_CASE("NameMap: a name keeps what it stood for first") {
  NameMap<int> map;
  CHECK(map.Find("x") == nullptr);
  CHECK(map.Add("x", 1).second);
  const auto [value, added] = map.Add("x", 2);
  CHECK_FALSE(added);
  CHECK(*value == 1);
  *value = 3;
  CHECK(*map.Find("x") == 3);
  CHECK(map.Find("") == nullptr);
}

// Few names are compared, many are found by their hash.
TEST_CASE("NameMap: does what a map of the library does, in the order of adding") {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    Dice dice(seed);
    const size_t names = 1 + dice.Below(60);
    NameMap<int> map;
    std::map<std::string, int> expected;
    std::vector<std::string> order;
    for (int step = 0; step < 200; ++step) {
      const std::string name = "a name of some length " + std::to_string(dice.Below(names));
      const bool fresh = expected.emplace(name, step).second;
      if (fresh) order.push_back(name);
      CHECK(map.Add(name, step).second == fresh);
      REQUIRE(map.Find(name) != nullptr);
      CHECK(*map.Find(name) == expected[name]);
    }
    CHECK(map.Find("another") == nullptr);
    std::vector<std::string> got;
    for (const auto& [name, value] : map) got.push_back(name);
    CHECK(got == order);
  }
}

}  // namespace
}  // namespace qrewrite
