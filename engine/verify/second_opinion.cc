#include "engine/verify/second_opinion.h"

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "engine/base/message.h"
#include "engine/evaluate/probe.h"
#include "engine/verify/steps.h"
#include "qrewrite/rewrite.h"
#include "qrewrite/rules.h"

namespace qrewrite {
namespace {

constexpr double kRoundingDb = 100;
// What is called a rounding, of what a tolerance allows.
constexpr double kLeastRoundingDb = 60;

using Names = std::set<std::string>;

struct Runs {
  Tensors a, b;
};

Result<Runs> RunBoth(const Model& a, const Model& b, Evaluator& second,
                     const VerifyReport& report) {
  QR_ASSIGN_OR_RETURN(const std::unique_ptr<Session> session_a, second.Load(a));
  QR_ASSIGN_OR_RETURN(const std::unique_ptr<Session> session_b, second.Load(b));
  Runs runs;
  QR_ASSIGN_OR_RETURN(runs.a, session_a->Run(report.worst_inputs));
  const Tensors inputs_b(report.worst_inputs_b.begin(), report.worst_inputs_b.end());
  QR_ASSIGN_OR_RETURN(runs.b, session_b->Run(inputs_b));
  return runs;
}

void NoteSilence(const Status& status, VerifyReport& report) {
  report.notes.push_back(fmt::format("no second opinion: {}", Message(status)));
}

// How far the runtimes are apart about `a`, by output.
Result<std::map<std::string, double>> ApartAboutFirst(const Model& a, Evaluator& first,
                                                      Evaluator& second,
                                                      const VerifyReport& report) {
  QR_ASSIGN_OR_RETURN(const std::vector<Disagreement> found,
                      FindDisagreements(a, report.worst_inputs, first, second, {},
                                        std::numeric_limits<double>::infinity()));
  std::map<std::string, double> apart;
  for (const Disagreement& d : found) apart.emplace(d.value, d.sqnr_db);
  return apart;
}

// Whether the second runtime makes the same of both models in this output.
bool IsSame(const std::string& name, const std::string& name_in_b, const Runs& runs,
            const CompareOutput& compare) {
  const auto a = runs.a.find(name), b = runs.b.find(name_in_b);
  if (a == runs.a.end() || b == runs.b.end()) return false;
  const Result<OutputComparison> compared = compare(name, a->second, b->second);
  return compared.ok() &&
         (compared->verdict == Verdict::kExact || compared->verdict == Verdict::kWithin);
}

// The same model with products that no runtime cuts off; nullopt: it has none that one might.
Result<std::optional<Model>> WithUnsignedWeights(const Model& model) {
  QR_ASSIGN_OR_RETURN(const Rules rules, Rules::Load("unsigned_weights", {.tests = false}));
  QR_ASSIGN_OR_RETURN(Model copy, model.Clone());
  QR_ASSIGN_OR_RETURN(const Report report, Rewrite(copy, rules));
  std::optional<Model> changed;
  if (report.changed) changed.emplace(std::move(copy));
  return changed;
}

// Does `first` cut off sums of products, and tell the models apart by that alone?
Status HearUnsigned(const Model& a, const Model& b, Evaluator& first, const Pairing& pairs,
                    const CompareOutput& compare, VerifyReport& report, Names& same) {
  QR_ASSIGN_OR_RETURN(const bool exact, HasExactIntegerProducts(first));
  if (exact) return {};
  QR_ASSIGN_OR_RETURN(const std::optional<Model> a2, WithUnsignedWeights(a));
  QR_ASSIGN_OR_RETURN(const std::optional<Model> b2, WithUnsignedWeights(b));
  if (!a2 && !b2) return {};
  QR_ASSIGN_OR_RETURN(const Runs runs, RunBoth(a2 ? *a2 : a, b2 ? *b2 : b, first, report));
  for (OutputComparison& output : report.outputs) {
    if (output.verdict != Verdict::kDiverged) continue;
    if (!IsSame(output.name, pairs.NameInB(output.name), runs, compare)) continue;
    same.insert(output.name);
    output.verdict = Verdict::kInconclusive;
    output.why = fmt::format(
        "{} saturates sums of 8 bit products on this processor; it cannot tell "
        "the two apart where it does not",
        first.Name());
  }
  return {};
}

// Differences that a quantizer made of roundings. Where the tolerance does not allow the roundings themselves, `second`
// must find nothing.
Status HearSteps(const Model& a, const Model& b, Evaluator& first, Evaluator& second,
                 const Pairing& pairs, const CompareOutput& compare, VerifyReport& report,
                 Names& same) {
  const bool allowed = report.tolerance.kind == Tolerance::Kind::kSqnr;
  const double limit =
      allowed ? std::clamp(report.tolerance.limit, kLeastRoundingDb, kRoundingDb) : kRoundingDb;
  QR_ASSIGN_OR_RETURN(const OtherSteps steps, FindOtherSteps(a, b, first, pairs, report, limit));
  if (steps.outputs.empty()) return {};
  Runs runs;
  if (!allowed) {
    QR_ASSIGN_OR_RETURN(runs, RunBoth(a, b, second, report));
  }
  for (OutputComparison& output : report.outputs) {
    if (output.verdict != Verdict::kDiverged || !steps.outputs.contains(output.name)) continue;
    if (!allowed) {
      if (!IsSame(output.name, pairs.NameInB(output.name), runs, compare)) continue;
      same.insert(output.name);
    }
    output.verdict = Verdict::kInconclusive;
    output.why =
        fmt::format("from {} on: roundings in front of it ({:.0f} dB or more) made other steps",
                    steps.node, limit);
  }
  return {};
}

}  // namespace

Names HearSecond(const Model& a, const Model& b, Evaluator& first, Evaluator& second,
                 const Pairing& pairs, const CompareOutput& compare, VerifyReport& report) {
  Names same;
  const auto diverged = [](const OutputComparison& output) {
    return output.verdict == Verdict::kDiverged;
  };
  const auto settle = [](OutputComparison& output, std::string why) {
    output.verdict = Verdict::kInconclusive;
    output.why = std::move(why);
  };
  const Result<std::map<std::string, double>> apart = ApartAboutFirst(a, first, second, report);
  if (!apart.ok()) {
    const Status status = HearUnsigned(a, b, first, pairs, compare, report, same);
    if (!status.ok() || std::ranges::any_of(report.outputs, diverged)) {
      NoteSilence(apart.status(), report);
    } else {
      report.verdict = Verdict::kInconclusive;
    }
    return same;
  }
  // What a runtime is further off with the first model than the tolerance allows is no measure of the second.
  const auto unsure = [&](const OutputComparison& output) {
    const auto theirs = apart->find(output.name);
    return theirs != apart->end() && report.tolerance.kind == Tolerance::Kind::kSqnr &&
           theirs->second < report.tolerance.limit;
  };
  bool ask = false;
  for (OutputComparison& output : report.outputs) {
    if (!diverged(output)) continue;
    const auto theirs = apart->find(output.name);
    if (theirs != apart->end() && theirs->second <= output.sqnr_db) {
      settle(output, fmt::format("the runtimes disagree about the first model ({:.1f} dB)",
                                 theirs->second));
    }
    ask |= diverged(output) && (output.sqnr_db >= kRoundingDb || unsure(output));
  }
  if (ask) {
    const Result<Runs> runs = RunBoth(a, b, second, report);
    if (!runs.ok()) NoteSilence(runs.status(), report);
    for (OutputComparison& output : report.outputs) {
      if (!runs.ok() || !diverged(output)) continue;
      if (output.sqnr_db < kRoundingDb && !unsure(output)) continue;
      if (!IsSame(output.name, pairs.NameInB(output.name), *runs, compare)) continue;
      same.insert(output.name);
      if (output.sqnr_db < kRoundingDb) {
        settle(output, fmt::format("the runtimes disagree about the first model ({:.1f} dB); {} "
                                   "cannot tell the two apart",
                                   apart->at(output.name), second.Name()));
        continue;
      }
      settle(output, fmt::format("{} rounds otherwise ({:.1f} dB); {} cannot tell them apart",
                                 first.Name(), output.sqnr_db, second.Name()));
    }
  }
  if (std::ranges::any_of(report.outputs, diverged)) {
    // Without numbers from inside the verdict stays as it is.
    (void)HearSteps(a, b, first, second, pairs, compare, report, same).ok();
  }
  if (std::ranges::any_of(report.outputs, diverged))
    (void)HearUnsigned(a, b, first, pairs, compare, report, same).ok();
  if (std::ranges::none_of(report.outputs, diverged)) report.verdict = Verdict::kInconclusive;
  return same;
}

}  // namespace qrewrite
