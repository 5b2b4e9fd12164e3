// Rules: a rule set, loaded from a rule file and checked.
//
// Thread-safety: immutable once loaded. Copies share the data; one Rules may be used by any number
// of threads at once, each with a Model of its own.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "qrewrite/functions.h"
#include "qrewrite/status.h"

namespace qrewrite {

struct LoadRulesOptions {
  std::shared_ptr<const FunctionRegistry>
      functions;                    // may be null; not changed any more from here on
  std::vector<std::string> search;  // folders, before those of ShippedRuleFolders()
  bool tests =
      true;  // false: `tests:` and `computes:` are passed over, which is quicker; RunTests() finds none then
};

struct ParamInfo {
  std::string name;
  std::string type;  // bool, int, float, string, path, regex, bytes, ints, floats, strings, any
  std::optional<std::string> default_value;  // as `--set` takes it
  std::vector<std::string> one_of;
  std::string doc;
};

struct RuleInfo {
  std::string name;
  std::string doc;
  // What the rule preserves: "exact", "approx(30dB)", "none"; "" if not stated.
  std::string equivalence;
  std::string opset;                  // ">=10"; "": any
  std::vector<std::string> counters;  // what its firings count under
  int tests = 0;
};

struct TestResult {
  std::string rule;  // "": a test of the whole file
  std::string test;
  std::string place;  // "file:line"
  bool passed = false;
  std::string message;  // of a failed one: graphs and their difference, over several lines
  // Of a failed one that expects a graph or `unchanged`, if the run came to its end: the graph as text;
  // "unchanged" if it stayed as it was.
  std::string got;
  std::string file;  // of the test
  int line = 0;
};

struct TestInfo {
  std::string rule;  // as of a TestResult
  std::string test;
  std::string file;
  int line = 0;
};

struct TestReport {
  std::vector<TestResult> results;
  int passed = 0, failed = 0;
};

class Rules {
 public:
  // `path_or_name`: a file; or, without a slash and if there is no such file, the name of a rule
  // set in one of the folders, with or without its ending. kInvalidRules: everything that is wrong
  // in the file; kIo: it cannot be read.
  static Result<Rules> Load(const std::string& path_or_name, const LoadRulesOptions& options = {});
  // `text` as if it were the content of the file `name` (".json": JSON, else YAML).
  static Result<Rules> Parse(const std::string& name, const std::string& text,
                             const LoadRulesOptions& options = {});

  const std::string& name() const;
  const std::string& summary() const;
  const std::string& opset() const;        // ">=10": what models must import; "": any
  const std::string& path() const;         // of the file it was loaded from
  std::vector<std::string> files() const;  // that file, then all that it includes
  std::vector<ParamInfo> params() const;
  std::vector<RuleInfo> rules() const;  // in the order of the file, included ones first
  bool HasParam(const std::string& name) const;
  bool HasRule(const std::string& name) const;  // also of a rule set that a phase uses

  // Warnings: what is unused, untested, or may loop.
  std::vector<Diagnostic> Lint() const;
  // The tests inside the file, in its order.
  std::vector<TestInfo> tests() const;
  // Runs them; or those alone that are wanted, by the names of rule and test.
  TestReport RunTests() const;
  using WantsTest = std::function<bool(const std::string& rule, const std::string& test)>;
  TestReport RunTests(const WantsTest& wants) const;

  struct Impl;  // engine/api/rules_impl.h
  const Impl& impl() const { return *impl_; }

 private:
  explicit Rules(std::shared_ptr<const Impl> impl);
  static Result<Rules> Make(const std::string& path, const std::string* text,
                            const LoadRulesOptions& options);
  std::shared_ptr<const Impl> impl_;
};

// Where shipped rule sets are looked for, in this order, existing folders only:
// $QREWRITE_RULES_DIR; ../../rules and ../share/qrewrite/rules as seen from the program;
// ../share/qrewrite/rules and share/qrewrite/rules as seen from the library that is loaded; where the
// library was installed; the source tree it was built from.
std::vector<std::string> ShippedRuleFolders();
// Files of the rule sets there; of several with one name the one that is found first. Sorted by
// name.
std::vector<std::string> ShippedRuleFiles();
// The JSON Schema of rule files.
std::string RuleSchema();

}  // namespace qrewrite
