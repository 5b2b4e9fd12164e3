#include "engine/verify/steps.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <vector>

#include "engine/api/constant.h"
#include "engine/verify/counterparts.h"
#include "engine/verify/interiors.h"

namespace qrewrite {
namespace {

constexpr size_t kAtATime = 32;  // values that are kept in memory

bool AreIdentical(const ConstTensor& a, const ConstTensor& b) {
  const Result<Tensor> x = FromPlain(a), y = FromPlain(b);
  return x.ok() && y.ok() && x->dtype() == y->dtype() && x->dims() == y->dims() &&
         !x->is_string() && std::ranges::equal(x->bytes(), y->bytes());
}

// How a value of the second model differs from its counterpart; a reader of several has the worst of theirs at least.
enum class Difference { kNone, kRounding, kSteps, kOther };

// Whether both are integers of one shape, none further than 1 from the other.
bool AreNextSteps(const ConstTensor& a, const ConstTensor& b) {
  const Result<Tensor> x = FromPlain(a), y = FromPlain(b);
  if (!x.ok() || !y.ok() || !IsInteger(x->dtype()) || x->dtype() != y->dtype()) return false;
  const Result<std::vector<double>> p = ToDoubles(*x), q = ToDoubles(*y);
  return p.ok() && q.ok() &&
         std::ranges::equal(*p, *q, [](double u, double w) { return std::abs(u - w) <= 1; });
}

class StepSearch {
 public:
  StepSearch(Counterparts& pair, double limit_db) : pair_(pair), limit_db_(limit_db) {}

  // In the order of the graph.
  void Judge(std::span<const ValueId> values, const Interiors& computed) {
    for (size_t i = 0; i < values.size(); ++i)
      found_[values[i]] = DifferenceOf(values[i], computed, i);
  }
  Difference Of(ValueId v) const {
    const auto at = found_.find(v);
    return at == found_.end() ? Difference::kNone : at->second;  // a constant: its readers tell
  }
  const std::string& node() const { return node_; }

 private:
  Difference DifferenceOf(ValueId v, const Interiors& computed, size_t i) {
    const std::string &in_a = computed.names_a[i], &in_b = computed.names_b[i];
    const std::optional<double> db =
        Distance(computed.a, in_a, computed.b, in_b, [] { return true; });
    Difference before = Difference::kNone;
    for (const ValueId source : pair_.Sources(v)) before = std::max(before, Of(source));
    if (!db) return before;
    const ConstTensor &x = computed.a.at(in_a), &y = computed.b.at(in_b);
    if (AreIdentical(x, y)) return Difference::kNone;
    if (before == Difference::kSteps) return before;
    const bool near = *db >= limit_db_;
    // What reads the same in both makes the same, unless it is another node.
    if (before != Difference::kRounding || !AreNextSteps(x, y) || !IsTheSameNode(v))
      return near ? Difference::kRounding : Difference::kOther;
    if (node_.empty()) node_ = pair_.NodeTextOfB(v);
    return Difference::kSteps;
  }

  bool IsTheSameNode(ValueId v) {
    const NodeDifference own = pair_.Compare(v);
    return own.constants.empty() && own.attributes.empty() && own.structure.empty() &&
           pair_.CompareBodies(v).empty();
  }

  Counterparts& pair_;
  double limit_db_;
  std::unordered_map<ValueId, Difference> found_;
  std::string node_;
};

// A node that reads the same numbers in both models, and other constants or attributes: what it makes is no rounding.
class ChangeSearch {
 public:
  ChangeSearch(Counterparts& pair, double limit_db) : pair_(pair), limit_db_(limit_db) {}

  void Judge(std::span<const ValueId> values, const Interiors& computed) {
    for (size_t i = 0; i < values.size(); ++i) {
      if (!pair_.IsConstant(values[i])) Judge(values[i], computed, i);
    }
  }
  bool IsChanged(ValueId v) const { return changed_.contains(v); }
  const std::string& node() const { return node_; }

