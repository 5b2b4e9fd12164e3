// What every changed model gets at the end: no dead nodes, no unused initializers, imports that
// fit, no stale value_info.
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

}  // namespace

Status Finish(Graph& graph, const Signatures& signatures, NodeId made, const RunContext& context,
              RunReport& report) {
  Facts facts(graph, signatures, KernelsOf(context), context.inference);
  report.removed += RemoveUnused(graph);
  FixImports(graph, signatures);
  RaiseImports(graph, signatures, made);
  LeaveIr3(graph);
  DropStaleTypes(graph, facts);
  return facts.host_fault();
}

}  // namespace qrewrite
