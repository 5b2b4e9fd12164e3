// Nodes, attributes and types of a graph in words, each on one line.
#pragma once

#include <string>
#include <string_view>

#include "engine/graph/graph.h"
#include "engine/graph/type_text.h"

namespace qrewrite {

std::string TypeText(const Graph& graph, ValueId v);  // as declared; of a constant: what it is
// "[1, 1]", "'NOTSET'", "float[2] [1, 2]"; long ones are elided.
std::string AttributeText(const Graph& graph, const AttrValue& value);
std::string NameText(const Graph& graph, ValueId v);  // "%7" if it has none, "_" if it is absent
// The node's name, or that of the first value it makes.
std::string NameText(const Graph& graph, NodeId n);
std::string StatementText(const Graph& graph, NodeId n);  // "y = Conv<group=1>(x, w)"
// "then_branch of If `x`", "function acme.Gain"; "" for the main graph.
std::string PlaceText(const Graph& graph, BodyId body);
// A text of ours with names of a model in it, on one line and safe to print; long ones are cut.
std::string OneLine(std::string_view text, size_t max_length = 400);
std::string ConstantText(const Tensor& tensor, int64_t max_elements);  // "float[2] [1, 2]"

}  // namespace qrewrite
