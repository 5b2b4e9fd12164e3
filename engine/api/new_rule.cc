#include "qrewrite/new_rule.h"

#include <memory>

#include "engine/api/model_impl.h"
#include "engine/driver/new_rule.h"
#include "engine/driver/piece.h"
#include "engine/onnx_io/inference.h"

namespace qrewrite {

Result<std::string> NewRule(const Model& model, const NewRuleOptions& options) {
  QR_RETURN_IF_ERROR(model.impl().Usable());
  const Graph& graph = model.impl().file->graph();
  QR_ASSIGN_OR_RETURN(const std::vector<NodeId> piece, PieceNamed(graph, options.nodes));
  const std::unique_ptr<ShapeInference> inference = MakeOnnxInference();
  return NewRuleText(graph, piece, options.name, {.inference = inference.get()});
}

}  // namespace qrewrite