 private:
  void Judge(ValueId v, const Interiors& computed, size_t i) {
    const std::string &in_a = computed.names_a[i], &in_b = computed.names_b[i];
    const auto x = computed.a.find(in_a), y = computed.b.find(in_b);
    if (x == computed.a.end() || y == computed.b.end() || AreIdentical(x->second, y->second))
      return;
    differs_.insert(v);
    bool same = true;
    for (const ValueId source : pair_.Sources(v)) {
      same = same && !differs_.contains(source);
      if (changed_.contains(source)) changed_.insert(v);
    }
    if (!same) return;
    const NodeDifference own = pair_.Compare(v);
    if ((own.constants.empty() && own.attributes.empty()) || !own.structure.empty()) return;
    const std::optional<double> db =
        Distance(computed.a, in_a, computed.b, in_b, [] { return true; });
    if (!db || *db >= limit_db_) return;
    changed_.insert(v);
    if (node_.empty()) node_ = pair_.NodeTextOfB(v);
  }

  Counterparts& pair_;
  double limit_db_;
  std::set<ValueId> differs_, changed_;  // from the node itself on
  std::string node_;
};

// Hands `search` all values in the order of the graph, a few at a time.
template <class Search>
Status JudgeAll(const Model& a, const Model& b, Evaluator& evaluator, const Counterparts& pair,
                const VerifyReport& report, const std::vector<ValueId>& values, Search& search) {
  for (size_t at = 0; at < values.size(); at += kAtATime) {
    const std::vector<ValueId> some(
        values.begin() + static_cast<ptrdiff_t>(at),
        values.begin() + static_cast<ptrdiff_t>(std::min(values.size(), at + kAtATime)));
    QR_ASSIGN_OR_RETURN(const Interiors computed,
                        ComputeInteriors(a, b, evaluator, pair, some, report));
    search.Judge(some, computed);
  }
  return {};
}

// Outputs of the report for which `holds` their value in the second model.
template <class Holds>
std::set<std::string> OutputsOf(const Counterparts& pair, const std::vector<ValueId>& values,
                                const Pairing& pairs, const VerifyReport& report, Holds holds) {
  std::map<std::string_view, ValueId> by_name;
  for (const ValueId v : values) by_name.emplace(pair.b().name(v), v);
  std::set<std::string> outputs;
  for (const OutputComparison& output : report.outputs) {
    const auto found = by_name.find(pairs.NameInB(output.name));
    if (found != by_name.end() && holds(found->second)) outputs.insert(output.name);
  }
  return outputs;
}

}  // namespace

Result<OtherSteps> FindOtherSteps(const Model& a, const Model& b, Evaluator& evaluator,
                                  const Pairing& pairs, const VerifyReport& report,
                                  double limit_db) {
  Counterparts pair(a, b);
  QR_RETURN_IF_ERROR(pair.Match());
  QR_ASSIGN_OR_RETURN(const std::vector<ValueId> values, pair.Values());
  StepSearch search(pair, limit_db);
  QR_RETURN_IF_ERROR(JudgeAll(a, b, evaluator, pair, report, values, search));
  const auto steps = [&](ValueId v) { return search.Of(v) == Difference::kSteps; };
  return OtherSteps{.outputs = OutputsOf(pair, values, pairs, report, steps),
                    .node = search.node()};
}

Result<OtherSteps> FindChange(const Model& a, const Model& b, Evaluator& evaluator,
                              const Pairing& pairs, const VerifyReport& report, double limit_db) {
  Counterparts pair(a, b);
  QR_RETURN_IF_ERROR(pair.Match());
  if (!pair.HaveSameOperators()) return OtherSteps();
  QR_ASSIGN_OR_RETURN(const std::vector<ValueId> values, pair.Values());
  ChangeSearch search(pair, limit_db);
  QR_RETURN_IF_ERROR(JudgeAll(a, b, evaluator, pair, report, values, search));
  const auto changed = [&](ValueId v) { return search.IsChanged(v); };
  return OtherSteps{.outputs = OutputsOf(pair, values, pairs, report, changed),
                    .node = search.node()};
}

}  // namespace qrewrite
