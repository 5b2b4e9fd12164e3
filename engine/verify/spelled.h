// What a rule set has for itself (`qr.Name`) or writes for a back end, as operators that runtimes have: what its
// `signatures:` say that these operators compute (`computes:`). So states between two rewrites can be run.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "qrewrite/model.h"
#include "qrewrite/rules.h"
#include "qrewrite/status.h"

namespace qrewrite {

class Program;

class Spelling {
 public:
  // REQUIRES: `rules` outlive this. Of rules that were loaded without tests nothing is known.
  explicit Spelling(const Rules& rules);

  // Replaces the operators of `model`; others, and those of which nothing is said, stay. Where the rule set has
  // `types: unchecked`, integers of 8 bits are floats for those that could read these. An error leaves the
  // model between two states.
  // False: `model` was fit to run, and is what it was but for what nothing reads.
  Result<bool> Apply(Model& model) const;
  // The same of a model that has such operators; false: it has none.
  Result<bool> ApplyIfUsed(Model& model) const;

 private:
  Result<bool> Replace(Model& model) const;  // whether there was anything to replace
  void ComputeWithFloats(Model& model) const;

  const Rules& rules_;
  std::shared_ptr<const Program> semantics_;  // null: nothing is said
};

// Two models to compare, spelled by all of `semantics`; nullopt: it is run as it is. Only the second one is sure to
// be made by these rules: the first one counts if it has such operators.
struct SpelledPair {
  std::optional<Model> first, second;
};
Result<SpelledPair> SpellOut(const Model& first, const Model& second,
                             const std::vector<Rules>& semantics);

}  // namespace qrewrite
