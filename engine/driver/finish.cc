// What every changed model gets at the end: no dead nodes, no unused initializers, imports that
// fit, no stale value_info, element types at the ends of branches.
#include "engine/driver/run.h"

namespace qrewrite {
namespace {

// value_info that contradicts what is there would be believed by others.
void DropStaleTypes(Graph& graph, Facts& facts) {
  for (size_t i = 0; i < graph.num_values(); ++i) {
    const ValueId v(i);
    if (!graph.alive(v) || !graph.producer(v).valid() || graph.IsOutput(v)) continue;
    const TypeInfo& said = graph.declared(v);
    if (said == TypeInfo() || !said.is_tensor) continue;
    const TypeInfo fact = facts.Type(v);
    if (fact.is_tensor && fact.dtype != DType::kUndefined && !(fact == said))
      DeclareType(graph, v, fact);
  }
}

// What a rule made at the end of a branch has no type if what was there had none; then nobody who does not know its
// operator can tell the type of the If. Its sizes stay open: branches may have different ones, and the If those of one.
void DeclareEnds(Graph& graph, NodeId made, Facts& facts) {
  for (size_t b = 0; b < graph.num_bodies(); ++b) {
    const BodyId body(b);
    if (graph.body(body).kind != BodyKind::kSubgraph) continue;
    for (size_t i = 0; i < graph.body(body).outputs.size(); ++i) {
      const ValueId v = graph.output(body, i);
      if (!v.valid() || graph.body_of(v) != body) continue;
      const NodeId n = graph.producer(v);
      if (!n.valid() || n.index < made.index || !(graph.declared(v) == TypeInfo())) continue;
      const TypeInfo& type = facts.Type(v);
      if (type.is_tensor && type.dtype != DType::kUndefined)
        DeclareType(graph, v, {.dtype = type.dtype});
    }
  }
}

}  // namespace

Status Finish(Graph& graph, const Signatures& signatures, NodeId made, const RunContext& context,
              RunReport& report) {
  Facts facts(graph, signatures, KernelsOf(context), context.inference);
  report.removed += RemoveUnused(graph);
  FixImports(graph, signatures);
  RaiseImports(graph, signatures, made);
  LeaveIr3(graph);
  DropStaleTypes(graph, facts);
  DeclareEnds(graph, made, facts);
  return facts.host_fault();
}

}  // namespace qrewrite
