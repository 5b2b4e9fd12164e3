// What rules say of inputs and outputs that they give another type, or other numbers of it: rows of `record:` with a scale
// and a zero point are what the new ones stand for.
#include <optional>

#include "engine/driver/run.h"

namespace qrewrite {
namespace {

std::optional<std::vector<double>> Numbers(const RecordRow& row, std::string_view column) {
  for (const auto& [name, value] : row.columns) {
    if (name != column) continue;
    if (!value.is_number()) return std::nullopt;
    const Result<std::vector<double>> numbers = ToDoubles(value.number().t);
    return numbers.ok() && !numbers->empty() ? std::optional(*numbers) : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

void RuleRun::TellUnits() {
  for (const RecordRow& row : records_) {
    if (!row.in_units || !graph_.alive(row.of)) continue;
    if (graph_.body_of(row.of) != graph_.main()) continue;  // nobody outside knows it
    const auto scale = Numbers(row, "scale"), zero_point = Numbers(row, "zero_point");
    if (!scale || !zero_point) continue;
    const size_t scales = scale->size(), zero_points = zero_point->size();
    if (scales != zero_points && scales != 1 && zero_points != 1) continue;
    Unit unit{.scale = *scale, .zero_point = *zero_point};
    if (const auto lo = Numbers(row, "lo"); lo && lo->size() == 1) unit.lo = lo->front();
    if (const auto hi = Numbers(row, "hi"); hi && hi->size() == 1) unit.hi = hi->front();
    report_.units[std::string(graph_.name(row.of))] = std::move(unit);
  }
}

}  // namespace qrewrite
