// Rules that call functions of the host and fit, but whose replacement has other types or shapes than the graph: a warning for each. Of
// rules alone that is how they are meant; a function that gives float64 for float32 is a fault that "0 rewrites" would not tell of.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/driver/host_fault.h"
#include "engine/driver/run.h"
#include "engine/graph/node_text.h"
#include "engine/match/host_predicate.h"

namespace qrewrite {

HostFunctions RuleRun::WatchedFunctions() {
  HostFunctions watched;
  for (const auto& host : FunctionsOf(setup_.context)) {
    watched[host.first] = [this, &host](const std::vector<Tensor>& inputs) {
      Result<Tensor> result = host.second(inputs);
      // What a predicate says goes into no graph.
      if (result.ok() && host.second.target<HostPredicate>() == nullptr) {
        from_hosts_.push_back(fmt::format("`{}` gave {}[{}]", host.first,
                                          Info(result->dtype()).name,
                                          fmt::join(result->dims(), ", ")));
      }
      return result;
    };
  }
  return watched;
}

Status RuleRun::NoteMistyped(const CompiledRule& rule, NodeId node) {
  const auto known = [&](const MistypedMatch& m) { return m.rule == rule.rule; };
  if (from_hosts_.empty() || std::any_of(mistyped_.begin(), mistyped_.end(), known)) return {};
  std::vector<std::string> given = from_hosts_;
  std::sort(given.begin(), given.end());
  given.erase(std::unique(given.begin(), given.end()), given.end());
  NearMiss tried;  // asks the functions again
  Beginnings begins = BeginningsOf(*rule.rule);
  if (!TryAt(*rule.rule, begins, node, tried) || !tried.trace.rejected())
    return HostFault(in_, *rule.rule, node);
  Finding finding{.rule = rule.rule->name,
                  .text = "fits here, but its replacement does not: " + tried.trace.reason,
                  .op = graph_.op_name(graph_.op(node)).text(),
                  .node = std::string(graph_.name(node)),
                  .output = std::string(FirstOutput(graph_, node)),
                  .notes = std::move(given)};
  mistyped_.push_back({rule.rule, node, std::move(finding)});
  return HostFault(in_, *rule.rule, node);
}

void RuleRun::WarnOfMistyped() {
  for (MistypedMatch& m : mistyped_) report_.warnings.push_back(std::move(m.finding));
  mistyped_.clear();
}

}  // namespace qrewrite
