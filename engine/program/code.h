// Code: an expression of the rule language with everything resolved that can be told when a file is
// loaded: names are slots, functions and definitions are numbers, operators have their signature,
// literals are values, regular expressions are compiled. The interpreter walks it (engine/match).
//
// All code of a program lies in one table; a node names its operands by number.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <boost/container/small_vector.hpp>

#include "engine/base/ids.h"
#include "engine/expr/ast.h"
#include "engine/ops/signature.h"
#include "engine/program/val.h"

namespace re2 {
class RE2;
}

namespace qrewrite {

using CodeId = Id<struct CodeTag>;

enum class CodeOp : uint8_t {
  kConstant,    // `constant`
  kName,        // a name of the rule: `slot`, or the new value `fresh` if the slot is unbound
  kMember,      // member of a list in front of `...`: `slot`, or kid 0 if that holds nothing
  kOpset,       // the ai.onnx import of the model
  kParam,       // parameter number `index`
  kList,        // [kids]
  kIndex,       // kid 0 [subscripts number `index`]
  kData,        // data of a set, number `index`
  kNot,         // not kid 0
  kIf,          // kids: condition, value, otherwise
  kAnd,         //
  kOr,          //
  kCoalesce,    // kid 0 ?? kid 1
  kIn,          //
  kMatches,     // kid 0 =~ kid 1; `index`: the compiled expression if it is literal, else -1
  kCompare,     // `binary`
  kArithmetic,  // `binary`
  kFunction,    // function number `index` of the language, on kids
  kHost,        // function of the host, name number `index`
  kFact,        // definition number `index`, called for a value
  kOperator,    // operator on constants, call number `index`
};

struct Code {
  CodeOp op = CodeOp::kConstant;
  BinaryOp binary = BinaryOp::kAdd;
  int slot = -1;
  int fresh = -1;
  int index = -1;
  uint32_t first_kid = 0, num_kids = 0;  // in Program::kids
  const Expr* expr = nullptr;            // for messages
  Val constant;
};

// `n.op`, `n.axis`: data of the sets in the head of label `n`, by member.
struct SetData {
  int slot = -1;  // of the label
  struct Column {
    int set = -1;  // number of the set (Program::heads)
    const OpSet* of = nullptr;
    std::vector<Val> values;  // by member of the set; absent where it has no such data
    std::vector<OpName> ops;  // the same as operators, where they are texts
  };
  std::vector<Column> columns;
  std::string text;  // "n.op"
};

// What a call with a capital names: an operator, that of a labelled node, or one from set data.
struct OperatorHead {
  enum class Kind : uint8_t { kLiteral, kLabel, kData };
  Kind kind = Kind::kLiteral;
  OpName op;         // kLiteral
  int number = -1;   // kLiteral: of the operator in Program::operators
  int slot = -1;     // kLabel
  int data = -1;     // kData: number of the SetData
  std::string text;  // as written
};

struct OperatorCode {
  OperatorHead head;
  struct Argument {
    CodeId value;
    bool repeated = false;
  };
  std::vector<Argument> args;
  std::vector<std::pair<std::string, CodeId>> attrs;
};

struct SubscriptCode {
  bool slice = false;
  CodeId start, stop;  // invalid: open
};

// A literal operator, with what does not depend on the model.
struct OperatorRef {
  OpName op;
  const Signature* newest = nullptr;
};

// Most heads name one operator.
using OpPatterns = boost::container::small_vector<OpPattern, 1>;

// `a|b|@set`, `!@set`: which operators a head accepts. The interpreter remembers the answer by
// operator.
struct OpHead {
  int number = -1;  // in Program::heads
  bool negated = false;
  OpPatterns patterns;
  bool Accepts(const OpName& op) const;
};

}  // namespace qrewrite
