// What rules find and leave as it is: warnings and refusals, and the error that refusals become when
// their phase is through. Nodes that are refused for one reason are told as one.
#include <fmt/format.h>

#include "engine/base/diagnostics.h"
#include "engine/driver/run.h"
#include "engine/graph/node_text.h"
#include "engine/rule/check.h"

namespace qrewrite {

std::string NodeOrOutputText(std::string_view op, std::string_view node, std::string_view output) {
  return node.empty() ? fmt::format("{} (unnamed, output `{}`)", op, Printable(output))
                      : fmt::format("{} `{}`", op, Printable(node));
}

std::string RuleRun::RefusedNode(NodeId n) const {
  return NodeOrOutputText(graph_.op_name(graph_.op(n)).text(), graph_.name(n),
                          FirstOutput(graph_, n));
}

bool RuleRun::IsGiven(NodeId n) const {
  if (n.index < given_nodes_) return true;
  for (size_t i = 0; i < graph_.num_outputs(n); ++i) {
    if (graph_.output(n, i).valid() && graph_.output(n, i).index < given_values_) return true;
  }
  return false;
}

// Where rules made several nodes of one, some have outputs of names that nobody knows.
std::string_view RuleRun::GivenOutput(NodeId n) const {
  constexpr size_t kMost = 64;
  std::vector<NodeId> todo = {n};
  for (size_t i = 0; i < todo.size() && i < kMost; ++i) {
    if (IsGiven(todo[i])) return FirstOutput(graph_, todo[i]);
    for (size_t k = 0; k < graph_.num_outputs(todo[i]); ++k) {
      const ValueId v = graph_.output(todo[i], k);
      if (!v.valid()) continue;
      for (const UseId use : graph_.uses(v)) {
        const User user = graph_.user(use);
        if (!user.is_output() && todo.size() < kMost) todo.push_back(user.node);
      }
    }
  }
  return FirstOutput(graph_, n);
}

NodeId RuleRun::Origin(NodeId node) const {
  while (node.index < made_of_.size() && made_of_[node.index].valid()) node = made_of_[node.index];
  return node;
}

// A firing that changes nothing.
Status RuleRun::NoteFinding(const CompiledRule& rule, const Firing& firing, NodeId node) {
  if (!setup_.book.found.contains({rule.rule, node})) {
    ++setup_.book.findings[rule.rule];
    QR_RETURN_IF_ERROR(watch_.Fired(rules_, *rule.rule, firing));
  }
  return RefuseOrWarn(rule, std::move(notes_.said), node);
}

// `said`: "" if that is the text of the rule file as it is.
Status RuleRun::RefuseOrWarn(const CompiledRule& rule, std::string said, NodeId node) {
  if (!setup_.book.found.insert({rule.rule, node}).second) return {};
  // A normal form of the rule set is told by the operator that the model had in its place, and so is what has names that
  // rules made.
  const bool internal = IsPrivateDomain(graph_.op_name(graph_.op(node)).domain) || !IsGiven(node);
  const NodeId origin = internal ? Origin(node) : node;
  if (said.empty()) said = rule.rule->refuse ? *rule.rule->refuse : rule.rule->warn.value_or("");
  Finding finding{.rule = rule.rule->name,
                  .text = said,
                  .op = graph_.op_name(graph_.op(origin)).text(),
                  .node = std::string(graph_.name(origin)),
                  .output = std::string(GivenOutput(node)),
                  .notes = {}};
  const Reason nearest = rule.rule->refuse ? Nearest(node) : Reason();
  if (!nearest.text.empty()) finding.notes.push_back(nearest.text);
  if (!rule.rule->refuse || options_.allow_partial) {
    report_.warnings.push_back(std::move(finding));
    return {};
  }
  std::string what = NodeOrOutputText(finding.op, finding.node, finding.output);
  // One cause seldom comes alone. Beyond the nodes that are explained those of one operator are one.
  std::vector<size_t>& alike = refused_of_[{rule.rule, finding.op}];
  Refused* same = nullptr;
  for (const size_t i : alike) {
    Refused& r = refused_[i];
    const bool place =
        r.why.place.source == nearest.place.source && r.why.place.begin == nearest.place.begin;
    if (!place && !nearest.text.empty()) continue;
    if (r.text != said && alike.size() < kNamed) continue;
    if (same == nullptr || r.count > same->count) same = &r;
  }
  if (same == nullptr) {
    alike.push_back(refused_.size());
    refused_.push_back({rule.rule, finding.op, std::move(said), nearest, 1, {std::move(what)}});
    return {};
  }
  if (++same->count <= kNamed && same->text == said) same->nodes.push_back(std::move(what));
  return {};
}

Status RuleRun::Refusals() {
  for (const Refused& r : refused_) {
    std::string nodes = fmt::format("{}", fmt::join(r.nodes, ", "));
    if (r.count > r.nodes.size()) nodes += fmt::format(" and {} more", r.count - r.nodes.size());
    std::vector<std::string> notes;
    if (!r.why.text.empty() && r.count == 1) notes.push_back(r.why.text);
    if (!r.why.text.empty() && r.count > 1) {
      notes.push_back(fmt::format("at {}: {}", r.nodes.front(), r.why.text));
    }
    Diagnostic& refusal = refusals_.emplace_back();
    refusal.message = fmt::format("{}: {} (rule `{}`)", nodes, r.text, r.rule->name);
    refusal.notes = std::move(notes);
  }
  refused_.clear();
  refused_of_.clear();
  if (refusals_.empty()) return {};
  return {StatusCode::kRefused, std::move(refusals_)};
}

}  // namespace qrewrite
