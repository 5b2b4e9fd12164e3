// What a rule set has for itself (`qr.Name`) or writes for a back end, as operators that runtimes have: what its
// `signatures:` say that these operators compute (`computes:`). So states between two rewrites can be run.
#pragma once

#include <memory>

#include "qrewrite/model.h"
#include "qrewrite/rules.h"
#include "qrewrite/status.h"

namespace qrewrite {

class Program;

class Spelling {
 public:
  // REQUIRES: `rules` outlive this. Of rules that were loaded without tests nothing is known.
  explicit Spelling(const Rules& rules);

  // Replaces the operators of `model`; others, and those of which nothing is said, stay. An error leaves the
  // model between two states.
  Status Apply(Model& model) const;

 private:
  const Rules& rules_;
  std::shared_ptr<const Program> semantics_;  // null: nothing is said
};

}  // namespace qrewrite
