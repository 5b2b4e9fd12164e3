// Observer: is told what a run does while it does it, and may end it (RewriteOptions::observer).
//
//   class Progress : public qrewrite::Observer {
//     Answer OnProgress(const qrewrite::ProgressEvent& event) override {
//       bar_.Set(event.done, event.total);
//       return stop_button_.pressed() ? Answer::kCancel : Answer::kContinue;
//     }
//   };
//
// Calls come from the thread that called Rewrite(), in an order that depends on the model and the
// rules alone. Views in events are valid during the call only. An observer must not use the model
// that is being rewritten. What it throws ends the run with kCallback.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace qrewrite {

// A node as it is, or was when a rule matched it.
struct NodeView {
  std::string op;                                 // "Conv", "com.microsoft.QGemm"
  std::string_view name;                          // may be empty
  std::vector<std::string_view> inputs, outputs;  // names of values; "": absent
};

// A phase of a rule set begins or ends. Those of a rule set that a phase uses lie inside of it.
struct PhaseEvent {
  std::string_view set;
  std::string_view phase;  // its name
  bool ends = false;
  int64_t rewrites = 0;  // of the run, so far
};

// A sweep over the nodes begins or ends. A phase of rules sweeps until a sweep fires nothing.
struct SweepEvent {
  std::string_view set;
  std::string_view phase;
  int number = 1;  // in this phase, from 1
  bool ends = false;
  int64_t nodes = 0;  // that it visits, without those that rules make meanwhile
  int64_t fired = 0;  // in this sweep, so far
};

// Comes every 256 nodes of a phase that visits nodes.
struct ProgressEvent {
  std::string_view set;
  std::string_view phase;
  int64_t done = 0, total = 0;  // nodes of this sweep
  int64_t rewrites = 0;         // of the run, so far
};

// What a name of a rule stood for: "`w` = float[2] [1, 2]", "INT8", "[1, 3, 224, 224]".
struct BindingText {
  std::string name, text;
};

// A rule fired.
struct FiringEvent {
  std::string_view set;
  std::string_view rule;
  std::string_view file;  // where the rule stands
  int line = 0;
  int64_t number = 0;  // of the rewrites of the run, from 1; 0 of one that changed nothing
  std::vector<NodeView> matched;  // as they were before, in the order of the search
  // Producers first; none: the rule warns or refuses, or equal nodes were there.
  std::vector<NodeView> created;
  // Unless WantsText, "": the matched nodes as text, and those that make their values from now on.
  std::string_view before, after;
  // Unless WantsText, none: those that make their values from now on; what stands next to the nodes,
  // a few of each value, before and after; and which of the inputs of all these are constants.
  std::vector<NodeView> makers, near_before, near_after;
  std::vector<std::string_view> constants;
  // Unless WantsText, none: names of the match, then those of `let`.
  std::vector<BindingText> bindings;
};

class Observer {
 public:
  enum class Answer {
    kContinue,
    kStop,    // the run ends here, without an error: RewriteOptions::stop_after
    kCancel,  // the run ends with kCancelled
  };

  virtual ~Observer();
  virtual Answer OnPhase(const PhaseEvent& event);
  virtual Answer OnSweep(const SweepEvent& event);
  virtual Answer OnProgress(const ProgressEvent& event);
  // Whether OnFiring wants to know in words what the next firing of `rule` changes. Asked before the
  // graph changes; also for a match that is then rejected.
  virtual bool WantsText(std::string_view rule);
  virtual Answer OnFiring(const FiringEvent& event);
  // What an error calls the one that has just thrown an exception: "the observer".
  virtual std::string_view Name() const noexcept;
};

}  // namespace qrewrite
