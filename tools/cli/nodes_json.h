// NodesJson: nodes as `find --json` and --trace tell them.
#pragma once

#include <vector>

#include <nlohmann/json.hpp>

#include "qrewrite/observer.h"

namespace qrewrite::cli {

inline nlohmann::ordered_json NodesJson(const std::vector<NodeView>& nodes) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const NodeView& node : nodes) {
    list.push_back(
        {{"op", node.op}, {"name", node.name}, {"inputs", node.inputs}, {"outputs", node.outputs}});
  }
  return list;
}

}  // namespace qrewrite::cli
