#include "engine/verify/counterparts.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "engine/api/constant.h"
#include "engine/api/model_impl.h"
#include "engine/base/diagnostics.h"
#include "engine/diff/describe.h"
#include "engine/evaluate/decibels.h"
#include "engine/graph/find.h"
#include "engine/ops/node_signature.h"

namespace qrewrite {
namespace {

// Float constants are one constant where they are nearer than this, and so is each element, measured by its own size
// and that of the others: one that is wrong in a large tensor is not to drown in it.
constexpr double kSameWeightDb = 100;
constexpr double kSameElement = 1e-5;

// Where the unequal elements lie, and what they have in common.
std::string HowUnequal(const Dims& dims, const std::vector<double>& x, const std::vector<double>& y,
                       const std::vector<size_t>& unequal, size_t worst) {
  const auto all = [&](auto holds) { return std::ranges::all_of(unequal, holds); };
  std::vector<std::string> words;
  size_t inner = 1;
  for (size_t d = dims.size(); d-- > 0 && unequal.size() < x.size();) {
    const auto extent = static_cast<size_t>(dims[d]);
    const size_t at = worst / inner % extent;
    const bool same = all([&](size_t i) { return i / inner % extent == at; });
    if (same && unequal.size() > 1 && extent > 1)
      words.push_back(fmt::format("all of them at {} of axis {}", at, d));
    inner *= extent;
  }
  const double ratio = y[worst] / x[worst], step = y[worst] - x[worst];
  const auto near = [](double p, double q) { return std::fabs(p - q) <= 1e-5 * std::fabs(q); };
  if (all([&](size_t i) { return y[i] == -x[i]; }))
    words.emplace_back("the sign is another");
  else if (x[worst] != 0 && unequal.size() > 1 &&
           all([&](size_t i) { return near(y[i], ratio * x[i]); }))
    words.push_back(fmt::format("{:.6g} times as large", ratio));
  else if (unequal.size() > 1 && all([&](size_t i) { return near(y[i] - x[i], step); }))
    words.push_back(fmt::format("{:+.6g} each", step));
  return fmt::format("{}", fmt::join(words, ", "));
}

// Numbers of one constant in both models; what is dequantized of constants counts as one.
std::optional<DifferingConstant> CompareNumbers(const std::string& name_a,
                                                const std::string& name_b, const Tensor& a,
                                                const Tensor& b, bool roundings) {
  const Result<std::vector<double>> x = ToDoubles(a), y = ToDoubles(b);
  if (!x.ok() || !y.ok()) return std::nullopt;
  DifferingConstant result{.name_a = name_a, .name_b = name_b};
  result.elements = static_cast<int64_t>(x->size());
  if (a.dims() != b.dims()) {
    if (x->size() == y->size() && *x == *y) return std::nullopt;
    result.how = "another shape";
    return x->size() == y->size() ? std::nullopt : std::optional(result);
  }
  double signal = 0, noise = 0, most = -1;
  std::vector<size_t> unequal;
  size_t worst = 0;
  for (size_t i = 0; i < x->size(); ++i) {
    const double u = (*x)[i], w = (*y)[i], difference = w - u;
    if (std::isfinite(u)) signal += u * u;
    if (u == w || (std::isnan(u) && std::isnan(w))) continue;
    noise += difference * difference;
    unequal.push_back(i);
    if (!(std::fabs(difference) <= most)) most = std::fabs(difference), worst = i;
  }
  if (unequal.empty()) return std::nullopt;
  result.sqnr_db = Decibels(signal, noise);
  const double usual = std::sqrt(signal / static_cast<double>(x->size()));
  const bool same = std::ranges::all_of(unequal, [&](size_t i) {
    return std::fabs((*y)[i] - (*x)[i]) <= kSameElement * (std::fabs((*x)[i]) + usual);
  });
  if (!roundings && IsFloat(a.dtype()) && same && result.sqnr_db > kSameWeightDb)
    return std::nullopt;
  result.unequal = static_cast<int64_t>(unequal.size());
  result.first = (*x)[worst], result.second = (*y)[worst];
  size_t rest = worst;
  result.index.resize(a.dims().size());
  for (size_t d = a.dims().size(); d-- > 0;) {
    result.index[d] = static_cast<int64_t>(rest % static_cast<size_t>(a.dims()[d]));
    rest /= static_cast<size_t>(a.dims()[d]);
  }
  result.how = HowUnequal(a.dims(), *x, *y, unequal, worst);
  return result;
}

// An attribute, or its default; null: it has neither.
const AttrValue* Attr(const Graph& graph, NodeId n, const std::string& name) {
  if (const AttrValue* const value = graph.attributes(n).Find(name)) return value;
  const Signature* const s = SignatureOf(graph, n, Signatures::Builtin());
  const FormalAttribute* const formal = s == nullptr ? nullptr : s->FindAttribute(name);
  return formal == nullptr || formal->default_value.index() == 0 ? nullptr : &formal->default_value;
}

// The name of what is stored in the file: behind a DequantizeLinear, of the integers.
std::string Stored(const Graph& graph, ValueId v) {
  while (graph.producer(v).valid() && graph.num_inputs(graph.producer(v)) > 0 &&
         graph.input(graph.producer(v), 0).valid()) {
    v = graph.input(graph.producer(v), 0);
  }
  return std::string(graph.name(v));
}

ValueId InputOf(const Graph& graph, NodeId n, size_t i) {
  return i < graph.num_inputs(n) ? graph.input(n, i) : ValueId();
}

std::string NodeText(const Graph& graph, NodeId n) {
  const std::string place = PlaceText(graph, graph.body_of(n));
  return fmt::format("{} `{}`{}{}", graph.op_name(graph.op(n)).text(),
                     Printable(NameText(graph, n)), place.empty() ? "" : " in ", OneLine(place));
}

bool HasOtherParts(const NodeDifference& d) {
  return !d.constants.empty() || !d.attributes.empty();
}

}  // namespace

Counterparts::Counterparts(const Model& a, const Model& b)
    : a_(std::as_const(*a.impl().file).graph()),
      b_(std::as_const(*b.impl().file).graph()),
      matching_(a_, b_, /*names=*/true),
      facts_a_(a_, Signatures::Builtin(), KernelRegistry::Evaluation(), nullptr),
      facts_b_(b_, Signatures::Builtin(), KernelRegistry::Evaluation(), nullptr) {
  // Both models run with the initial values of inputs that have some.
  facts_a_.TrustOverridable();
  facts_b_.TrustOverridable();
}

Status Counterparts::Match() {
  QR_RETURN_IF_ERROR(matching_.Run());
  for (const auto& [in_a, in_b] : matching_.bodies()) {
    bodies_.emplace(in_b, in_a);
    QR_RETURN_IF_ERROR(MatchReplaced(in_b));
  }
  functions_ = LocalFunctions(b_);
  return {};
}

// What neither names nor operators tell: nodes that belong together read values that belong together. Readers first.
Status Counterparts::MatchReplaced(BodyId body) {
  QR_ASSIGN_OR_RETURN(const std::vector<NodeId> order, TopologicalOrder(b_, body));
  std::set<ValueId> taken;  // of the first model
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    const NodeId n = *it, other = NodeToA(n);
    if (!other.valid() || a_.num_inputs(other) != b_.num_inputs(n)) continue;
    for (size_t i = 0; i < b_.num_inputs(n); ++i) {
      const ValueId x = a_.input(other, i), y = b_.input(n, i);
      if (!x.valid() || !y.valid() || Other(y).valid() || matching_.ToB(x).valid()) continue;
      const NodeId maker_a = a_.producer(x), maker_b = b_.producer(y);
      if (!maker_a.valid() || !maker_b.valid() || matching_.ToB(maker_a).valid() ||
          NodeToA(maker_b).valid() || b_.body_of(y) != body || a_.body_of(x) != a_.body_of(other)) {
        continue;
      }
      if (taken.insert(x).second) replaced_.emplace(y, x);
    }
  }
  return {};
}

