// Plan: a pattern made ready for the search: names resolved to slots, operator heads to tests,
// statements put in an order in which each one is reached from values already bound.
//
// External interface: CompileRule, CompileDefinition. A plan belongs to one run on one graph (it caches
// which of the graph's operators a head accepts) and refers to the rule set, which must outlive it.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/graph/graph.h"
#include "engine/rule/ast.h"

namespace qrewrite {

// The names of one rule or one case of a definition.
struct SlotNames {
  std::vector<std::string> names;  // slot -> name
  std::map<std::string, int, std::less<>> slots;
  std::map<int, std::pair<const Let*, int>> lets;  // slot -> its let, position in the let's names
  std::map<std::string, std::vector<const OpSet*>, std::less<>>
      label_sets;  // label -> sets of its head

  int Find(std::string_view name) const {
    const auto it = slots.find(name);
    return it == slots.end() ? -1 : it->second;
  }
  int Add(const std::string& name);
};

// Which operators a head accepts.
class OpTest {
 public:
  bool negated = false;
  std::vector<OpPattern> patterns;

  bool Accepts(const Graph& graph, OpId op) const;

 private:
  mutable std::vector<signed char> cache_;  // by OpId: -1 not asked; a plan is used by one thread
};

struct PatCall;

struct PatArg {
  enum class Kind : uint8_t { kAny, kName, kLiteral, kCall, kGroup };
  Kind kind = Kind::kAny;
  bool optional = false;
  bool repeated = false;
  std::string input;              // `x_scale=`: the formal input it stands for
  int slot = -1;                  // kName
  const Expr* literal = nullptr;  // kLiteral
  std::unique_ptr<PatCall> call;  // kCall
  std::vector<PatArg> group;      // kGroup
  std::vector<int> inner;         // every slot bound inside, this name included
  const Expr* expr = nullptr;     // for messages
};

struct PatAttr {
  std::string name;
  enum class Kind : uint8_t { kAny, kName, kCompare } kind = Kind::kAny;
  bool optional = false;
  int slot = -1;
  const Expr* value = nullptr;
};

struct PatCall {
  const Expr* expr = nullptr;
  const Definition* definition = nullptr;  // `$name(...)`; else an operator
  OpTest ops;
  int label = -1;  // slot
  Quantifier quantifier = Quantifier::kOne;
  std::vector<PatAttr> attrs;
  bool has_rest = false;  // `**name` or `**_`
  int rest = -1;          // slot of `**name`
  std::vector<PatArg> args;
};

struct PatOut {
  int slot = -1;  // -1: `_`
  bool optional = false;
  bool repeated = false;
};

struct PatStmt {
  std::vector<PatOut> outs;
  PatArg value;  // kAny with expr == null: the statement only names its output
  const Stmt* stmt = nullptr;
};

struct PatWhere {
  const Expr* expr = nullptr;
  std::vector<int> needs;  // slots that must be bound, lets resolved
};

// How the search reaches a statement.
struct PlanStep {
  int stmt = 0;
  bool down = false;  // by walking uses of `slot`; else from the producer of `slot`
  int slot = -1;
};

struct Pattern {
  std::vector<PatStmt> stmts;
  std::vector<PatWhere> where;
  std::vector<std::vector<int>> watch;  // slot -> conditions to try when it is bound
  std::vector<int> early;               // conditions without names
  int anchor = 0;                       // statement the search starts at
  std::vector<PlanStep> rest;           // the other statements, in order
};

struct CompiledCase;

struct CompiledRule {
  const Rule* rule = nullptr;
  SlotNames scope;
  Pattern pattern;
  std::vector<int> redefined;  // statements whose outputs the rule redefines
  std::vector<CompiledCase> cases;
};

// A case of a definition or rule, with its own names.
struct CompiledCase {
  const Case* source = nullptr;
  SlotNames scope;
  bool has_match = false;
  Pattern pattern;  // if has_match; else only `where` is used
  std::vector<CompiledCase> cases;
};

struct CompiledDefinition {
  const Definition* definition = nullptr;
  std::vector<CompiledCase> cases;
};

std::unique_ptr<CompiledRule> CompileRule(const RuleSet& rules, const Rule& rule);
std::unique_ptr<CompiledDefinition> CompileDefinition(const RuleSet& rules, const Definition& d);

// The operators that the anchor of a pattern can be; nullopt if any. Definitions are looked into.
std::optional<std::vector<OpPattern>> AnchorOps(const RuleSet& rules, const Pattern& pattern);

// Every name an expression mentions (calls' labels and dotted heads included), unresolved.
void CollectNames(const Expr& expr, std::vector<std::string>& names);

}  // namespace qrewrite
