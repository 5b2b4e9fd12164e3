// Pattern: the statements of a `match` over the slots of a frame, the conditions on their names, and
// the ways by which one statement leads to the next.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <boost/container/small_vector.hpp>

#include "engine/program/code.h"
#include "engine/rule/ast.h"

namespace qrewrite {

struct PatCall;
struct PatGroup;
struct PatRepeat;

struct PatArg {
  enum class Kind : uint8_t { kAny, kName, kLiteral, kCall, kGroup };
  Kind kind = Kind::kAny;
  bool optional = false;
  bool repeated = false;
  int slot = -1;                  // kName
  CodeId literal;                 // kLiteral: its value
  std::string_view input;         // `x_scale=`: the formal input it stands for; of the syntax tree
  std::unique_ptr<PatCall> call;  // kCall
  std::unique_ptr<PatGroup> group;    // kGroup
  std::unique_ptr<PatRepeat> repeat;  // repeated, and no `_...`
  const Expr* expr = nullptr;         // what was written: the literal, and for messages

  std::span<const PatArg> members() const;  // kGroup; else none
  std::span<const int> slots() const;       // every slot bound inside, this name included
};

// Most calls have no more, and bind no more.
using PatArgs = boost::container::small_vector<PatArg, 3>;
using PatSlots = boost::container::small_vector<int, 4>;

struct PatAttr {
  std::string name;
  enum class Kind : uint8_t { kAny, kName, kCompare } kind = Kind::kAny;
  bool optional = false;
  int slot = -1;
  CodeId value;  // kCompare
  const Expr* expr = nullptr;
};

struct PatCall {
  const Expr* expr = nullptr;
  int definition = -1;  // `$name(...)`: its number; else an operator
  OpHead ops;
  int label = -1;  // slot
  Quantifier quantifier = Quantifier::kOne;
  std::vector<PatAttr> attrs;
  std::vector<std::string> mentioned;  // names of attrs
  bool has_rest = false;               // `**name` or `**_`
  int rest = -1;                       // slot of `**name`
  PatArgs args;
  PatSlots slots;  // every slot bound inside
  // Of a chain: the condition `uses(inner(c)) == 1` of the rule. Beyond a value that has another
  // reader no longer chain meets it.
  CodeId alone;
  // Those of args without a name, in order. Of the steps of a chain the first is any value: what
  // stands there is what the chain starts from.
  boost::container::small_vector<const PatArg*, 3> positional;
  std::span<const PatArg* const> in_order() const { return {positional.data(), positional.size()}; }
  // Whether what it makes comes from one node, and that is an operator of the call.
  bool is_one_node() const { return definition < 0 && quantifier == Quantifier::kOne; }
};

struct PatGroup {
  std::vector<PatArg> members;
  PatSlots slots;  // every slot bound inside
};

// The names inside what is repeated, each once.
struct PatRepeat {
  PatSlots lists;  // become lists
  PatSlots same;   // stand elsewhere without `...`: one value, the same in each member
};

inline std::span<const PatArg> PatArg::members() const {
  return group ? std::span<const PatArg>(group->members) : std::span<const PatArg>();
}

inline std::span<const int> PatArg::slots() const {
  if (call) return {call->slots.data(), call->slots.size()};
  if (group) return {group->slots.data(), group->slots.size()};
  return {&slot, slot >= 0 ? size_t{1} : size_t{0}};
}

struct PatOut {
  int slot = -1;  // -1: `_`
  bool optional = false;
  bool repeated = false;
};
using PatOuts = boost::container::small_vector<PatOut, 2>;

struct PatStmt {
  PatOuts outs;
  PatArg value;  // kCall; kAny with expr == null: the statement only names its output
  const Stmt* stmt = nullptr;
};

struct PatWhere {
  CodeId code;
  const Expr* expr = nullptr;
  std::vector<int> needs;  // slots that must be bound, lets resolved; sorted
  // The pattern binds one of them, and the condition is tried when the last one is bound.
  bool watched = false;
  bool part = false;  // of one that stands here, too, but is tried sooner
  // Of lists it holds only if it holds of each of their members.
  bool of_each = false;
};

// A way from a bound name to a statement: up, from a value to the statement that makes it, or down,
// from a value to one that reads it. A list leads on from the first member that
// there is a way from.
struct Way {
  int stmt = 0;
  bool down = false;
  bool list = false;  // the name stands in front of `...`
  int slot = -1;
};

struct Pattern {
  std::vector<PatStmt> stmts;
  std::vector<PatWhere> where;
  std::vector<std::vector<int>> watch;  // slot -> conditions to try when it is bound; none behind
  std::vector<CodeId> early;  // conditions without names, and such parts of what `and` joins
  int num_slots = 0;          // of the frame when the pattern was compiled: its names
  int anchor = -1;            // statement the search starts at; -1: at given values
  // Every way to a statement, upward ones first; which one is taken is decided when it is known
  // what the names are: a constant or an absent value leads nowhere.
  std::vector<Way> ways;
  size_t num_sought = 0;    // statements to reach: all but the anchor
  bool walks_down = false;  // some statement can only be reached by reading

  // The call that makes a name, or what an argument stands for: by its name, or nested in it. Null:
  // the pattern does not say what makes it. Following them comes to an end: no name is made of itself.
  const PatCall* MakerOf(int slot) const;
  const PatCall* MakerOf(const PatArg& arg) const {
    return arg.kind == PatArg::Kind::kName ? MakerOf(arg.slot) : arg.call.get();
  }
};

}  // namespace qrewrite
