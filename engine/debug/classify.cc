#include "engine/debug/classify.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace qrewrite {
namespace {

bool Below(const std::optional<double>& db, double limit) { return db && *db < limit; }

// Where the operator was not run alone its own rounding stands for it.
bool IsBadOperator(const DebugActivation& a) {
  if (a.isolated.status == SqnrStatus::kNoReference) {
    return a.local.breaks || Below(a.local.db, kBadOperator);
  }
  return a.isolated.breaks || Below(a.isolated.db, kBadOperator) ||
         Below(a.isolated.min_channel, kBadOperator);
}

bool HasBadWeight(const DebugActivation& a,
                  const std::map<std::string, const DebugWeight*>& weights) {
  if (a.worst_weight) return *a.worst_weight < kBadWeight;
  return std::any_of(a.weights.begin(), a.weights.end(), [&](const std::string& name) {
    const auto found = weights.find(name);
    if (found == weights.end()) return false;
    const Sqnr& sqnr = found->second->sqnr;
    return sqnr.breaks || Below(sqnr.db, kBadWeight) || Below(sqnr.min_channel, kBadWeight);
  });
}

std::string KindOf(const DebugActivation& a, bool bad_weight) {
  if (a.cumulative.status == SqnrStatus::kNoReference) return "";
  if (bad_weight || IsBadOperator(a)) return "originator";
  // What breaks, and not by its operator, broke before.
  if (a.cumulative.breaks && a.isolated.status != SqnrStatus::kNoReference) return "inheritor";
  if (a.cumulative.status == SqnrStatus::kNonFinite || a.cumulative.off_zero) return "";
  if (!Below(a.cumulative.db, kBadOperator)) return "healthy";
  return a.drop_db && *a.drop_db >= kDrop ? "amplifier" : "inheritor";
}

}  // namespace

std::optional<double> Drop(const std::vector<DebugActivation>& rows,
                           const std::vector<Operands>& operands, size_t row) {
  std::optional<double> worst;
  std::set<size_t> seen = {row};
  std::vector<size_t> todo = {row};
  while (!todo.empty()) {
    const std::vector<size_t>& inputs = operands[todo.back()].activations;
    todo.pop_back();
    for (const size_t i : inputs) {
      if (!seen.insert(i).second) continue;
      const Sqnr& sqnr = rows[i].cumulative;
      if (sqnr.status == SqnrStatus::kNoReference) todo.push_back(i);
      if (sqnr.db && (!worst || *sqnr.db < *worst)) worst = sqnr.db;
    }
  }
  if (!worst) return std::nullopt;
  return *worst - *rows[row].cumulative.db;
}

void Classify(DebugReport& report) {
  std::map<std::string, const DebugWeight*> weights;
  for (const DebugWeight& w : report.weights) weights[w.name] = &w;
  for (DebugActivation& a : report.activations) a.kind = KindOf(a, HasBadWeight(a, weights));
}

std::vector<DebugSuggestion> Suggest(const DebugReport& report, size_t count) {
  std::vector<const DebugActivation*> ranked;
  for (const DebugActivation& a : report.activations) {
    if ((a.kind == "originator" || a.kind == "amplifier") && !a.node.empty()) ranked.push_back(&a);
  }
  const auto rank = [](const DebugActivation* a) {
    return std::tuple(a->kind == "originator", a->Breaks(), a->drop_db.value_or(-1e300));
  };
  std::stable_sort(ranked.begin(), ranked.end(),
                   [&](const auto* a, const auto* b) { return rank(a) > rank(b); });
  std::vector<DebugSuggestion> suggestions;
  std::set<std::string> named;  // a Loop or Split may make several of them
  for (const DebugActivation* a : ranked) {
    if (suggestions.size() == count) break;
    if (!a->quantized_node.empty() && !named.insert(a->quantized_node).second) continue;
    suggestions.push_back(
        {.name = a->name, .nodes = a->nodes, .quantized_nodes = {a->quantized_node}});
  }
  return suggestions;
}

}  // namespace qrewrite
