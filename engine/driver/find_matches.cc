#include "engine/driver/find_matches.h"

#include <algorithm>
#include <memory>
#include <set>

#include <fmt/format.h>

#include "engine/base/diagnostics.h"
#include "engine/base/interrupt.h"
#include "engine/driver/host_fault.h"
#include "engine/driver/run.h"
#include "engine/graph/node_text.h"
#include "engine/graph/order.h"

namespace qrewrite {
namespace {

// One rule set on the graph, ready to be asked at each node.
class Search {
 public:
  Search(const Graph& graph, const Program& program, Params params, const MatchQuery& query,
         const RunContext& context)
      : graph_(graph),
        params_(std::move(params)),
        facts_(graph, program.rules().signatures, KernelsOf(context), context.inference),
        in_(graph, program, facts_, KernelsOf(context), params_, FunctionsOf(context)),
        candidates_(graph, program, Wanted(graph, program, query)) {
    ConfigureConstants(in_, /*changed=*/false);
    in_.set_matched(&nodes_);
    in_.set_rule_conditions(query.conditions);
  }

  const Params& params() const { return params_; }

  Status At(NodeId n, FunctionRef<bool(const FoundMatch&)> found, bool* go_on) {
    for (const CompiledRule* rule : candidates_.At(n)) {
      Frame frame(rule->layout);
      in_.MatchRule(*rule, n, frame, [&] {
        // Whoever is asked may compute with the bindings; the search goes on with them as they are.
        Frame copy = frame;
        *go_on = found({*rule, nodes_, in_, copy});
        return !*go_on;
      });
      QR_RETURN_IF_ERROR(HostFault(in_, *rule->rule, n));
      if (!in_.exhausted().empty()) {
        return {StatusCode::kLimit, fmt::format("rule `{}` at {}: {}", rule->rule->name,
                                                NodeText(graph_, n), in_.exhausted())};
      }
      if (!*go_on) return {};
    }
    return {};
  }

 private:
  static std::vector<const CompiledRule*> Wanted(const Graph& graph, const Program& program,
                                                 const MatchQuery& query) {
    std::vector<const CompiledRule*> rules;
    for (const Rule& rule : program.rules().rules) {
      const bool listed = query.rules.empty() || std::find(query.rules.begin(), query.rules.end(),
                                                           rule.name) != query.rules.end();
      if (listed && FitsOpset(graph, rule)) rules.push_back(program.FindRule(rule));
    }
    return rules;
  }

  const Graph& graph_;
  const Params params_;
  Facts facts_;
  Interpreter in_;
  CandidateIndex candidates_;
  std::vector<NodeId> nodes_;
};

// `program` and the rule sets that its phases use, each once.
void AddSearches(const Graph& graph, const Program& program, Params params, const MatchQuery& query,
                 const RunContext& context, std::set<const RuleSet*>& seen,
                 std::vector<std::unique_ptr<Search>>& searches) {
  if (!seen.insert(&program.rules()).second) return;
  searches.push_back(std::make_unique<Search>(graph, program, std::move(params), query, context));
  const Params& given = searches.back()->params();
  const RuleSet& rules = program.rules();
  for (size_t i = 0; i < rules.phases.size(); ++i) {
    if (rules.phases[i].use == nullptr) continue;
    AddSearches(graph, *program.phase(i).use, ParamsOfUsed(*rules.phases[i].use, given), query,
                context, seen, searches);
  }
}

}  // namespace

Status FindMatches(const Graph& graph, const Program& program, const MatchQuery& query,
                   const RunContext& context, FunctionRef<bool(const FoundMatch&)> found) {
  QR_RETURN_IF_ERROR(CheckOpset(graph, program.rules()));
  QR_ASSIGN_OR_RETURN(Params params, BindParams(program.rules(), query.set));
  QR_RETURN_IF_ERROR(CheckRuleNames(program.rules(), query.rules));
  std::vector<std::unique_ptr<Search>> searches;
  std::set<const RuleSet*> seen;
  AddSearches(graph, program, std::move(params), query, context, seen, searches);
  QR_ASSIGN_OR_RETURN(const std::vector<NodeId> order, NodesInOrder(graph));
  bool go_on = true;
  for (const NodeId n : order) {
    QR_RETURN_IF_ERROR(Interrupted());
    for (const auto& search : searches) {
      QR_RETURN_IF_ERROR(search->At(n, found, &go_on));
      if (!go_on) return {};
    }
  }
  return {};
}

}  // namespace qrewrite
