// The tests inside rule files: `given` is built, rewritten and compared with `expect`.
//
// External interface: RunRuleTests(). Shape inference comes with the context, because this layer
// does not know the onnx library.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/base/function_ref.h"
#include "engine/driver/driver.h"

namespace qrewrite {

struct RuleTestOutcome {
  std::string rule;  // "": a test of the whole file
  std::string test;
  SourceSpan span;
  bool passed = false;
  std::string message;  // of a failed one: what differs, and the graphs, over several lines
  std::string got;      // of a failed one: what the graph became, if that is what is compared
};

// The tests of rules in their order, then those of the whole file, whose rule is null. Not those of included files: they
// hold with the definitions there, which the including file may replace.
void ForEachTest(const RuleSet& rules, FunctionRef<void(const Rule* rule, const RuleTest&)> visit);
// Runs those that are wanted: by the name of the rule ("": of the file) and of the test.
using WantsTest = FunctionRef<bool(const std::string& rule, const std::string& test)>;
std::vector<RuleTestOutcome> RunRuleTests(const Program& program, const RunContext& context,
                                          WantsTest wants);

// A test of several outputs that fails: the same of the first one of them that fails by itself, because the rule makes
// something else of it. nullopt: there is none.
std::optional<RuleTest> FailingPart(const Program& program, const Rule& rule, const RuleTest& test,
                                    const RunContext& context);

// Whether some test of the rule fails when `assumed`, one of its conditions, counts as met.
bool TestsNeed(const Program& program, const Rule& rule, CodeId assumed, const RunContext& context);
// The same of a condition of a definition, and of all tests of the file that run one of `rules`, those of the whole
// file included.
bool TestsNeed(const Program& program, const std::set<std::string>& rules, CodeId assumed,
               const RunContext& context);

// Lines of `before` and `after`: common ones behind "  ", others behind "- " and "+ ".
std::string DiffLines(const std::string& before, const std::string& after);

}  // namespace qrewrite
