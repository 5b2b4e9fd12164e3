// FindDifference(): where two models begin to differ, and which of their constants are not the same.
#include <algorithm>
#include <cmath>
#include <set>
#include <unordered_map>

#include <fmt/format.h>

#include "engine/api/constant.h"
#include "engine/api/model_impl.h"
#include "engine/base/diagnostics.h"
#include "engine/diff/describe.h"
#include "engine/diff/matching.h"
#include "engine/evaluate/decibels.h"
#include "engine/match/facts.h"
#include "qrewrite/verify.h"

namespace qrewrite {
namespace {

constexpr double kMostDb = 140;        // beyond it numbers count as the same
constexpr double kSameWeightDb = 100;  // float constants nearer than this are one constant
constexpr double kLeastDropDb = 3;

// Numbers of one constant in both models; what is dequantized of constants counts as one.
std::optional<DifferingConstant> Compare(const std::string& name_a, const std::string& name_b,
                                         const Tensor& a, const Tensor& b) {
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
    const double difference = (*y)[i] - (*x)[i];
    signal += (*x)[i] * (*x)[i];
    noise += difference * difference;
    if ((*x)[i] == (*y)[i]) continue;
    unequal.push_back(i);
    if (!(std::fabs(difference) <= most)) most = std::fabs(difference), worst = i;
  }
  if (unequal.empty()) return std::nullopt;
  result.sqnr_db = Decibels(signal, noise);
  if (IsFloat(a.dtype()) && result.sqnr_db > kSameWeightDb) return std::nullopt;
  result.unequal = static_cast<int64_t>(unequal.size());
  result.first = (*x)[worst], result.second = (*y)[worst];
  size_t rest = worst;
  result.index.resize(a.dims().size());
  for (size_t d = a.dims().size(); d-- > 0;) {
    result.index[d] = static_cast<int64_t>(rest % static_cast<size_t>(a.dims()[d]));
    rest /= static_cast<size_t>(a.dims()[d]);
  }
  // Where they all lie, and what they have in common.
  const auto all = [&](auto holds) { return std::ranges::all_of(unequal, holds); };
  std::vector<std::string> words;
  size_t inner = 1;
  for (size_t d = a.dims().size(); d-- > 0 && result.unequal < result.elements;) {
    const auto extent = static_cast<size_t>(a.dims()[d]);
    const size_t at = worst / inner % extent;
    const bool same = all([&](size_t i) { return i / inner % extent == at; });
    if (same && result.unequal > 1 && extent > 1)
      words.push_back(fmt::format("all of them at {} of axis {}", at, d));
    inner *= extent;
  }
  const double ratio = result.second / result.first, step = result.second - result.first;
  const auto near = [](double p, double q) { return std::fabs(p - q) <= 1e-5 * std::fabs(q); };
  if (all([&](size_t i) { return (*y)[i] == -(*x)[i]; }))
    words.emplace_back("the sign is another");
  else if (result.first != 0 && unequal.size() > 1 &&
           all([&](size_t i) { return near((*y)[i], ratio * (*x)[i]); }))
    words.push_back(fmt::format("{:.6g} times as large", ratio));
  else if (unequal.size() > 1 && all([&](size_t i) { return near((*y)[i] - (*x)[i], step); }))
    words.push_back(fmt::format("{:+.6g} each", step));
  result.how = fmt::format("{}", fmt::join(words, ", "));
  return result;
}

// Two graphs with their counterparts.
class Pair {
 public:
  Pair(const Model& a, const Model& b)
      : a_(std::as_const(*a.impl().file).graph()),
        b_(std::as_const(*b.impl().file).graph()),
        matching_(a_, b_, /*names=*/true),
        facts_a_(a_, Signatures::Builtin(), KernelRegistry::Evaluation(), nullptr),
        facts_b_(b_, Signatures::Builtin(), KernelRegistry::Evaluation(), nullptr) {}

  Status Match() { return matching_.Run(); }

