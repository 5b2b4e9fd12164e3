#include "engine/rewrite/input_shapes.h"

#include <algorithm>

#include <fmt/format.h>

#include "engine/base/diagnostics.h"
#include "engine/rewrite/edit.h"

namespace qrewrite {
namespace {

using Symbols = std::map<uint32_t, int64_t>;

Result<ValueId> FindInput(const Graph& graph, const std::string& name) {
  std::vector<std::string> names;
  for (const ValueId v : graph.inputs()) {
    if (graph.name(v) == name) return v;
    names.emplace_back(graph.name(v));
  }
  Diagnostic diagnostic{.message = fmt::format("the model has no input `{}`", Printable(name)),
                        .hint = DidYouMean(name, names)};
  return Status(StatusCode::kUsage, std::vector{std::move(diagnostic)});
}

// What `shape` makes of the declared type of an input.
Result<TypeInfo> Shaped(const Graph& graph, ValueId input, const std::vector<int64_t>& shape,
                        Symbols& symbols) {
  const std::string name = Printable(graph.name(input));
  TypeInfo type = graph.declared(input);
  const auto fault = [&](std::string text) { return Status(StatusCode::kUsage, std::move(text)); };
  if (!type.is_tensor) return fault(fmt::format("input `{}` is no tensor", name));
  if (type.has_rank && type.dims.size() != shape.size()) {
    return fault(fmt::format("input `{}` has rank {}, but {} sizes are given", name,
                             type.dims.size(), shape.size()));
  }
  if (!type.has_rank) type.dims.resize(shape.size());
  for (size_t i = 0; i < shape.size(); ++i) {
    const Dim was = type.dims[i];
    if (was.known() && was.size() != shape[i]) {
      return fault(
          fmt::format("size {} of input `{}` is {}, not {}", i, name, was.size(), shape[i]));
    }
    if (was.symbolic()) {
      const auto [it, added] = symbols.emplace(was.symbol(), shape[i]);
      if (it->second != shape[i]) {
        return fault(fmt::format("size {} of input `{}` is {} elsewhere, not {}", i, name,
                                 it->second, shape[i]));
      }
    }
    type.dims[i] = Dim(shape[i]);
  }
  type.has_rank = true;
  return type;
}

}  // namespace

Result<int64_t> FixInputShapes(Graph& graph,
                               const std::map<std::string, std::vector<int64_t>>& shapes) {
  Symbols symbols;
  std::vector<std::pair<ValueId, TypeInfo>> types;
  for (const auto& [name, shape] : shapes) {
    QR_ASSIGN_OR_RETURN(const ValueId input, FindInput(graph, name));
    QR_ASSIGN_OR_RETURN(TypeInfo type, Shaped(graph, input, shape, symbols));
    if (!graph.declared(input).known_shape()) types.emplace_back(input, std::move(type));
  }
  const size_t given = types.size();
  for (size_t i = 0; i < graph.num_values() && !symbols.empty(); ++i) {
    const ValueId v(i);
    if (!graph.alive(v)) continue;
    TypeInfo type = graph.declared(v);
    bool any = false;
    for (Dim& dim : type.dims) {
      const auto known = dim.symbolic() ? symbols.find(dim.symbol()) : symbols.end();
      if (known != symbols.end()) dim = Dim(known->second), any = true;
    }
    const auto is_this = [&](const auto& t) { return t.first == v; };
    if (any &&
        std::none_of(types.begin(), types.begin() + static_cast<std::ptrdiff_t>(given), is_this)) {
      types.emplace_back(v, std::move(type));
    }
  }
  for (const auto& [value, type] : types) DeclareType(graph, value, type);
  return static_cast<int64_t>(types.size());
}

}  // namespace qrewrite
