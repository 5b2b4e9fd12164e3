// Tolerances as text and back.
#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "engine/api/rules_impl.h"
#include "engine/base/diagnostics.h"
#include "qrewrite/verify.h"

namespace qrewrite {
namespace {

std::optional<double> Number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) {
    return std::nullopt;
  }
  return value;
}

// What comes behind `word:`.
std::optional<std::string_view> Behind(std::string_view text, std::string_view word) {
  if (!text.starts_with(word)) return std::nullopt;
  return text.substr(word.size());
}

std::optional<Tolerance> ParseTolerance(std::string_view text) {
  using Kind = Tolerance::Kind;
  if (text == "exact") return Tolerance{};
  if (text == "close") return Tolerance{.kind = Kind::kClose};
  if (const auto ulp = Behind(text, "ulp:")) {
    const auto n = Number(*ulp);
    return n && *n >= 0 ? std::optional(Tolerance{.kind = Kind::kUlp, .limit = *n}) : std::nullopt;
  }
  if (const auto db = Behind(text, "sqnr:")) {
    const auto n = Number(*db);
    return n ? std::optional(Tolerance{.kind = Kind::kSqnr, .limit = *n}) : std::nullopt;
  }
  if (const auto lsb = Behind(text, "lsb:")) {
    const size_t at = lsb->find('@');
    const auto n = Number(lsb->substr(0, at));
    const auto rate = at == std::string_view::npos ? 1 : Number(lsb->substr(at + 1));
    if (!n || *n < 0 || !rate || *rate < 0 || *rate > 1) return std::nullopt;
    return Tolerance{.kind = Kind::kLsb, .limit = *n, .rate = *rate};
  }
  const size_t comma = text.find(',');
  if (comma == std::string_view::npos) return std::nullopt;
  const auto rtol = Number(text.substr(0, comma)), atol = Number(text.substr(comma + 1));
  if (!rtol || !atol || *rtol < 0 || *atol < 0) return std::nullopt;
  return Tolerance{.kind = Kind::kClose, .rtol = *rtol, .atol = *atol};
}

}  // namespace

Result<Tolerance> Tolerance::Parse(const std::string& text) {
  if (const std::optional<Tolerance> tolerance = ParseTolerance(text)) return *tolerance;
  return Status(
      StatusCode::kUsage,
      fmt::format(
          "`{}` is no tolerance; there are exact, ulp:N, lsb:N@RATE, close, RTOL,ATOL, sqnr:DB",
          Printable(text, 60)));
}

std::string Tolerance::Text() const {
  switch (kind) {
    case Kind::kExact: return "exact";
    case Kind::kUlp: return fmt::format("ulp:{}", limit);
    case Kind::kLsb:
      return rate == 1 ? fmt::format("lsb:{}", limit) : fmt::format("lsb:{}@{}", limit, rate);
    case Kind::kClose: return fmt::format("{},{}", rtol, atol);
    case Kind::kSqnr: return fmt::format("sqnr:{}", limit);
  }
  return "";
}

Tolerance ToleranceOf(const Rules& rules, const Report& report) {
  constexpr double kUlpDb = 100, kLsbDb = 30, kNothingDb = 0;
  std::optional<double> least;
  for (const RuleReport& fired : report.rules) {
    const Rule* const rule = FindRule(*rules.impl().set, fired.set, fired.rule);
    const std::string promise = rule == nullptr ? "" : rule->equivalence;
    const bool told = promise.starts_with("rescaled") && !report.units.empty();
    if (promise == "exact" || told) continue;
    double db = kNothingDb;
    if (promise.starts_with("ulp(")) db = kUlpDb;
    if (promise.starts_with("lsb(")) db = kLsbDb;
    if (const auto text = Behind(promise, "approx(")) {
      db = Number(text->substr(0, text->find("dB"))).value_or(kNothingDb);
    }
    least = std::min(least.value_or(db), db);
  }
  if (!least) return {};
  return {.kind = Tolerance::Kind::kSqnr, .limit = *least};
}

std::string_view Name(Verdict verdict) {
  switch (verdict) {
    case Verdict::kExact: return "EXACT";
    case Verdict::kWithin: return "WITHIN";
    case Verdict::kDiverged: return "DIVERGED";
    case Verdict::kInconclusive: return "INCONCLUSIVE";
  }
  return "";
}

}  // namespace qrewrite
