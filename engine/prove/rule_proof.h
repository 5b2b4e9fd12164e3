// RuleProof: the proof of one rule, in slices: graphs are made, tried and kept if they show something.
//
//   rule_proof.cc   which graphs are tried
//   outcome.cc      what becomes of them, and of the rule
//   settings.cc     parameters of the rule set
//   in_front.cc     what definitions look for, in front of values
//   conditions.cc   what each condition is good for
//   shrink.cc       the smallest graph that shows something
#pragma once

#include <chrono>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "engine/base/dice.h"
#include "engine/driver/rule_tests.h"
#include "engine/prove/boundaries.h"
#include "engine/prove/guards.h"
#include "engine/prove/instance.h"
#include "engine/prove/judge.h"
#include "engine/prove/seeds.h"
#include "engine/prove/teller.h"
#include "engine/prove/variation.h"
#include "qrewrite/prove.h"

namespace qrewrite {

class RuleProof {
 public:
  using Clock = std::chrono::steady_clock;

  // Referents outlive this object. `examples`: what operators of the file's seeds read. `asked`: conditions of
  // definitions that the rule asks and no test pins; tests that would are looked for.
  RuleProof(const Court& court, const ProveOptions& options, Teller& teller, const Rule& rule,
            std::vector<const Seed*> seeds, const Examples& examples, std::vector<Guard*> asked);

  // Tries so many graphs more, beginning with the seeds as they are. False: there is nothing more to do.
  // Ends at `end`, if that is given.
  bool Advance(int graphs, std::optional<Clock::time_point> end);
  ProvenRule Finish();
  // Not ok: who called asked for the end (Teller).
  const Status& interrupted() const { return interrupted_; }

 private:
  // A graph that showed something: a seed with changes.
  struct Found {
    const Seed* seed;
    std::vector<uint64_t> changes;
    Graph graph;
    uint64_t kind = 0;    // KindOf()
    size_t distinct = 0;  // Trial::distinct: where all numbers are one a fault shows nothing
  };

  // Of `fewest_`: there was no graph that several conditions stop.
  static constexpr int kNoneStopped = 1000;

  // --- rule_proof.cc
  void Learn();
  // What only refuses or warns can break no promise.
  bool Replaces() const { return compiled_.replace != nullptr || !compiled_.cases.empty(); }
  // Whether who called wants the next graph.
  bool GoesOn(bool begins = false);
  void TrySeeds();
  void LeaveOutUncalibrated();
  void AddSettings(const Seed& seed);
  // How many things may be changed in it (OneThing).
  size_t CountThings(const Seed& seed) const;
  bool Make(const Seed& seed, const std::vector<uint64_t>& changes, Graph& graph);
  bool Fired(const Trial& trial) const;
  void TryInstance(Dice& dice);
  // A graph of the pattern was none: for this reason, at a stage of how far it came.
  void NoteNoGraph(int stage, const std::string& why);
  void TryBoundary(Dice& dice);
  bool TryOtherStep(Dice& dice);
  bool IsBrokenWithOtherSteps(const Graph& graph, Task task);
  void TryOtherSteps(Graph graph, Task task);
  void TryMade(Graph graph, Task task);
  void TryChanged(Dice& dice);
  bool TryOneThing();
  bool TrySetting();
  bool TryTwoThings(Dice& dice);
  void Keep(const Seed& seed, const std::vector<uint64_t>& changes, const Graph& graph,
            size_t distinct);
  // Some graph that showed something, rather one of many numbers.
  const Found& SomeFound(const std::vector<Found>& known, Dice& dice) const;
  void TryOne(const Seed& seed, const std::vector<uint64_t>& changes, const Graph& graph);
  // The rule did not fire: how far was it from that?
  void LookNear(const Seed& seed, const std::vector<uint64_t>& changes, const Graph& graph,
                const Task& task);
  Task TaskFor(const Seed& seed) const;
  // The same for graphs that are the same, with the same rules and parameters.
  static uint64_t IdentityOf(const Graph& graph, const Task& task);
  std::map<std::string, std::string> SomeSettings(Dice& dice) const;
  void CountHeld(const Trial& trial);
  void AskTests();
  void TellFailedTest();
  void Conclude();
  // Why a rule that replaces something never fired, and what to do about it.
  std::string WhyNever() const;
  std::string WhyNoGraph() const;
  // False: it does not show again.
  bool Refute(const Seed& seed, const std::vector<uint64_t>& changes, const Graph& graph,
              const Task& task);

