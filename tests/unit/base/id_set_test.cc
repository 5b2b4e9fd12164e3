#include "engine/base/id_set.h"

#include <doctest/doctest.h>

namespace qrewrite {
namespace {

TEST_CASE("IdSet: few and many") {
  IdSet<int> set;
  for (int round = 0; round < 2; ++round) {
    CHECK_FALSE(set.contains(0));
    for (int i = 0; i < 100; ++i) {
      CHECK_FALSE(set.contains(3 * i));
      set.insert(3 * i);
      set.insert(3 * i);
      CHECK(set.contains(3 * i));
      CHECK(set.contains(0));
      CHECK_FALSE(set.contains(3 * i + 1));
    }
    set.clear();
  }
}

}  // namespace
}  // namespace qrewrite
