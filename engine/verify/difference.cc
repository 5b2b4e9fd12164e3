// FindDifference(): where two models begin to differ, and what is not the same there.
#include <algorithm>
#include <set>
#include <unordered_map>

#include <fmt/format.h>

#include "engine/api/constant.h"
#include "engine/base/diagnostics.h"
#include "engine/verify/counterparts.h"
#include "engine/verify/interiors.h"
#include "engine/verify/spelled.h"
#include "qrewrite/verify.h"

namespace qrewrite {
namespace {

constexpr size_t kMostParts = 5;  // that are named

// What is not the same in two models although their results are. Of graphs node for node alone, or of the same
// operators: what a rewrite merged is in other constants rightly.
void LookForUnseen(Counterparts& pair, const std::vector<ValueId>& values,
                   DifferenceReport& report) {
  const bool whole = pair.AreNodeForNode();
  if (!whole && !pair.HaveSameOperators()) return;
  const auto add = [&](NodeDifference d) {
    if (report.unseen.size() >= kMostParts) return;
    if (!whole || !d.constants.empty() || !d.attributes.empty()) d.structure.clear();
    if (!d.constants.empty() || !d.attributes.empty() || !d.structure.empty())
      report.unseen.push_back(std::move(d));
  };
  std::set<NodeId> seen;
  for (const ValueId v : values) {
    if (!seen.insert(pair.b().producer(v)).second) continue;
    add(pair.Compare(v));
    for (NodeDifference& d : pair.CompareBodies(v)) add(std::move(d));
  }
}

// A node whose constants or attributes are others is to blame before one that computes otherwise; what its
// bodies hold is its own.
int WeightOf(const NodeDifference& own, const std::vector<NodeDifference>& inside) {
  const auto has = [&](auto member) {
    return !(own.*member).empty() ||
           std::ranges::any_of(inside, [&](const auto& d) { return !(d.*member).empty(); });
  };
  return has(&NodeDifference::constants) ? 4 : has(&NodeDifference::attributes) ? 2 : 0;
}

// Names the node that is to blame: the one that loses most of what goes into it.
void Blame(Counterparts& pair, const std::vector<ValueId>& values, const Interiors& computed,
           DifferenceReport& report) {
  const bool other_shapes =
      std::ranges::any_of(report.comparison.outputs, &OutputComparison::other_shape);
  std::unordered_map<ValueId, double> sqnr;
  double most = -1;
  ValueId at;
  for (size_t i = 0; i < values.size(); ++i) {
    const ValueId v = values[i];
    const auto may_be_shape = [&] {
      if (other_shapes) return true;
      const NodeDifference parts = pair.Compare(v);
      return !parts.constants.empty() || !parts.attributes.empty();
    };
    const std::optional<double> after =
        Distance(computed.a, computed.names_a[i], computed.b, computed.names_b[i], may_be_shape);
    if (!after) continue;
    sqnr[v] = *after;
    double before = kMostDb;
    for (const ValueId source : pair.Sources(v)) {
      const auto known = sqnr.find(source);
      if (known != sqnr.end()) before = std::min(before, known->second);
    }
    const double drop = before - *after;
    if (drop < kLeastDropDb) continue;
    NodeDifference own = pair.Compare(v);
    std::vector<NodeDifference> inside = pair.CompareBodies(v);
    const double blame = drop + kMostDb * WeightOf(own, inside);
    if (blame <= most) continue;
    most = blame;
    at = v;
    report.node_a = pair.NodeTextOfA(pair.ToA(v));
    report.node_b = std::move(own.node);
    report.value = computed.names_b[i];
    report.before_db = before;
    report.after_db = *after;
    report.constants = std::move(own.constants);
    report.attributes = std::move(own.attributes);
    report.structure = std::move(own.structure);
    report.inside = std::move(inside);
  }
  const bool explained = !report.constants.empty() || !report.attributes.empty() ||
                         !report.structure.empty() || !report.inside.empty();
  if (at.valid() && !explained) report.constants = pair.CompareRoundings(at).constants;
  // What is read otherwise counts where nothing else is wrong.
  if (!report.constants.empty() || !report.attributes.empty()) report.structure.clear();
  if (report.inside.size() > kMostParts) report.inside.resize(kMostParts);
}

// An output that no node makes.
void BlameConstantOutput(const Model& a, const Model& b, const VerifyOptions& options,
                         Counterparts& pair, DifferenceReport& report) {
  const std::vector<ModelValue> in_a = a.Outputs(), in_b = b.Outputs();
  for (const OutputComparison& output : report.comparison.outputs) {
    if (output.verdict != Verdict::kDiverged) continue;
    const auto other = options.names.find(output.name);
    const std::string& name = other == options.names.end() ? output.name : other->second;
    const auto x = std::ranges::find(in_a, output.name, &ModelValue::name);
    const auto y = std::ranges::find(in_b, name, &ModelValue::name);
    if (x == in_a.end() || y == in_b.end()) continue;
    auto constant = pair.CompareOutputs(static_cast<size_t>(x - in_a.begin()),
                                        static_cast<size_t>(y - in_b.begin()));
    if (!constant) continue;
    report.node_a = fmt::format("output `{}`", Printable(output.name));
    report.node_b = fmt::format("output `{}`", Printable(name));
    report.value = name;
    report.before_db = kMostDb;
    report.after_db = output.sqnr_db;
    report.constants.push_back(*std::move(constant));
    return;
  }
}

// Lines about a node, behind `indent`.
std::string PartsText(const NodeDifference& d, const std::string& indent) {
  std::string text;
  for (const DifferingConstant& c : d.constants) {
    text += fmt::format("{}constant `{}`", indent, Printable(c.name_b));
    if (c.name_a != c.name_b)
      text += fmt::format(" (`{}` in the first model)", Printable(c.name_a));
    if (c.unequal == 0) {
      text += fmt::format(": {}\n", c.how);
      continue;
    }
    text += fmt::format(": {} of {} elements differ{}{}\n", c.unequal, c.elements,
                        c.how.empty() ? "" : "; ", c.how);
    text += fmt::format("{}  most at [{}]: {} and {}\n", indent, fmt::join(c.index, ", "), c.first,
                        c.second);
  }
  for (const std::string& attribute : d.attributes)
    text += fmt::format("{}attribute {}\n", indent, attribute);
  for (const std::string& line : d.structure) text += fmt::format("{}{}\n", indent, line);
  return text;
}

}  // namespace

Result<DifferenceReport> FindDifference(const Model& a, const Model& b, Evaluator& evaluator,
                                        const VerifyOptions& options) {
  QR_ASSIGN_OR_RETURN(const SpelledPair spelled, SpellOut(a, b, options.semantics));
  const Model& first = spelled.first ? *spelled.first : a;
  const Model& second = spelled.second ? *spelled.second : b;
  VerifyOptions plain = options;
  plain.semantics.clear();
  DifferenceReport report;
  QR_ASSIGN_OR_RETURN(report.comparison, Verify(first, second, evaluator, plain));
  Counterparts pair(first, second);
  QR_RETURN_IF_ERROR(pair.Match());
  QR_ASSIGN_OR_RETURN(const std::vector<ValueId> values, pair.Values());
  if (report.comparison.verdict != Verdict::kDiverged) {
    LookForUnseen(pair, values, report);
    return report;
  }
  QR_ASSIGN_OR_RETURN(const Interiors computed,
                      ComputeInteriors(first, second, evaluator, pair, values, report.comparison));
  Blame(pair, values, computed, report);
  if (report.value.empty()) BlameConstantOutput(first, second, options, pair, report);
  return report;
}

std::string DifferenceReport::Text() const {
  if (comparison.verdict != Verdict::kDiverged) {
    std::string text = "the models do not differ on these samples";
    if (comparison.verdict == Verdict::kWithin)
      text = "the models differ within the tolerance on these samples";
    if (!unseen.empty()) text += ", but in what they are made of";
    text += "\n";
    for (const NodeDifference& u : unseen)
      text += fmt::format("{}\n{}", u.node, PartsText(u, "  "));
    return text;
  }
  if (value.empty()) return "no node of the second model was found that makes the difference\n";
  const auto db = [](double v) {
    return v >= kMostDb ? "no difference" : fmt::format("{:.1f} dB", v);
  };
  std::string text = fmt::format("the models differ from {} on: {} in front of it, {} behind\n",
                                 node_b, db(before_db), db(after_db));
  NodeDifference own{.constants = constants, .attributes = attributes, .structure = structure};
  const std::string other = "in the first model: " + node_a;
  if (node_a != node_b && std::ranges::find(structure, other) == structure.end())
    text += "  " + other + "\n";
  text += PartsText(own, "  ");
  for (const NodeDifference& d : inside)
    text += fmt::format("  {}:\n{}", d.node, PartsText(d, "    "));
  const bool explained = !constants.empty() || !attributes.empty() || !inside.empty();
  if (!explained && structure.empty())
    text +=
        "  it is the same operator and reads the same constants in both: what it reads of nodes "
        "that the first model does not have may be another\n";
  return text;
}

}  // namespace qrewrite
