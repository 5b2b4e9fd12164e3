// Trial: what became of one graph.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/evaluate/open_sizes.h"
#include "engine/prove/calibrated.h"
#include "engine/prove/promise.h"

namespace qrewrite {

struct Trial {
  enum class Fate {
    kInvalid,  // the graph is no model that runs
    kQuiet,    // nothing fired
    kHeld,     // the promise was kept
    kUnknown,  // it cannot be told: no evaluator has the operators, or the two disagree
    kBroken,   // the promise was not kept
  };
  Fate fate = Fate::kInvalid;
  std::string why;
  std::vector<std::string> fired;  // rules
  double margin = 0;               // Comparison::margin; it counts only without an excuse
  Excuse excuse =
      Excuse::kNone;  // of numbers that were held to less than the weakest rule promises
  Promise::Kind promised = Promise::Kind::kNone;  // by the weakest rule,
  double limit = 0;                               // and how much
  bool disputed = false;                          // unknown because the two evaluators disagree
  bool by_runtime = false;  // broken by numbers of the runtime alone: the kernels lack an operator
  bool by_numbers = false;  // broken by those of the kernels
  bool of_data = false;     // the promise is one about data that quantizers were made for
  size_t distinct = 0;      // numbers that the original made
  std::map<std::string, Spread> spreads;  // what outputs were, if it is one about such data,
  std::set<std::string> keeps;            // and those that keep it, where others do not
  uint64_t kind = 0;                      // KindOf() the graph
  // What types the inputs had at run time, each combination once; all values where the promise broke.
  std::set<SizedTypes> types;

  void Set(Fate its, std::string reason) {
    fate = its;
    why = std::move(reason);
  }
};

}  // namespace qrewrite
