// MatchTrace: how far a search for a match came, and what stopped it where it came furthest: over all
// orders of operands, alternatives and readers. Of equals the first counts: operands as they are
// written, before they are swapped.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/match/frame.h"

namespace qrewrite {

struct MatchTrace {
  // How much of the pattern was matched: nodes, names and literals, and whether a condition stopped
  // it. A replacement that is not possible is further than any pattern.
  static constexpr int kOfCondition = 2, kPerPart = 4, kRejected = 1 << 28, kApplies = 1 << 29;

  // --- what is asked
  NodeId watched;        // the node that this is about, if valid
  bool details = false;  // steps, frame and condition are wanted

  // --- the answer
  // How much `watched` had to do with it: a statement accepted it, it was refused, it was not there.
  enum class Part { kNone, kRefused, kMatched };
  Part part = Part::kNone;
  int depth = -1;  // -1: nothing was tried
  Place place;     // in the rule file; of a rejected replacement nowhere
  NodeId node;     // where the search stood; may be none
  std::string reason;
  size_t matched = 0;  // nodes

  struct Step {  // a call of a pattern, and the node that it matched
    const Expr* call;
    NodeId node;
  };
  std::vector<Step> steps;     // in the order of the search
  std::optional<Frame> names;  // what the names of the rule were bound to
  std::optional<Frame>
      frame;         // what the names of `condition` were bound to: of a rule, or of a case
  CodeId condition;  // what was not met; invalid: a part of the pattern

  bool rejected() const { return depth == kRejected; }
  bool applies() const { return depth == kApplies; }  // nothing stopped the rule
  bool of_condition() const { return depth >= 0 && depth % kPerPart == kOfCondition; }
  // Whether it went further than `other`, where a search that comes by the watched node goes before
  // one that does not.
  bool Beats(const MatchTrace& other) const {
    return std::pair(part, depth) > std::pair(other.part, other.depth);
  }
};

// A step on the way from a condition to what it rests on: a fact, the case that was chosen or came
// nearest, what stopped that.
struct FactStep {
  std::string text;
  Place place;
};

}  // namespace qrewrite
