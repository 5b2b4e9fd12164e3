// What is behind Model: the model file, and whether a failed rewrite made it unusable.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "engine/graph/inference.h"
#include "engine/onnx_io/model_file.h"
#include "qrewrite/model.h"

namespace qrewrite {

struct Model::Impl {
  std::unique_ptr<ModelFile> file;
  std::unique_ptr<ShapeInference> inference;  // made for the first rewrite
  Status poison;
  std::vector<std::string> read;  // files that rewrites read: arrays for `write:`

  // Files that must not be replaced.
  void Protect(OutputSet& files) const;
  // The poison as an error of who wants to use the model now.
  Status Usable() const;
};

// PrintGraph for a whole model or a part of it (model_text.cc).
Result<std::string> ModelText(const Graph& graph, const TextOptions& options);

// The nodes that the options choose; none if they ask for no part. kUsage: they choose nothing.
Result<std::set<NodeId>> SelectedNodes(const Graph& graph, const TextOptions& options);

// Type and shape as the file declares them.
ModelValue ToModelValue(const Graph& graph, ValueId v);

}  // namespace qrewrite
