// What rules count, record and say of a match, while the graph is still as they found it.
#include <algorithm>

#include <fmt/format.h>

#include "engine/driver/run.h"

namespace qrewrite {

std::string RuleRun::TakeNotes(const CompiledRule& rule, Frame& frame) {
  notes_ = {};
  if (watch_.at_limit() && graph_.upgrade_opset() == 0 && !rewriter_.explains()) {
    watch_.Stop();
    rewriter_.EndSearch();
    return "the run stops here";
  }
  if (std::string fault = TakeRow(rule, frame); !fault.empty()) return fault;
  // Conditions of counters see the graph as it was before the firing; what is unknown does not
  // count.
  for (const CodeId when : rule.counters) {
    const Val truth = when.valid() ? in_.Condition(when, frame) : Val(true);
    const bool* counts = truth.get_if<bool>();
    notes_.counted.push_back(counts != nullptr && *counts);
  }
  NoteSaid(rule, frame);
  if (!in_.exhausted().empty()) return in_.exhausted();
  if (!in_.host_fault().ok()) {
    rewriter_.EndSearch();
    return in_.host_fault().message();
  }
  if (!rewriter_.explains()) watch_.BeforeFiring(rule, in_, frame);
  return "";
}

void RuleRun::NoteSaid(const CompiledRule& rule, Frame& frame) {
  notes_.said.clear();
  for (const auto& [text, value] : rule.says) {
    notes_.said += text;
    if (value.valid()) notes_.said += in_.Said(value, frame);
  }
}

std::string RuleRun::TakeRow(const CompiledRule& rule, Frame& frame) {
  for (const CompiledRule::Record& record : rule.records) {
    RecordRow row{.table = record.table, .of = {}, .columns = {}};
    for (const auto& [column, code] : record.columns) {
      Val value = in_.Eval(code, frame);
      if (value.stops()) return fmt::format("record `{}`: {}", column, in_.Why(value));
      if (column == "of") {
        if (!value.is<ValueId>()) return "record: `of` is a value of the graph";
        row.of = value.get<ValueId>();
        continue;
      }
      if (value.is<ValueId>() || value.is<List>()) value = in_.Force(value);
      if (value.stops()) return fmt::format("record `{}`: {}", column, in_.Why(value));
      row.columns.emplace_back(column, std::move(value));
    }
    row.in_units = !rule.rule->KeepsNumbers() || IsRetyped(rule, row.of, frame);
    notes_.rows.push_back(std::move(row));
  }
  return "";
}

bool RuleRun::IsRetyped(const CompiledRule& rule, ValueId v, const Frame& frame) {
  return std::ranges::any_of(rule.retype, [&](const auto& retype) {
    const ValueId* const of = frame.value(retype.first);
    return of != nullptr && *of == v;
  });
}

}  // namespace qrewrite
