// Types in words, for messages and reports.
#pragma once

#include <string>
#include <vector>

#include "engine/graph/graph.h"

namespace qrewrite {

// Each size as a number, the name of a symbol, or "?".
std::vector<std::string> DimTexts(const Graph& graph, const std::vector<Dim>& dims);

// "float[1, N]"; a scalar is "float", an unknown rank "float[..]", nothing known "?".
std::string TypeText(const Graph& graph, const TypeInfo& type);

}  // namespace qrewrite
