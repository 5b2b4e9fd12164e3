// The report of a verification as a table for people and as JSON for machines.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "engine/base/diagnostics.h"
#include "engine/base/lines.h"
#include "engine/base/real.h"
#include "engine/tensor/dtype.h"
#include "engine/verify/report_text.h"
#include "qrewrite/verify.h"

namespace qrewrite {
namespace {

using Json = nlohmann::ordered_json;

std::string DecibelText(double db) {
  if (std::isinf(db)) return db > 0 ? "identical" : "no signal";
  return fmt::format("{:.1f} dB", db);
}

// Where one side alone is a number nothing says how far apart they are.
std::string DecibelText(const OutputComparison& o) {
  return o.not_numbers > 0 ? "-" : DecibelText(o.sqnr_db);
}

std::string Worst(const OutputComparison& o) {
  return fmt::format("  largest difference of `{}`: {:.9g} and {:.9g} at [{}] of sample {}\n",
                     Printable(o.name), o.worst_a, o.worst_b, fmt::join(o.worst_index, ", "),
                     o.worst_sample);
}

// `digits` digits that say no less than `value`.
std::string RoundedUp(double value, int digits) {
  const std::string near = fmt::format("{:.{}g}", value, digits);
  if (value <= 0 || !std::isfinite(value) || RealOf(near) >= value) return near;
  const double step = std::pow(10, std::floor(std::log10(value)) - (digits - 1));
  return fmt::format("{:.{}g}", (std::floor(value / step) + 1) * step, digits);
}

// The tightest tolerances that the output would pass. Decibels only where the tolerance is in decibels: it has other
// samples, none of which are beyond the ranges of quantizers.
std::string Needed(const OutputComparison& o, const Tolerance& tolerance) {
  std::string text = "0," + RoundedUp(o.max_abs, 3);
  if (o.max_ulp) text += fmt::format("; ulp:{:.0f}", *o.max_ulp);
  if (IsInteger(static_cast<DType>(o.dtype_a))) {
    const double rate =
        static_cast<double>(o.unequal) / static_cast<double>(std::max<int64_t>(o.elements, 1));
    text += fmt::format("; lsb:{:.0f}@{}", std::ceil(o.max_abs), RoundedUp(rate, 2));
  }
  if (std::isfinite(o.sqnr_db) && tolerance.kind == Tolerance::Kind::kSqnr)
    text += fmt::format("; sqnr:{:.1f}", std::floor(o.sqnr_db * 10) / 10);
  return text;
}

// JSON has no infinity: null, and the verdict says which.
Json Number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json OutputJson(const OutputComparison& o) {
  // Numbers of the samples with one shape alone would speak of another output.
  const auto number = [&](double value) { return o.other_shape ? Json(nullptr) : Number(value); };
  Json json = {{"output", o.name},
               {"verdict", Name(o.verdict)},
               {"why", o.why},
               {"elements", o.elements},
               {"unequal", o.unequal},
               {"other_shape", o.other_shape},
               {"not_numbers", o.not_numbers},
               {"max_abs", number(o.max_abs)},
               {"max_rel", number(o.max_rel)},
               {"max_ulp", o.max_ulp ? number(*o.max_ulp) : Json(nullptr)},
               {"sqnr_db", Number(o.sqnr_db)},
               {"cosine", number(o.cosine)},
               {"noise_db", o.noise_db ? Number(*o.noise_db) : Json(nullptr)},
               {"rows", o.rows},
               {"same_argmax", o.same_argmax}};
  if (o.unequal > 0 && !o.other_shape) {
    json["worst"] = {{"sample", o.worst_sample},
                     {"index", o.worst_index},
                     {"first", Number(o.worst_a)},
                     {"second", Number(o.worst_b)}};
  }
  return json;
}

}  // namespace

std::string Conclusion(const VerifyReport& report) {
  return fmt::format("{} with tolerance {}: {}, seed {}, {}", Name(report.verdict),
                     report.tolerance.Text(), Plural(report.samples, "sample"), report.seed,
                     report.evaluator);
}

std::string VerifyReport::Text() const {
  size_t width = 6;
  for (const OutputComparison& o : outputs) width = std::max(width, Printable(o.name).size());
  std::string text = fmt::format("{:<{}}  {:<12}  {:>10}  {:>10}  {:>10}  {:>10}\n", "output",
                                 width, "verdict", "SQNR", "max abs", "max rel", "unequal");
  for (const OutputComparison& o : outputs) {
    text += fmt::format("{:<{}}  ", Printable(o.name), width);
    if (o.other_shape) {  // numbers of equal shapes alone
      text += fmt::format("{}\n", Name(o.verdict));
    } else {
      text += fmt::format("{:<12}  {:>10}  {:>10.3g}  {:>10.3g}  {:>10}\n", Name(o.verdict),
                          DecibelText(o), o.max_abs, o.max_rel,
                          fmt::format("{}/{}", o.unequal, o.elements));
    }
    if (!o.why.empty()) text += fmt::format("  {}\n", o.why);
    if (o.unequal == 0 || o.other_shape) continue;
    text += Worst(o);
    if (o.not_numbers == 0) text += fmt::format("  it would pass with {}\n", Needed(o, tolerance));
    text += fmt::format("  cosine {:.6g}", o.cosine);
    if (o.rows > 0)
      text += fmt::format("; the same largest element in {} of {} rows", o.same_argmax, o.rows);
    if (o.noise_db) {
      text += std::isfinite(*o.noise_db)
                  ? fmt::format("; the first model differs from itself, optimised, by {}",
                                DecibelText(*o.noise_db))
                  : "; the first model, optimised, makes the same as before";
    }
    text += "\n";
  }
  for (const std::string& note : notes) text += fmt::format("note: {}\n", note);
  return text + Conclusion(*this) + "\n";
}

std::string VerifyReport::Json() const {
  nlohmann::ordered_json json = {{"verdict", Name(verdict)},
                                 {"tolerance", tolerance.Text()},
                                 {"evaluator", evaluator},
                                 {"samples", samples},
                                 {"seed", seed},
                                 {"outputs", nlohmann::ordered_json::array()},
                                 {"notes", notes}};
  for (const OutputComparison& o : outputs) json["outputs"].push_back(OutputJson(o));
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace qrewrite
