// PatternCompiler: the statements of one `match` as patterns over a SlotNames, which gets the names in
// them as slots. Internal to the plan.
#pragma once

#include <memory>
#include <vector>

#include "engine/match/plan.h"

namespace qrewrite {

class PatternCompiler {
 public:
  PatternCompiler(const RuleSet& rules, SlotNames& scope) : rules_(rules), scope_(scope) {}

  // REQUIRES: the checker found no fault in it. The result refers to `stmt`.
  PatStmt Compile(const Stmt& stmt);

 private:
  PatArg Compile(const Arg& arg);
  PatArg Compile(const Expr& expr);
  // `inner` gets the slots that the call binds.
  std::unique_ptr<PatCall> CompileCall(const Expr& expr, std::vector<int>& inner);
  void CompileAttr(const AttrArg& attr, PatCall& call, std::vector<int>& inner);

  const RuleSet& rules_;
  SlotNames& scope_;
};

}  // namespace qrewrite
