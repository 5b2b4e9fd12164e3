// Words: what values hold and why conditions do not, for messages and traces. Nothing here decides
// whether a rule fires.
#pragma once

#include <string>
#include <vector>

#include "engine/match/interpreter.h"

namespace qrewrite {

class Words {
 public:
  explicit Words(Interpreter& in) : in_(in), graph_(in.graph_), facts_(in.facts_) {}

  std::string Of(const Val& val);        // "[1, 3, 224, 224]", "INT8"
  std::string WithName(const Val& val);  // of a constant of the graph: "`w` = [1, 3]"
  // Where two values differ, in as many digits as it takes.
  std::string Difference(const Val& a, const Val& b);
  // Why constant `v`, which holds `tensor`, is not the literal of a pattern.
  std::string Difference(ValueId v, const Tensor& tensor, const Expr& literal);

  // What a condition says that is not met: "`axis == 1` is false: `axis` is 2".
  std::string OfCondition(const Code& condition, const Val& truth, Frame& frame);
  // Of `a and b` the part that decides.
  CodeId Deciding(CodeId condition, Frame& frame);
  // Of cases none of which applies: what the conditions of the first of them say.
  std::string NoCase(const std::vector<CompiledCase>& cases, Frame& frame);

  // "`v` is read by Conv `a`, Relu `b` and the caller".
  std::string Readers(ValueId v);
  // Of operator `op` where the pattern has another one: ", the pattern has Relu|Clip".
  static std::string Instead(const PatCall& call, const OpName& op);

 private:
  std::string Compared(const Code& condition, Frame& frame);
  std::string About(const Code& call, Frame& frame);

  Interpreter& in_;
  const Graph& graph_;
  Facts& facts_;
};

}  // namespace qrewrite
