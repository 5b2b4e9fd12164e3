// PageData: two models and what happened between them as data for a page (engine/page/web/model.js).
#pragma once

#include <nlohmann/json.hpp>

#include "engine/diff/matching.h"
#include "engine/page/recorder.h"
#include "qrewrite/page.h"

namespace qrewrite {

// Texts, each once; the data has their numbers.
class StringTable {
 public:
  size_t Of(const std::string& text);
  nlohmann::ordered_json Json() const { return strings_; }

 private:
  std::map<std::string, size_t> index_;
  std::vector<std::string> strings_;
};

// Nodes and values of both graphs, each once.
class GraphData {
 public:
  GraphData(const Graph& a, const Graph& b, const GraphMatching& matching, bool names,
            StringTable& strings);
  // Adds `graphs`, `nodes`, `values`, `constants`.
  Status AddTo(nlohmann::ordered_json& data);

 private:
  using Json = nlohmann::ordered_json;
  struct Merged {
    NodeId a, b;  // one may be invalid
  };

  Status AddPair(BodyId a, BodyId b);  // one may be invalid
  void AddNode(const Merged& node, size_t graph);
  Json Side(const Graph& graph, NodeId n, bool of_b);
  int64_t ValueOf(ValueId v, bool of_b);
  int64_t ConstantOf(const Graph& graph, ValueId v);
  Json Described(const Tensor& tensor);
  void DescribeNumbers(const Tensor& tensor, Json& out);

  const Graph& a_;
  const Graph& b_;
  const GraphMatching& matching_;
  bool names_;
  StringTable& strings_;
  std::vector<int64_t> value_a_, value_b_;  // positions in values_, -1: none yet
  Json graphs_ = Json::array(), nodes_ = Json::array(), values_ = Json::array(),
       constants_ = Json::array();
  int64_t read_ = 0;  // elements of constants that were looked at
};

}  // namespace qrewrite
