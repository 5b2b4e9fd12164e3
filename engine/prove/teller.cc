#include "engine/prove/teller.h"

#include "engine/base/callback.h"
#include "engine/base/interrupt.h"

namespace qrewrite {

Status Teller::Ask(const ProvenRule& rule, bool begins) {
  QR_RETURN_IF_ERROR(Interrupted());
  if (!options_.progress || stopped_) return {};
  const auto now = std::chrono::steady_clock::now();
  if (!begins && now < next_) return {};
  next_ = now + std::chrono::milliseconds(100);
  const ProveProgress progress{.rule = rule.name,
                               .graphs = rule.graphs,
                               .fired = rule.fired,
                               .rules_done = done_,
                               .rules = rules_};
  QR_ASSIGN_OR_RETURN(const Observer::Answer answer, CallHost("the function for progress", [&] {
                        return options_.progress(progress);
                      }));
  if (answer == Observer::Answer::kCancel)
    return {StatusCode::kCancelled, "`progress` ended the proof"};
  stopped_ = answer == Observer::Answer::kStop;
  return {};
}

}  // namespace qrewrite
