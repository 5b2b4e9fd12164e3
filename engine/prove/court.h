// Court: what all trials of a rule set have in common, and what is run in one of them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "engine/driver/driver.h"
#include "engine/prove/own_operands.h"
#include "engine/prove/runtime_apart.h"
#include "qrewrite/evaluator.h"
#include "qrewrite/rules.h"

namespace qrewrite {

// Referents outlive the judges.
struct Court {
  const Program& program;
  const Program* semantics;  // of RuleSet::semantics; null: nothing is said
  const RunContext& context;
  const Rules& roles;     // LoadInputRoles
  const Rules& branches;  // put branches that are taken in the place of what chooses them
  Evaluator& kernels;     // BuiltinKernels
  RuntimeApart* runtime;  // ONNX Runtime, or null
  uint64_t seed = 0;
  // Element types do not count: the rule set says so, or a test of its rules has integers of 8 bits where
  // ONNX has none. Such integers are computed with as floats.
  bool any_type = false;
  OwnOperands own_operands;  // of tests of the rule set
  // The runtime cuts off sums of products of 8 bits on this machine (HasExactIntegerProducts).
  bool cuts_off_sums = false;
  // Integers of 8 bits are tried with numbers of seven: whether it was such sums (seven_bits.h).
  bool of_seven_bits = false;

  const Signatures& signatures() const { return program.rules().signatures; }
};

// What is run on a graph: rules that a test lists, or all phases.
struct Task {
  std::vector<std::string> rules;          // empty: all phases
  std::map<std::string, std::string> set;  // parameters
  bool other_steps = false;                // Promise::other_steps

  // How it is run; `assumed`: a condition that counts as met (RunOptions::assumed).
  RunOptions Options(CodeId assumed) const;
};

}  // namespace qrewrite
