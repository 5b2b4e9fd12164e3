// Teller: tells who called how far a proof is, and asks whether it goes on.
#pragma once

#include <chrono>
#include <string_view>

#include "qrewrite/prove.h"

namespace qrewrite {

class Teller {
 public:
  // `options` outlives this object.
  Teller(const ProveOptions& options, int rules) : options_(options), rules_(rules) {}

  // Between two graphs of a rule. Not ok: the proof ends with that. ProveOptions::progress is called where the rule
  // `begins` its turn, and else as often as somebody can see.
  Status Ask(const ProvenRule& rule, bool begins);
  // Whether it ends here, with what it has found.
  bool stopped() const { return stopped_; }
  void RuleIsThrough() { ++done_; }

 private:
  const ProveOptions& options_;
  const int rules_;
  int done_ = 0;
  bool stopped_ = false;
  std::chrono::steady_clock::time_point next_;
};

}  // namespace qrewrite
