// What is behind Rules and FunctionRegistry.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/fold/kernel.h"
#include "engine/match/interpreter.h"
#include "engine/rule/ast.h"
#include "qrewrite/functions.h"
#include "qrewrite/rules.h"

namespace qrewrite {

struct FunctionRegistry::Impl {
  HostFunctions functions;
  KernelRegistry kernels = KernelRegistry::Builtin();
};

struct Rules::Impl {
  std::string path;
  std::shared_ptr<const RuleSet> set;
  std::shared_ptr<const Program> program;  // of the set; shared by all runs
  // Copies: whoever goes on adding to a registry does not change rules that are in use.
  HostFunctions functions;
  KernelRegistry kernels;
};

// The rule of that name in the rule set of that name: `rules`, or one that a phase of it runs. Null: there is none.
const Rule* FindRule(const RuleSet& rules, std::string_view set, std::string_view rule);

// The file that a name stands for, or `path_or_name` itself if it is none of a shipped rule set.
std::string FindRuleFile(const std::string& path_or_name, const std::vector<std::string>& search);
// The file of the rule set of that name, in `search` or shipped; "": there is none.
std::string FindRuleSet(const std::string& name, const std::vector<std::string>& search);
// Snapshots of the shipped rule sets as they were when the program was built (engine/rule/snapshot.h).
std::string_view ShippedSnapshots();
// Names of shipped rule sets, for did-you-mean.
std::vector<std::string> ShippedRuleNames();

}  // namespace qrewrite
