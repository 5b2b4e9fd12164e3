// Loading of rule files: YAML or JSON text -> document tree -> RuleSet, checked.
//
// All faults of a file (and of those it includes) are reported at once, with file:line:column.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/fold/kernel.h"
#include "engine/rule/ast.h"
#include "qrewrite/status.h"

namespace qrewrite {

struct LoadOptions {
  // Reads an included file given the path as resolved against the including one. Default: the disk,
  // regular files of at most kMaxDocBytes.
  std::function<Result<std::string>(const std::string& path)> read;
  // The file of the shipped rule set of that name, for `include: [optimize]` where no file is called so; "": there is
  // none. Default: there are none.
  std::function<std::string(const std::string& name)> find;
  // Functions and predicates a host registered: calls of them are accepted.
  std::vector<std::string> host_functions;
  // False: `tests:` and `computes:` are passed over, faults in them and all.
  bool tests = true;
  // Of files that need not be read and checked as long as nobody changes them (engine/rule/snapshot.h). Only for loading from
  // the disk, without functions of a host.
  std::string_view snapshots;
};

// Loads `path`; ".json" is read as JSON, anything else as YAML. Errors: kInvalidRules with every
// fault; kIo if the file itself cannot be read.
Result<std::shared_ptr<const RuleSet>> LoadRules(const std::string& path,
                                                 const LoadOptions& options = {});
// `text` as if it were the content of `path`.
Result<std::shared_ptr<const RuleSet>> LoadRulesText(const std::string& path, std::string text,
                                                     const LoadOptions& options = {});

// Warnings of a loaded set: unused definitions, sets and rules, rules without tests, possible
// loops.
std::vector<Diagnostic> Lint(const RuleSet& rules,
                             const KernelRegistry& kernels = KernelRegistry::Builtin());

// The JSON Schema of rule files, from the table of keys that the loader uses
// (engine/rule/fields.inc).
std::string RuleFileSchema();

}  // namespace qrewrite
