// Explainer: asks a run why rules fire or do not fire: before each phase and after it, when its rules
// have come to an end.
//
// External interface: ExplainRules().
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/driver/driver.h"
#include "engine/match/trace.h"
#include "engine/rule/ast.h"
#include "qrewrite/explain.h"

namespace qrewrite {

class RuleRun;

// Runs the rules on `graph`, which is changed. See Explain().
Result<Explanation> ExplainRules(Graph& graph, const Program& program,
                                 const ExplainOptions& options, const RunContext& context);

// `node` and at most `most` nodes around it, nearest first.
std::vector<NodeId> NodesAround(const Graph& graph, NodeId node, int reach, size_t most);

// What stands at a place of a rule file, in one line.
std::string TextAt(const Place& place);
// Where a rule says what it puts there.
Place ReplacementOf(const Rule& rule);
// "y = Mul(r, half)".
std::string NodeLine(const Graph& graph, NodeId n);

// A run shows it what it does, and what it has.
class Explainer : public Observer {
 public:
  Explainer(const Graph& graph, const Program& program, const ExplainOptions& options,
            Explanation& told);

  // Finds the node or value that is asked for. kUsage: there is none.
  Status FindSubject();
  // Called by the run.
  void PhaseBegins(RuleRun& run, const Phase& phase);
  void PhaseEnds(RuleRun& run, const Phase& phase);
  void PhaseSkipped(const RuleSet& rules, const Phase& phase, const std::string& why);
  // What is said of the run as a whole. REQUIRES: the run is over.
  void Finish();

  Answer OnFiring(const FiringEvent& event) override;
  bool WantsText(std::string_view rule) override;

 private:
  struct Candidate {
    Attempt attempt;
    MatchTrace trace;  // of the search, for comparing
  };

  using SetAndRule = std::pair<std::string, std::string>;

  bool Wanted(const std::string& rule) const;
  bool Asks() const { return !options_.at.empty(); }
  bool IsSubject(const NodeView& node) const;
  std::string WhyNotTried(RuleRun& run, const Phase& phase, const Rule& rule) const;
  void Tabulate(RuleRun& run, const Phase& phase);
  void TabulateRule(RuleRun& run, const Rule& rule, RuleOutcome& row);
  void AttemptAll(RuleRun& run, const Phase& phase, bool before);
  void AttemptRule(RuleRun& run, const Phase& phase, const Rule& rule, bool before);
  Attempt ToAttempt(RuleRun& run, const Rule& rule, NodeId anchor, MatchTrace& trace) const;
  void Keep(Candidate candidate);

  const Graph& graph_;
  const Program& program_;
  const ExplainOptions& options_;
  Explanation& told_;

  std::vector<NodeId> subjects_;  // the node; or who reads the value
  std::string name_, output_;     // of the node
  bool is_node_ = false;
  std::string gone_;
  std::vector<Candidate> candidates_;
  std::map<SetAndRule, size_t> kept_;     // in candidates_
  std::map<std::string, int64_t> fired_;  // by rule, in the phase under way
  std::set<SetAndRule> seen_;             // rules that had a phase
  int64_t tries_ = 0;
};

}  // namespace qrewrite
