#include "engine/debug/sqnr.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <random>

namespace qrewrite {
namespace {

using Values = std::vector<double>;

Sqnr Of(const Values& reference, const Values& actual, Channels channels = {}, bool ort = false) {
  SqnrSum sum;
  REQUIRE(sum.Add(reference, actual, channels));
  return sum.Get(ort);
}

TEST_CASE("Sqnr: a difference that is known") {
  const Sqnr sqnr = Of({1, 2, 3, 4}, {1.1, 2.1, 2.9, 3.9});
  CHECK(sqnr.status == SqnrStatus::kOk);
  CHECK(*sqnr.db == doctest::Approx(10 * std::log10(30 / 0.04)));
}

TEST_CASE("Sqnr: what is no number has a status") {
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInf = std::numeric_limits<double>::infinity();
  struct {
    Values reference, actual;
    SqnrStatus status;
  } const cases[] = {
      {{1, 2}, {1, 2}, SqnrStatus::kIdentical},    {{0, 0}, {0, 0}, SqnrStatus::kZeroSignal},
      {{0, 0}, {1, 0}, SqnrStatus::kZeroSignal},   {{1, kNaN}, {1, 2}, SqnrStatus::kNonFinite},
      {{1, 2}, {1, kInf}, SqnrStatus::kNonFinite}, {{kInf, 2}, {kInf, 2}, SqnrStatus::kNonFinite},
      {{1, 2}, {0, 0}, SqnrStatus::kOk},
  };
  for (const auto& [reference, actual, status] : cases) {
    const Sqnr sqnr = Of(reference, actual);
    CHECK(sqnr.status == status);
    CHECK(sqnr.db.has_value() == (status == SqnrStatus::kOk));
  }
  CHECK(SqnrSum().Get(false).status == SqnrStatus::kNoReference);
}

TEST_CASE("Sqnr: ONNX Runtime clamps instead") {
  CHECK(*Of({1, 0}, {1, 0}, {}, true).db == doctest::Approx(313.07).epsilon(1e-4));
  CHECK(*Of({0, 0}, {1, 0}, {}, true).db == doctest::Approx(-313.07).epsilon(1e-4));
  CHECK(*Of({0, 0}, {0, 0}, {}, true).db == 0);
  CHECK_FALSE(Of({NAN}, {1}, {}, true).db.has_value());
}

TEST_CASE("Sqnr: energies of samples are added, not decibels") {
  SqnrSum sum;
  CHECK(sum.Add(Values{100}, Values{101}, {}));
  CHECK(sum.Add(Values{1}, Values{0}, {}));
  CHECK(*sum.Get(false).db == doctest::Approx(10 * std::log10(10001.0 / 2)));
}

TEST_CASE("Sqnr: sizes that differ add nothing") {
  SqnrSum sum;
  CHECK_FALSE(sum.Add(Values{1, 2}, Values{1}, {}));
  CHECK(sum.empty());
}

TEST_CASE("Sqnr: channels: the worst, a dead one, one without a signal") {
  // [2, 4, 2]: channel 1 is lost, channel 2 is 0, channel 3 is exact.
  Values reference, actual;
  for (int n = 0; n < 2; ++n) {
    for (const auto& [r, a] : {std::pair(10.0, 10.5), {1.0, 0.0}, {0.0, 0.0}, {4.0, 4.0}}) {
      reference.insert(reference.end(), 2, r);
      actual.insert(actual.end(), 2, a);
    }
  }
  const Channels channels = Channels::Of({2, 4, 2}, 1);
  CHECK(channels.count == 4);
  CHECK(channels.inner == 2);
  const Sqnr sqnr = Of(reference, actual, channels);
  CHECK(*sqnr.min_channel == 0);
  CHECK(sqnr.worst_channel == 1);
  CHECK(sqnr.zeroed_channels == 1);
  CHECK(*sqnr.median_channel == doctest::Approx(10 * std::log10(400) / 2));
  CHECK(*sqnr.db == doctest::Approx(10 * std::log10((100 + 1 + 16) / (0.25 + 1))));
}

TEST_CASE("Sqnr: axes count from the end, too; there may be none") {
  CHECK(Channels::Of({2, 3, 5}, -1).count == 5);
  CHECK(Channels::Of({2, 3, 5}, -3).inner == 15);
  CHECK(Channels::Of({2, 3, 5}, 3).count == 0);
  CHECK(Channels::Of({}, 0).count == 0);
}

TEST_CASE("Sqnr: the worst block") {
  SqnrSum sum;
  const Values reference{1, 1, 10, 10, 1, 1}, actual{1, 1, 10, 11, 1, 0.5};
  CHECK(sum.Add(reference, actual, {}));
  sum.AddBlocks(reference, actual, 2, 6, 1);
  CHECK(*sum.Get(false).min_block == doctest::Approx(10 * std::log10(2 / 0.25)));
}

TEST_CASE("Sqnr: by channels and as a whole is the same") {
  std::mt19937 bits(1);
  std::normal_distribution<double> normal;
  Values reference(60), actual(60);
  for (double& v : reference) v = normal(bits);
  for (size_t i = 0; i < actual.size(); ++i) actual[i] = reference[i] + normal(bits) / 50;
  CHECK(*Of(reference, actual).db ==
        doctest::Approx(*Of(reference, actual, Channels::Of({3, 4, 5}, 1)).db));
}

}  // namespace
}  // namespace qrewrite