ValueId Counterparts::Other(ValueId b) const {
  if (const ValueId a = matching_.ToA(b); a.valid()) return a;
  const auto found = replaced_.find(b);
  return found == replaced_.end() ? ValueId() : found->second;
}

Result<std::vector<ValueId>> Counterparts::Values() {
  QR_ASSIGN_OR_RETURN(const std::vector<NodeId> order, TopologicalOrder(b_, b_.main()));
  std::vector<ValueId> values;
  for (const NodeId n : order) {
    for (size_t i = 0; i < b_.num_outputs(n); ++i) {
      const ValueId v = b_.output(n, i);
      if (!v.valid() || !ToA(v).valid()) continue;
      if (b_.num_inputs(n) == 0 && facts_b_.Constant(v) != nullptr) continue;
      values.push_back(v);
    }
  }
  return values;
}

ValueId Counterparts::ToA(ValueId b) const {
  const ValueId a = Other(b);
  return a.valid() && a_.producer(a).valid() && a_.body_of(a) == a_.main() ? a : ValueId();
}

// By what it makes: a node of another operator may make the value now.
NodeId Counterparts::NodeToA(NodeId in_b) const {
  if (const NodeId n = matching_.ToA(in_b); n.valid()) return n;
  for (size_t i = 0; i < b_.num_outputs(in_b); ++i) {
    const ValueId v = b_.output(in_b, i).valid() ? Other(b_.output(in_b, i)) : ValueId();
    if (v.valid() && a_.producer(v).valid()) return a_.producer(v);
  }
  return {};
}

