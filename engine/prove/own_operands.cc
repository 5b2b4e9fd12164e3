#include "engine/prove/own_operands.h"

#include "engine/rule/check.h"

namespace qrewrite {

OwnOperands::Kind OwnOperands::KindOf(DType dtype) {
  return IsFloat(dtype) ? Kind::kFloat : IsInteger(dtype) ? Kind::kInteger : Kind::kOther;
}

void OwnOperands::Learn(const Graph& graph, Facts& facts) {
  for (size_t i = 0; i < graph.num_nodes(); ++i) {
    const NodeId n(i);
    if (!graph.alive(n)) continue;
    const OpName& op = graph.op_name(graph.op(n));
    if (!IsPrivateDomain(op.domain)) continue;
    for (size_t k = 0; k < graph.num_inputs(n); ++k) {
      const ValueId v = graph.input(n, k);
      const DType dtype = v.valid() ? facts.dtype(v) : DType::kUndefined;
      if (dtype != DType::kUndefined) kinds_[{op, k}].insert(KindOf(dtype));
    }
  }
}

bool OwnOperands::Have(const OpName& op, size_t input, DType dtype) const {
  const auto known = kinds_.find({op, input});
  return known == kinds_.end() || dtype == DType::kUndefined ||
         known->second.contains(KindOf(dtype));
}

}  // namespace qrewrite
