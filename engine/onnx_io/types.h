// Types: ValueInfoProto and TypeProto on the wire, to and from TypeInfo.
#pragma once

#include <string>
#include <string_view>

#include "engine/graph/graph.h"
#include "engine/graph/type.h"
#include "qrewrite/status.h"

namespace qrewrite {

struct ValueInfo {
  std::string_view name;
  TypeInfo type;
};

// Reads a ValueInfoProto. Symbols are interned in `graph`. An element type newer than this program
// is an unknown one.
Result<ValueInfo> ParseValueInfo(std::string_view message, Graph& graph);

// A ValueInfoProto for `type` under `name`. What `original` (a ValueInfoProto, or "") says beyond
// the type is kept: doc string, metadata, denotations, unknown fields.
std::string SpellValueInfo(const Graph& graph, std::string_view name, const TypeInfo& type,
                           std::string_view original);

}  // namespace qrewrite