std::vector<BodyId> Counterparts::BodiesOf(NodeId in_b) const {
  std::vector<BodyId> found;
  const auto add = [&](NodeId n) {
    const auto called = functions_.find(b_.op_name(b_.op(n)));
    if (called != functions_.end() && std::ranges::find(found, called->second) == found.end())
      found.push_back(called->second);
    if (!b_.HasSubgraphs(n)) return;
    for (const BodyId inner : b_.SubgraphsOf(n)) found.push_back(inner);
  };
  add(in_b);
  for (size_t at = 0; at < found.size(); ++at) {
    for (const NodeId n : b_.body(found[at]).nodes) {
      if (b_.alive(n)) add(n);
    }
  }
  return found;
}

std::vector<ValueId> Counterparts::Sources(ValueId v) const {
  std::vector<ValueId> found;
  std::set<ValueId> seen;
  std::vector<ValueId> todo = {v};
  const auto add = [&](ValueId in) {
    if (!in.valid() || b_.body_of(in) != b_.main() || !seen.insert(in).second) return;
    (ToA(in).valid() ? found : todo).push_back(in);
  };
  while (!todo.empty()) {
    const NodeId n = b_.producer(todo.back());
    todo.pop_back();
    if (!n.valid()) continue;
    for (size_t i = 0; i < b_.num_inputs(n); ++i) add(b_.input(n, i));
    for (const BodyId body : BodiesOf(n)) {
      for (const NodeId inner : b_.body(body).nodes) {
        for (size_t i = 0; b_.alive(inner) && i < b_.num_inputs(inner); ++i)
          add(b_.input(inner, i));
      }
      for (size_t i = 0; i < b_.body(body).outputs.size(); ++i) add(b_.output(body, i));
    }
  }
  return found;
}

void Counterparts::CompareConstants(ValueId x, ValueId y, NodeDifference& found, bool roundings) {
  const Tensor* const p = x.valid() ? facts_a_.Constant(x) : nullptr;
  const Tensor* const q = y.valid() ? facts_b_.Constant(y) : nullptr;
  if (p == nullptr || q == nullptr) return;
  if (auto differing = CompareNumbers(Stored(a_, x), Stored(b_, y), *p, *q, roundings))
    found.constants.push_back(*std::move(differing));
}

void Counterparts::CompareAttributes(NodeId in_a, NodeId in_b, NodeDifference& found) const {
  if (a_.op_name(a_.op(in_a)) != b_.op_name(b_.op(in_b))) return;
  std::set<std::string> names;
  for (const Attribute& x : a_.attributes(in_a)) names.insert(x.name);
  for (const Attribute& x : b_.attributes(in_b)) names.insert(x.name);
  for (const std::string& name : names) {
    const AttrValue* const x = Attr(a_, in_a, name);
    const AttrValue* const y = Attr(b_, in_b, name);
    const bool body = (x != nullptr && std::holds_alternative<BodyId>(*x)) ||
                      (y != nullptr && std::holds_alternative<BodyId>(*y));
    if (body || (x != nullptr && y != nullptr && Equal(*x, *y))) continue;
    found.attributes.push_back(fmt::format("`{}`: {} and {}", Printable(name),
                                           x == nullptr ? "absent" : AttributeText(a_, *x),
                                           y == nullptr ? "absent" : AttributeText(b_, *y)));
  }
}

void Counterparts::CompareReads(const std::string& place, ValueId x, ValueId y,
                                NodeDifference& found) {
  const bool of_a = x.valid() && facts_a_.Constant(x) != nullptr;
  const bool of_b = y.valid() && facts_b_.Constant(y) != nullptr;
  if ((of_a && of_b) || (!x.valid() && !y.valid())) return;
  const ValueId other = y.valid() ? Other(y) : ValueId();
  // Without a counterpart: who makes it is told of.
  if (y.valid() && x.valid() && !of_b && (!other.valid() || other == x)) return;
  found.structure.push_back(fmt::format("{}: `{}` and `{}`", place,
                                        x.valid() ? Printable(NameText(a_, x)) : "absent",
                                        y.valid() ? Printable(NameText(b_, y)) : "absent"));
}

