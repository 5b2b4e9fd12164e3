#include "engine/prove/judge.h"

namespace qrewrite {

RunOptions Task::Options(CodeId assumed) const {
  RunOptions options;
  options.set = set;
  options.only_rules = rules;
  options.assumed = assumed;
  options.max_rewrites = 200;
  return options;
}

Trial Judge::Try(const Graph& graph, const Task& task, CodeId assumed) {
  return Inquiry(court_, memory_, graph, task, assumed).Try();
}

}  // namespace qrewrite
