#include "engine/graph/type_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace qrewrite {

std::vector<std::string> DimTexts(const Graph& graph, const std::vector<Dim>& dims) {
  std::vector<std::string> texts;
  for (const Dim dim : dims) {
    texts.push_back(dim.known()      ? std::to_string(dim.size())
                    : dim.symbolic() ? graph.symbol_name(dim)
                                     : "?");
  }
  return texts;
}

std::string TypeText(const Graph& graph, const TypeInfo& type) {
  if (!type.is_tensor) return "no tensor";
  const std::string text(type.dtype == DType::kUndefined ? "?" : Info(type.dtype).text_name);
  if (!type.has_rank) return text == "?" ? text : text + "[..]";
  if (type.dims.empty()) return text;
  return fmt::format("{}[{}]", text, fmt::join(DimTexts(graph, type.dims), ", "));
}

}  // namespace qrewrite
