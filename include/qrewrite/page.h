// Pictures and pages to look at: two models side by side, or a run that is walked through firing by firing. Each is one
// HTML file that needs no network and no other file.
//
//   RunRecorder recorder;
//   QR_ASSIGN_OR_RETURN(const Model before, model.Clone());
//   QR_ASSIGN_OR_RETURN(const Report report, Rewrite(model, rules, {.observer = &recorder}));
//   QR_ASSIGN_OR_RETURN(const std::string html, RunPage(before, model, recorder, report, {rules}));
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "qrewrite/model.h"
#include "qrewrite/observer.h"
#include "qrewrite/rewrite.h"
#include "qrewrite/rules.h"
#include "qrewrite/status.h"

namespace qrewrite {

struct PageOptions {
  std::string before = "before", after = "after";  // what the models are called
  bool names = true;                               // as in DiffOptions
};

// Notes what a run does, for its page. May watch several runs, one after the other.
class RunRecorder : public Observer {
 public:
  explicit RunRecorder(size_t max_steps = 20000);  // further firings are counted alone
  ~RunRecorder() override;
  RunRecorder(const RunRecorder&) = delete;
  RunRecorder& operator=(const RunRecorder&) = delete;

  Answer OnPhase(const PhaseEvent& event) override;
  bool WantsText(std::string_view rule) override;
  Answer OnFiring(const FiringEvent& event) override;

  struct Impl;  // engine/page/recorder.h
  const Impl& impl() const { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

// Errors are those of Diff().
Result<std::string> DiffPage(const Model& before, const Model& after,
                             const PageOptions& options = {});
// `rules`: what ran; the page shows what their files say.
Result<std::string> RunPage(const Model& before, const Model& after, const RunRecorder& run,
                            const Report& report, const std::vector<Rules>& rules,
                            const PageOptions& options = {});

// The model, or a part of it, in the language of Graphviz. Of `options` the part counts (`node`, `around`,
// `distance`), and `types`: shapes at the edges. kUsage as of Model::Text().
Result<std::string> DotText(const Model& model, const TextOptions& options = {});

}  // namespace qrewrite