NodeDifference Counterparts::Compare(NodeId in_a, NodeId in_b, bool roundings) {
  NodeDifference found{.node = NodeText(b_, in_b)};
  if (!in_a.valid()) {
    found.structure.emplace_back("it is not in the first model");
    return found;
  }
  const size_t both = std::min(a_.num_inputs(in_a), b_.num_inputs(in_b));
  for (size_t i = 0; i < both; ++i)
    CompareConstants(a_.input(in_a, i), b_.input(in_b, i), found, roundings);
  CompareAttributes(in_a, in_b, found);
  if (a_.op_name(a_.op(in_a)) != b_.op_name(b_.op(in_b))) {
    // What another operator has in the same place may be another thing.
    std::erase_if(found.constants, [](const DifferingConstant& c) { return c.unequal == 0; });
    found.structure.push_back("in the first model: " + NodeText(a_, in_a));
    return found;
  }
  const size_t all = std::max(a_.num_inputs(in_a), b_.num_inputs(in_b));
  for (size_t i = 0; i < all; ++i)
    CompareReads(fmt::format("input {}", i), InputOf(a_, in_a, i), InputOf(b_, in_b, i), found);
  return found;
}

NodeDifference Counterparts::Compare(ValueId v) {
  return Compare(a_.producer(Other(v)), b_.producer(v));
}

NodeDifference Counterparts::CompareRoundings(ValueId v) {
  return Compare(a_.producer(Other(v)), b_.producer(v), /*roundings=*/true);
}

bool Counterparts::IsConstant(ValueId v) { return facts_b_.Constant(v) != nullptr; }

std::optional<DifferingConstant> Counterparts::CompareOutputs(size_t in_a, size_t in_b) {
  NodeDifference found;
  CompareConstants(a_.output(a_.main(), in_a), b_.output(b_.main(), in_b), found);
  if (found.constants.empty()) return std::nullopt;
  return std::move(found.constants.front());
}

void Counterparts::CompareBody(BodyId body, std::vector<NodeDifference>& found) {
  const auto other = bodies_.find(body);
  if (other == bodies_.end()) return;
  const auto add = [&](NodeDifference d) {
    if (HasOtherParts(d) || !d.structure.empty()) found.push_back(std::move(d));
  };
  for (const NodeId n : b_.body(body).nodes) {
    if (!b_.alive(n)) continue;
    // Who reads a constant is to blame for it.
    const bool leaf = b_.num_inputs(n) == 0 && b_.num_outputs(n) > 0 && b_.output(n, 0).valid();
    if (leaf && facts_b_.Constant(b_.output(n, 0)) != nullptr) continue;
    add(Compare(NodeToA(n), n));
  }
  NodeDifference given{.node = OneLine(PlaceText(b_, body))};
  const size_t in_a = a_.body(other->second).outputs.size(), in_b = b_.body(body).outputs.size();
  for (size_t i = 0; i < std::min(in_a, in_b); ++i) {
    const ValueId x = a_.output(other->second, i), y = b_.output(body, i);
    CompareConstants(x, y, given);
    CompareReads(fmt::format("output {}", i), x, y, given);
  }
  add(std::move(given));
}

std::vector<NodeDifference> Counterparts::CompareBodies(ValueId v) {
  std::vector<NodeDifference> found;
  for (const BodyId body : BodiesOf(b_.producer(v))) CompareBody(body, found);
  if (std::ranges::any_of(found, HasOtherParts)) {
    std::erase_if(found, [](const NodeDifference& d) { return !HasOtherParts(d); });
    for (NodeDifference& d : found) d.structure.clear();
  }
  return found;
}

bool Counterparts::HaveSameOperators() const {
  const auto operators = [](const Graph& graph) {
    std::multiset<std::string> found;
    for (size_t i = 0; i < graph.num_nodes(); ++i) {
      if (graph.alive(NodeId(i))) found.insert(graph.op_name(graph.op(NodeId(i))).text());
    }
    return found;
  };
  return operators(a_) == operators(b_);
}

// Leaves are constants, of which a model may have as many as it wants.
bool Counterparts::AreNodeForNode() const {
  const auto nodes = [](const Graph& graph) {
    std::vector<NodeId> found;
    for (size_t i = 0; i < graph.num_nodes(); ++i) {
      if (graph.alive(NodeId(i)) && graph.num_inputs(NodeId(i)) > 0) found.emplace_back(i);
    }
    return found;
  };
  const std::vector<NodeId> of_b = nodes(b_);
  return nodes(a_).size() == of_b.size() &&
         std::ranges::all_of(of_b, [&](NodeId n) { return NodeToA(n).valid(); });
}

std::string Counterparts::NodeTextOfA(ValueId a) const { return NodeText(a_, a_.producer(a)); }
std::string Counterparts::NodeTextOfB(ValueId b) const { return NodeText(b_, b_.producer(b)); }

}  // namespace qrewrite
