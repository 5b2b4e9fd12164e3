#include "engine/debug/classify.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace qrewrite {
namespace {

bool Below(const std::optional<double>& db, double limit) { return db && *db < limit; }

// Where the operator was not run alone its own rounding stands for it.
bool IsBadOperator(const Sqnr& local, const Sqnr& isolated) {
  if (isolated.status == SqnrStatus::kNoReference)
    return local.breaks || Below(local.db, kBadOperator);
  return isolated.breaks || Below(isolated.db, kBadOperator) ||
         Below(isolated.min_channel, kBadOperator);
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
  const Sqnr& cumulative = a.read ? a.read->cumulative : a.cumulative;
  const Sqnr& isolated = a.read ? a.read->isolated : a.isolated;
  if (cumulative.status == SqnrStatus::kNoReference) return "";
  if (bad_weight || IsBadOperator(a.read ? a.read->local : a.local, isolated)) return "originator";
  // What breaks, and not by its operator, broke before.
  if (cumulative.breaks && isolated.status != SqnrStatus::kNoReference) return "inheritor";
  if (cumulative.status == SqnrStatus::kNonFinite || cumulative.off_zero) return "";
  if (!Below(cumulative.db, kBadOperator)) return "healthy";
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
    return std::tuple(a->kind == "originator", a->Breaks(), a->RankedDrop(),
                      -a->isolated.db.value_or(0));
  };
  std::stable_sort(ranked.begin(), ranked.end(),
                   [&](const auto* a, const auto* b) { return rank(a) > rank(b); });
  std::vector<DebugSuggestion> suggestions;
  std::set<std::string> named;  // a Loop or Split may make several of them
  for (const DebugActivation* a : ranked) {
    if (suggestions.size() == count) break;
    if (!a->quantized_node.empty() && !named.insert(a->quantized_node).second) continue;
    suggestions.push_back(
        {.name = a->name, .nodes = a->nodes, .quantized_nodes = a->quantized_nodes});
  }
  return suggestions;
}

}  // namespace qrewrite