  // --- in_front.cc
  bool TryCaseInFront(Dice& dice);
  bool TryCaseInFrontOfNew(Dice& dice);
  void PutInFront(const Graph& graph, Task task, Dice& dice);

  // --- conditions.cc
  // What they are good for is asked of a rule that does what its tests say.
  bool AsksConditions() const { return options_.guards && !failed_; }
  void Watch(const Seed& seed, const std::vector<uint64_t>& changes, const Graph& graph,
             const Task& task, const std::vector<size_t>& alone);
  void WatchCases(const Seed& seed, const std::vector<uint64_t>& changes, const Graph& graph,
                  const Task& task);
  void PinAsked(const Seed& seed, const std::vector<uint64_t>& changes, const Graph& graph,
                const Task& task);
  void Pin(Guard& guard, const Seed& seed, const std::vector<uint64_t>& changes, const Graph& graph,
           const Task& task);
  void LeaveOut(Guard& guard, const Seed& seed, const std::vector<uint64_t>& changes,
                const Graph& graph, const Task& task);

  // --- shrink.cc
  // The smallest graph that is found which still breaks the promise, and `why`. It begins with `graph`, the seed with the
  // changes; "": that does not break it again.
  Graph Broken(const Seed& seed, const std::vector<uint64_t>& changes, const Graph& graph,
               const Task& task, CodeId assumed, std::string& why);
  // The same rules and parameters without those that the fault does not need.
  Task Least(const Task& task, const Graph& graph);
  // The smallest graph that is found of which `shows` still holds.
  Graph Shrink(const Seed& seed, std::vector<uint64_t> changes, const Graph& graph,
               FunctionRef<bool(const Graph&)> shows);

  const Court& court_;
  const ProveOptions& options_;
  Teller& teller_;
  const Rule& rule_;
  const CompiledRule& compiled_;
  std::vector<std::pair<const CompiledCase*, int>>
      asked_cases_;  // and parameters of their definitions
  std::vector<const Seed*> seeds_;
  std::vector<const Param*> asked_params_;
  const Examples& examples_;
  Judge judge_;
  Vocabulary words_;
  std::vector<Guard> guards_;
  std::vector<Guard*> asked_;
  bool begun_ = false, has_margin_ = false, has_tests_ = false;
  std::optional<RuleTestOutcome> failed_;  // of its own tests
  std::string fault_;                      // of the last graph that Make() could not make
  int64_t attempt_ = 0;
  // Graphs of the pattern that came to nothing, by stage and reason; how often conditions, by guard, were all that kept the
  // rule from firing, and whether its pattern was in a graph at all.
  std::map<std::pair<int, std::string>, int64_t> no_graphs_;
  std::map<size_t, int64_t> alone_;
  bool met_ = false;
  std::deque<Seed> instances_;  // graphs made of the pattern that showed something,
  Instance::CaseCounts
      shown_;  // and cases of definitions that those were made of on which it fired
  // Tests of the rule of which one thing after the other is changed: the next of them, and which thing.
  std::vector<const Seed*> stepped_;
  size_t next_ = 0, step_ = 0;
  // Tests of the rule with another value of a parameter that it asks; the next one is the last.
  std::vector<std::pair<const Seed*, std::pair<std::string, std::string>>> settings_;
  std::vector<std::pair<const Seed*, size_t>> things_;  // how many things each of them has
  std::vector<Found> found_;                            // graphs that showed something,
  std::vector<Found> near_;  // graphs that several conditions stopped, as few as were seen,
  int fewest_ = kNoneStopped;
  std::set<uint64_t> kinds_;            // each of another kind
  std::unordered_set<uint64_t> tried_;  // all graphs: what is changed at random comes twice
  Status interrupted_;
  ProvenRule report_;
};

}  // namespace qrewrite
