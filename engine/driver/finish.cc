// What every changed model gets at the end: no dead nodes, no unused initializers, imports that
// fit, no stale value_info.
#include <algorithm>

#include "engine/driver/run.h"

namespace qrewrite {
namespace {

// Domains the live nodes of a body and its subgraphs use. One body a function, one for the rest.
std::map<BodyId, std::set<std::string>> UsedDomains(const Graph& graph) {
  std::map<BodyId, std::set<std::string>> used;
  for (size_t i = 0; i < graph.num_nodes(); ++i) {
    const NodeId n(i);
    if (!graph.alive(n)) continue;
    BodyId root = graph.body_of(n);
    while (graph.body(root).kind == BodyKind::kSubgraph) root = graph.body(root).parent;
    used[root].insert(graph.op_name(graph.op(n)).domain);
  }
  return used;
}

void FixImports(Graph& graph, const Signatures& signatures) {
  std::map<BodyId, std::set<std::string>> used = UsedDomains(graph);
  for (size_t b = 0; b < graph.num_bodies(); ++b) {
    const Body& body = graph.body(BodyId(b));
    if (!body.alive || body.kind == BodyKind::kSubgraph) continue;
    std::set<std::string>& domains = used[BodyId(b)];
    if (body.kind == BodyKind::kFunction) used[graph.main()].insert(body.function.domain);
    if (body.kind == BodyKind::kMain) continue;
    auto& imports = graph.mutable_body(BodyId(b)).opset;
    std::erase_if(imports,
                  [&](const auto& i) { return !i.first.empty() && !domains.count(i.first); });
    for (const std::string& domain : domains) imports.try_emplace(domain, 1);
  }
  const std::set<std::string>& domains = used[graph.main()];
  std::erase_if(graph.opset(),
                [&](const auto& i) { return !i.first.empty() && !domains.count(i.first); });
  for (size_t i = 0; i < graph.num_nodes(); ++i) {
    const NodeId n(i);
    if (!graph.alive(n)) continue;
    const OpName& op = graph.op_name(graph.op(n));
    if (op.domain.empty() || graph.opset().count(op.domain)) continue;
    const Signature* s = signatures.Newest(op.domain, op.name);
    graph.opset()[op.domain] = s != nullptr && s->since > 0 ? s->since : 1;
  }
}

// IR 3 wants every initializer among the inputs; new ones are not, so the model moves to IR 4, and
// there a twin would mean "the caller may override".
void LeaveIr3(Graph& graph) {
  if (graph.ir_version >= 4 || graph.ir_version == 0) return;
  graph.ir_version = 4;
  for (size_t b = 0; b < graph.num_bodies(); ++b) {
    if (!graph.body(BodyId(b)).alive) continue;
    const std::vector<ValueId> constants = graph.body(BodyId(b)).constants;
    for (const ValueId v : constants) {
      if (graph.alive(v) && graph.constant(v) != nullptr && graph.IsInput(v)) {
        graph.RemoveInput(BodyId(b), v);
      }
    }
  }
}

// value_info that contradicts what is there would be believed by others.
void DropStaleTypes(Graph& graph, Facts& facts) {
  for (size_t i = 0; i < graph.num_values(); ++i) {
    const ValueId v(i);
    if (!graph.alive(v) || !graph.producer(v).valid() || graph.IsOutput(v)) continue;
    const TypeInfo& said = graph.declared(v);
    if (said == TypeInfo() || !said.is_tensor) continue;
    const TypeInfo fact = facts.Type(v);
    if (fact.is_tensor && fact.dtype != DType::kUndefined && !(fact == said))
      graph.SetDeclared(v, fact);
  }
}

}  // namespace

int64_t RemoveUnused(Graph& graph, Rewriter& rewriter) {
  int64_t before = 0, after = 0;
  const auto count = [&](int64_t& out) {
    for (size_t n = 0; n < graph.num_nodes(); ++n) out += graph.alive(NodeId(n));
    for (size_t v = 0; v < graph.num_values(); ++v) {
      out += graph.alive(ValueId(v)) && graph.constant(ValueId(v)) != nullptr;
    }
  };
  count(before);
  std::vector<NodeId> nodes;
  for (size_t n = 0; n < graph.num_nodes(); ++n) {
    if (graph.alive(NodeId(n)) && !graph.HasReaders(NodeId(n))) nodes.emplace_back(n);
  }
  rewriter.RemoveDead(std::move(nodes));
  for (size_t b = 0; b < graph.num_bodies(); ++b) {
    if (!graph.body(BodyId(b)).alive) continue;
    const std::vector<ValueId> constants = graph.body(BodyId(b)).constants;
    for (const ValueId v : constants) {
      const bool unused = graph.alive(v) && graph.constant(v) != nullptr && graph.num_uses(v) == 0;
      // One that callers may override is part of the interface.
      if (unused && !(graph.Overridable(v) && graph.ir_version >= 4)) graph.RemoveConstant(v);
    }
  }
  count(after);
  return before - after;
}

Status Finish(Graph& graph, const Signatures& signatures, const RunContext& context,
              RunReport& report) {
  static const auto* const none =
      new std::shared_ptr<const Program>(Compile(std::make_shared<const RuleSet>()));
  static const auto* const no_functions = new HostFunctions();
  static const auto* const no_params = new Params();
  const KernelRegistry& kernels =
      context.kernels != nullptr ? *context.kernels : KernelRegistry::Builtin();
  Facts facts(graph, signatures, kernels, context.inference);
  Interpreter interpreter(graph, **none, facts, kernels, *no_params, *no_functions);
  Rewriter rewriter(graph, interpreter);
  report.removed += RemoveUnused(graph, rewriter);
  FixImports(graph, signatures);
  LeaveIr3(graph);
  DropStaleTypes(graph, facts);
  return {};
}

}  // namespace qrewrite
