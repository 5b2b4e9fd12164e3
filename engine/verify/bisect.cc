// Bisect(): which rewrite made a wrong model. States that no runtime takes are stepped over. A run that a wrong
// rewrite led into an error has its states, too.
#include <algorithm>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "engine/base/diagnostics.h"
#include "engine/base/lines.h"
#include "engine/base/message.h"
#include "engine/verify/spelled.h"
#include "qrewrite/verify.h"

namespace qrewrite {
namespace {

// Keeps what one firing said of itself.
class Witness : public Observer {
 public:
  Witness(int64_t number, BisectReport& report) : number_(number), report_(report) {}

  bool WantsText(std::string_view) override { return true; }
  Answer OnFiring(const FiringEvent& event) override {
    if (event.number != number_) return Answer::kContinue;
    report_.set = event.set;
    report_.rule = event.rule;
    report_.file = event.file;
    report_.line = event.line;
    report_.before = event.before;
    report_.after = event.after;
    return Answer::kStop;
  }

 private:
  int64_t number_;
  BisectReport& report_;
};

// Ends a run behind a firing: also where no other would follow and the run fails behind its last one.
class Brake : public Observer {
 public:
  explicit Brake(int64_t number) : number_(number) {}
  Answer OnFiring(const FiringEvent& event) override {
    return event.number == number_ ? Answer::kStop : Answer::kContinue;
  }

 private:
  int64_t number_;
};

class Bisection {
 public:
  Bisection(const Model& model, const Rules& rules, const RewriteOptions& rewriting,
            Evaluator& evaluator, const VerifyOptions& options)
      : model_(model),
        rules_(rules),
        rewriting_(rewriting),
        evaluator_(evaluator),
        options_(options),
        spelling_(rules) {}

  Result<BisectReport> Run() {
    BisectReport report;
    QR_ASSIGN_OR_RETURN(original_, model_.Clone());
    QR_RETURN_IF_ERROR(spelling_.ApplyIfUsed(*original_).status());
    QR_ASSIGN_OR_RETURN(Model last, model_.Clone());
    Report whole;
    RewriteOptions noting = rewriting_;
    noting.failed = &whole;
    Result<Report> run = Rewrite(last, rules_, noting);
    if (!run.ok()) return AfterFailure(run.status(), whole.rewrites);
    report.rewrites = run->rewrites;
    QR_ASSIGN_OR_RETURN(report.comparison, Compare(last, *run));
    if (report.comparison.verdict != Verdict::kDiverged) return report;
    report.bad = report.rewrites;
    Narrow(report);
    QR_RETURN_IF_ERROR(Describe(report));
    return report;
  }

 private:
  // The run did not come to its end. If a rewrite in front of that is bad, it may have led there; else the
  // error is all there is to say.
  Result<BisectReport> AfterFailure(const Status& error, int64_t rewrites) {
    // What is refused behind a state has nothing to do with it.
    rewriting_.allow_partial = true;
    rewriting_.strict = false;
    BisectReport report{.rewrites = rewrites, .bad = rewrites + 1};
    Narrow(report);
    if (report.bad > rewrites) return error;
    report.error = Message(error);
    QR_RETURN_IF_ERROR(Describe(report));
    return report;
  }

  void Narrow(BisectReport& report) {
    while (const std::optional<int64_t> next = Next(report.good, report.bad)) {
      Result<VerifyReport> comparison = CompareAfter(*next);
      if (!comparison.ok()) {
        untestable_.push_back(*next);
      } else if (comparison->verdict == Verdict::kDiverged) {
        report.bad = *next;
        report.comparison = *std::move(comparison);
      } else {
        report.good = *next;
      }
    }
  }

  Status Describe(BisectReport& report) {
    QR_ASSIGN_OR_RETURN(Model again, model_.Clone());
    Witness witness(report.bad, report);
    RewriteOptions watched = rewriting_;
    watched.observer = &witness;
    return Rewrite(again, rules_, watched).status();
  }

  // Most states that are stepped over: a rule set whose own operators stay till its end leaves none to test.
  static constexpr size_t kMostUntestable = 32;

  // The state nearest to the middle that was not tried; nullopt: there is none between.
  std::optional<int64_t> Next(int64_t good, int64_t bad) const {
    if (untestable_.size() >= kMostUntestable) return std::nullopt;
    const int64_t middle = good + (bad - good) / 2;
    for (int64_t distance = 0; distance <= bad - good; ++distance) {
      for (const int64_t at : {middle - distance, middle + distance}) {
        if (at > good && at < bad && std::ranges::find(untestable_, at) == untestable_.end())
          return at;
      }
    }
    return std::nullopt;
  }

  Result<VerifyReport> CompareAfter(int64_t rewrites) {
    QR_ASSIGN_OR_RETURN(Model state, model_.Clone());
    Brake brake(rewrites);
    RewriteOptions stopped = rewriting_;
    stopped.stop_after = rewrites;
    stopped.observer = &brake;
    QR_ASSIGN_OR_RETURN(const Report run, Rewrite(state, rules_, stopped));
    return Compare(state, run);
  }

  // The rule set's own operators are run as what they compute, and integers of the interface stand for what the
  // run says.
  Result<VerifyReport> Compare(Model& state, const Report& run) const {
    QR_RETURN_IF_ERROR(spelling_.Apply(state).status());
    VerifyOptions options = options_;
    options.units.insert(run.units.begin(), run.units.end());
    return Verify(*original_, state, evaluator_, options);
  }

  const Model& model_;
  std::optional<Model> original_;  // the same as it is run
  const Rules& rules_;
  RewriteOptions rewriting_;
  Evaluator& evaluator_;
  const VerifyOptions& options_;
  const Spelling spelling_;
  std::vector<int64_t> untestable_;
};

}  // namespace

Result<BisectReport> Bisect(const Model& model, const Rules& rules, const RewriteOptions& rewriting,
                            Evaluator& evaluator, const VerifyOptions& options) {
  return Bisection(model, rules, rewriting, evaluator, options).Run();
}

std::string BisectReport::Text() const {
  if (bad == 0) return fmt::format("none of {} rewrites is bad\n", rewrites);
  std::string text;
  if (!error.empty()) {
    text = fmt::format("the run ends behind {}: {}\n", Plural(rewrites, "rewrite"), error);
  }
  if (bad - good > 1) {
    text += fmt::format(
        "the first bad rewrite is one of {} to {} of {}: the states between hold operators that "
        "the rule "
        "set has for itself, and cannot be run. Rewrite {}:\n",
        good + 1, bad, rewrites, bad);
  } else {
    text += fmt::format("rewrite {} of {} is the first bad one:\n", bad, rewrites);
  }
  if (rule.empty()) return text + "  it is made by a phase, not by a rule\n";
  text += fmt::format("  rule `{}` of {} ({}:{})\nbefore:\n", rule, set, file, line);
  return text + Indented(before, 2) + "after:\n" + Indented(after, 2);
}

}  // namespace qrewrite
