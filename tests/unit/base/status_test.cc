#include "qrewrite/status.h"

#include <memory>
#include <unordered_set>

#include <doctest/doctest.h>

#include "engine/base/function_ref.h"
#include "engine/base/ids.h"

namespace qrewrite {
namespace {

Result<int> Half(int n) {
  if (n % 2) return Status(StatusCode::kUsage, "odd");
  return n / 2;
}
Status Twice(int n, int& out) {
  QR_ASSIGN_OR_RETURN(const int half, Half(n));
  QR_ASSIGN_OR_RETURN(out, Half(half));
  QR_RETURN_IF_ERROR(Half(out).status());
  return {};
}

TEST_CASE("Status: ok, message, code") {
  CHECK(Status().ok());
  CHECK(Status().message().empty());
  const Status bad(StatusCode::kIo, "no such file");
  CHECK(!bad.ok());
  CHECK(bad.code() == StatusCode::kIo);
  CHECK(bad.message() == "error: no such file");
  const Status two(StatusCode::kInvalidRules,
                   std::vector<Diagnostic>{{.message = "a"}, {.message = "b"}});
  CHECK(two.message() == "error: a\nerror: b");
}

TEST_CASE("Result: a value or the reason why there is none") {
  CHECK(*Half(4) == 2);
  CHECK(Half(3).status().message() == "error: odd");
  CHECK(!Half(3));
  int out = 0;
  CHECK(Twice(16, out).ok());
  CHECK(out == 4);
  CHECK(Twice(6, out).message() == "error: odd");
  CHECK(Twice(4, out).message() == "error: odd");
  Result<std::unique_ptr<int>> moved = std::make_unique<int>(7);
  const std::unique_ptr<int> taken = *std::move(moved);
  CHECK(*taken == 7);
}

TEST_CASE("Id: distinct types, invalid by default, usable as keys") {
  static_assert(!std::is_same_v<NodeId, ValueId>);
  CHECK(!NodeId().valid());
  CHECK(NodeId(3u) < NodeId(4u));
  std::unordered_set<NodeId> set = {NodeId(1u), NodeId(2u), NodeId(1u)};
  CHECK(set.size() == 2);
}

TEST_CASE("FunctionRef: calls what it refers to") {
  int sum = 0;
  const auto add = [&](int n) { return sum += n; };
  const FunctionRef<int(int)> ref = add;
  CHECK(ref(2) == 2);
  CHECK(ref(3) == 5);
  const FunctionRef<int(int)> copy = ref;
  CHECK(copy(1) == 6);
}

}  // namespace
}  // namespace qrewrite
