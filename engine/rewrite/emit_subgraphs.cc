// Emitter: subgraphs put in place of the node that holds them.
#include <fmt/format.h>

#include "engine/rewrite/body_copier.h"
#include "engine/rewrite/emit.h"

namespace qrewrite {

class Emitter::Copier : public BodyCopier {
 public:
  explicit Copier(Emitter& emitter) : BodyCopier(emitter.graph_), emitter_(emitter) {}

 private:
  void Added(ValueId copy, ValueId source) override { emitter_.Wish(copy, graph_.name(source)); }
  void Added(NodeId copy, NodeId source) override {
    emitter_.NoteCopy(copy, source);
    emitter_.nodes_.Add(copy);
  }

  Emitter& emitter_;
};

// Once for each body: what is called anew later has a name of its own.
void Emitter::CollectNames() {
  const auto [names, added] = names_.try_emplace(body_);
  if (!added) return;
  for (const NodeId n : graph_.body(body_).nodes) names->second.insert(graph_.name(n));
}

Vals Emitter::Inline(BodyId body, const MakeCall& call, Frame& frame) {
  const Body& source = graph_.body(body);
  const Vals args = Written(call, frame);
  if (!args.empty() && args.back().stops()) return Fail(in_.WhyIfAsked(args.back()));
  if (args.size() != source.inputs.size()) {
    return Fail(
        fmt::format("the subgraph takes {} inputs, not {}", source.inputs.size(), args.size()));
  }
  Copier copier(*this);
  if (copier.HoldsCarried(body)) return Fail("the subgraph has a tensor that cannot be copied");
  BodyCopier::Values values;
  const OpName nothing;
  const Head none{nothing, {}};
  for (size_t i = 0; i < args.size(); ++i) {
    Inputs operand;
    if (!Operands(none, {args[i]}, operand)) return Fail(reason_);
    values[source.inputs[i]] = operand.empty() ? ValueId() : operand[0];
  }
  CollectNames();
  copier.CopyNodes(body, body_, values);
  Vals out;
  for (size_t i = 0; i < graph_.body(body).outputs.size(); ++i) {
    const ValueId v = graph_.output(body, i);
    const auto it = values.find(v);
    out.emplace_back(it == values.end() ? v : it->second);
  }
  return out;
}

// A subgraph is an attribute of one node: a new one takes it from a node that goes, once; else it
// gets a copy.
bool Emitter::OwnSubgraphs(AttrValue& value) {
  const auto* body = std::get_if<BodyId>(&value);
  if (body == nullptr) return true;
  const NodeId owner = graph_.body(*body).owner;
  bool goes = !options_.copies_bodies && owner.valid() && owner.index < first_new_;
  for (size_t i = 0; goes && i < graph_.num_outputs(owner); ++i) {
    const ValueId v = graph_.output(owner, i);
    goes = !v.valid() || graph_.num_uses(v) == 0 || going_.contains(v);
  }
  if (goes) {
    robbed_.push_back(owner);
    return true;
  }
  Copier copier(*this);
  if (copier.HoldsCarried(*body)) {
    return Reject("the subgraph has a tensor that cannot be copied");
  }
  BodyCopier::Values values;
  value = copier.CopyAttribute(value, body_, values);
  return true;
}

// What `from` has and `attributes` do not, with subgraphs as a new node has them.
bool Emitter::AddOwned(const Attributes& from, Attributes& attributes) {
  // NOLINTNEXTLINE(performance-unnecessary-copy-initialization): it may lie in a table of the graph, which grows
  const Attributes kept = from;
  for (const Attribute& a : kept) {
    if (attributes.Find(a.name) != nullptr) continue;
    if (std::holds_alternative<std::vector<BodyId>>(a.value))
      return Reject("a list of subgraphs cannot be copied");
    AttrValue value = a.value;
    if (!OwnSubgraphs(value)) return false;
    attributes.Set(a.name, std::move(value));
  }
  return true;
}

}  // namespace qrewrite