  // Values that nodes make and that have counterparts, in the order of the second graph. A node without
  // inputs that is a constant is none: who reads it is to blame for it.
  Result<std::vector<ValueId>> Values() {
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
  ValueId ToA(ValueId b) const {
    const ValueId a = matching_.ToA(b);
    return a.valid() && a_.producer(a).valid() && a_.body_of(a) == a_.main() ? a : ValueId();
  }

  // What goes into `v` and is computed: values with counterparts, looked for behind those without.
  std::vector<ValueId> Sources(ValueId v) const {
    std::vector<ValueId> found;
    std::set<ValueId> seen;
    std::vector<ValueId> todo = {v};
    while (!todo.empty()) {
      const NodeId n = b_.producer(todo.back());
      todo.pop_back();
      for (size_t i = 0; n.valid() && i < b_.num_inputs(n); ++i) {
        const ValueId in = b_.input(n, i);
        if (!in.valid() || !seen.insert(in).second) continue;
        if (ToA(in).valid())
          found.push_back(in);
        else
          todo.push_back(in);
      }
    }
    return found;
  }

  // Constants that the node of `v` reads and that are not what the counterpart reads there.
  std::vector<DifferingConstant> Constants(ValueId v) {
    std::vector<DifferingConstant> found;
    const NodeId in_b = b_.producer(v), in_a = a_.producer(matching_.ToA(v));
    const size_t inputs = std::min(a_.num_inputs(in_a), b_.num_inputs(in_b));
    for (size_t i = 0; i < inputs; ++i) {
      const ValueId x = a_.input(in_a, i), y = b_.input(in_b, i);
      if (!x.valid() || !y.valid()) continue;
      const Tensor* const p = facts_a_.Constant(x);
      const Tensor* const q = facts_b_.Constant(y);
      if (p == nullptr || q == nullptr) continue;
      if (auto differing = Compare(Stored(a_, x), Stored(b_, y), *p, *q))
        found.push_back(*differing);
    }
    return found;
  }

  // Attributes of the node of `v` that its counterpart has not, or has otherwise.
  std::vector<std::string> Attributes(ValueId v) const {
    const NodeId in_b = b_.producer(v), in_a = a_.producer(matching_.ToA(v));
    if (a_.op_name(a_.op(in_a)) != b_.op_name(b_.op(in_b))) return {};
    std::set<std::string> names;
    for (const Attribute& x : a_.attributes(in_a)) names.insert(x.name);
    for (const Attribute& x : b_.attributes(in_b)) names.insert(x.name);
    std::vector<std::string> found;
    for (const std::string& name : names) {
      const AttrValue* const x = Attr(a_, in_a, name);
      const AttrValue* const y = Attr(b_, in_b, name);
      const bool body = (x != nullptr && std::holds_alternative<BodyId>(*x)) ||
                        (y != nullptr && std::holds_alternative<BodyId>(*y));
      if (body || (x != nullptr && y != nullptr && Equal(*x, *y))) continue;
      found.push_back(fmt::format("`{}`: {} and {}", Printable(name),
                                  x == nullptr ? "absent" : AttributeText(a_, *x),
                                  y == nullptr ? "absent" : AttributeText(b_, *y)));
    }
    return found;
  }

  const Graph& a() const { return a_; }
  const Graph& b() const { return b_; }

 private:
  // An attribute, or its default; null: it has neither.
  static const AttrValue* Attr(const Graph& graph, NodeId n, const std::string& name) {
    if (const AttrValue* const value = graph.attributes(n).Find(name)) return value;
    const OpName& op = graph.op_name(graph.op(n));
    const Signature* const s =
        Signatures::Builtin().Find(op.domain, op.name, graph.OpsetOf(n, op.domain));
    const FormalAttribute* const formal = s == nullptr ? nullptr : s->FindAttribute(name);
    return formal == nullptr || formal->default_value.index() == 0 ? nullptr
                                                                   : &formal->default_value;
  }
  // The name of what is stored in the file: behind a DequantizeLinear, of the integers.
  static std::string Stored(const Graph& graph, ValueId v) {
    while (graph.producer(v).valid() && graph.num_inputs(graph.producer(v)) > 0 &&
           graph.input(graph.producer(v), 0).valid()) {
      v = graph.input(graph.producer(v), 0);
    }
    return std::string(graph.name(v));
  }

  const Graph& a_;
  const Graph& b_;
  GraphMatching matching_;
  Facts facts_a_, facts_b_;
};

// SQNR of what `b` computes; nullopt: it cannot be told.
std::optional<double> Distance(const Tensors& a, const std::string& name_a, const Tensors& b,
                               const std::string& name_b) {
  const auto in_a = a.find(name_a), in_b = b.find(name_b);
  if (in_a == a.end() || in_b == b.end() || in_a->second.dims != in_b->second.dims)
    return std::nullopt;
  const Result<Tensor> x = FromPlain(in_a->second), y = FromPlain(in_b->second);
  if (!x.ok() || !y.ok()) return std::nullopt;
  const Result<std::vector<double>> p = ToDoubles(*x), q = ToDoubles(*y);
  if (!p.ok() || !q.ok()) return std::nullopt;
  double signal = 0, noise = 0;
  for (size_t i = 0; i < p->size(); ++i) {
    const double u = (*p)[i], w = (*q)[i];
    if (u == w || (std::isnan(u) && std::isnan(w))) continue;
    if (!std::isfinite(u) || !std::isfinite(w)) return -kMostDb;
    noise += (u - w) * (u - w);
  }
  for (const double u : *p) signal += std::isfinite(u) ? u * u : 0;
  return std::clamp(Decibels(signal, noise), -kMostDb, kMostDb);
}

std::string NodeText(const Graph& graph, ValueId v) {
  const NodeId n = graph.producer(v);
  const std::string_view name = graph.name(n).empty() ? graph.name(v) : graph.name(n);
  return fmt::format("{} `{}`", graph.op_name(graph.op(n)).text(), Printable(name));
}

// The operators of a graph, in some order that equal ones share.
std::multiset<std::string> Operators(const Graph& graph) {
  std::multiset<std::string> found;
  for (size_t i = 0; i < graph.num_nodes(); ++i) {
    if (graph.alive(NodeId(i))) found.insert(graph.op_name(graph.op(NodeId(i))).text());
  }
  return found;
}

// What is not the same in two models although their results are. Of graphs of the same operators alone: what a
// rewrite merged is in other constants rightly.
void LookForUnseen(Pair& pair, const std::vector<ValueId>& values, DifferenceReport& report) {
  constexpr size_t kMostUnseen = 5;
  if (Operators(pair.a()) != Operators(pair.b())) return;
  for (const ValueId v : values) {
    if (report.unseen.size() >= kMostUnseen) return;
    DifferenceReport::Unseen unseen{.node = NodeText(pair.b(), v),
                                    .constants = pair.Constants(v),
                                    .attributes = pair.Attributes(v)};
    if (!unseen.constants.empty() || !unseen.attributes.empty())
      report.unseen.push_back(std::move(unseen));
  }
}

std::string ConstantsText(const std::vector<DifferingConstant>& constants,
                          const std::vector<std::string>& attributes) {
  std::string text;
  for (const DifferingConstant& c : constants) {
    text += fmt::format("  constant `{}`", Printable(c.name_b));
    if (c.name_a != c.name_b)
      text += fmt::format(" (`{}` in the first model)", Printable(c.name_a));
    if (c.unequal == 0) {
      text += fmt::format(": {}\n", c.how);
      continue;
    }
    text += fmt::format(": {} of {} elements differ{}{}\n", c.unequal, c.elements,
                        c.how.empty() ? "" : "; ", c.how);
    text +=
        fmt::format("    most at [{}]: {} and {}\n", fmt::join(c.index, ", "), c.first, c.second);
  }
  for (const std::string& attribute : attributes)
    text += fmt::format("  attribute {}\n", attribute);
  return text;
}

}  // namespace

Result<DifferenceReport> FindDifference(const Model& a, const Model& b, Evaluator& evaluator,
                                        const VerifyOptions& options) {
  DifferenceReport report;
  QR_ASSIGN_OR_RETURN(report.comparison, Verify(a, b, evaluator, options));
  Pair pair(a, b);
  QR_RETURN_IF_ERROR(pair.Match());
  QR_ASSIGN_OR_RETURN(const std::vector<ValueId> values, pair.Values());
  if (report.comparison.verdict != Verdict::kDiverged) {
    LookForUnseen(pair, values, report);
    return report;
  }
  std::vector<std::string> names_a, names_b;
  for (const ValueId v : values) {
    names_a.emplace_back(pair.a().name(pair.ToA(v)));
    names_b.emplace_back(pair.b().name(v));
  }
  QR_ASSIGN_OR_RETURN(const std::unique_ptr<Session> session_a, evaluator.Load(a, names_a));
  QR_ASSIGN_OR_RETURN(const std::unique_ptr<Session> session_b, evaluator.Load(b, names_b));
  Tensors given;
  for (const auto& [name, tensor] : report.comparison.worst_inputs) {
    const auto other = options.names.find(name);
    given[other == options.names.end() ? name : other->second] = tensor;
  }
  QR_ASSIGN_OR_RETURN(const Tensors x, session_a->Run(report.comparison.worst_inputs));
  QR_ASSIGN_OR_RETURN(const Tensors y, session_b->Run(given));
  std::unordered_map<ValueId, double> sqnr;
  double most = -1;
  for (size_t i = 0; i < values.size(); ++i) {
    const std::optional<double> own = Distance(x, names_a[i], y, names_b[i]);
    if (!own) continue;
    const ValueId v = values[i];
    sqnr[v] = *own;
    double before = kMostDb;
    for (const ValueId source : pair.Sources(v)) {
      const auto known = sqnr.find(source);
      if (known != sqnr.end()) before = std::min(before, known->second);
    }
    const double drop = before - *own;
    if (drop < kLeastDropDb) continue;
    std::vector<DifferingConstant> constants = pair.Constants(v);
    std::vector<std::string> attributes = pair.Attributes(v);
    // A node whose constants or attributes are others is to blame before one that computes otherwise.
    const double blame = drop + (!constants.empty()    ? 4 * kMostDb
                                 : !attributes.empty() ? 2 * kMostDb
                                                       : 0);
    if (blame <= most) continue;
    most = blame;
    report.node_a = NodeText(pair.a(), pair.ToA(v));
    report.node_b = NodeText(pair.b(), v);
    report.value = names_b[i];
    report.before_db = before;
    report.after_db = *own;
    report.constants = std::move(constants);
    report.attributes = std::move(attributes);
  }
  return report;
}

std::string DifferenceReport::Text() const {
  if (comparison.verdict != Verdict::kDiverged) {
    std::string text = "the models do not differ";
    if (!unseen.empty()) text += " on these samples, but in what they are made of";
    text += "\n";
    for (const Unseen& u : unseen)
      text += fmt::format("{}\n{}", u.node, ConstantsText(u.constants, u.attributes));
    return text;
  }
  if (value.empty()) return "no node of the second model was found that makes the difference\n";
  const auto db = [](double v) {
    return v >= kMostDb ? "no difference" : fmt::format("{:.1f} dB", v);
  };
  std::string text = fmt::format("the models differ from {} on: {} in front of it, {} behind\n",
                                 node_b, db(before_db), db(after_db));
  if (node_a != node_b) text += fmt::format("  in the first model: {}\n", node_a);
  text += ConstantsText(constants, attributes);
  if (constants.empty() && attributes.empty())
    text += "  it reads the same constants in both: the operator itself is another\n";
  return text;
}

}  // namespace qrewrite
