// The syntax tree of the rule language: patterns, replacements, expressions and test graphs are one
// syntax (docs/rules.md; grammar in engine/expr/parser_impl.h). The tree is what was written: names
// are resolved later (engine/rule/check.h), because a name means different things in a
// pattern, a replacement and an expression.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/container/small_vector.hpp>

#include "engine/base/source.h"
#include "engine/tensor/dtype.h"

namespace qrewrite {

struct Expr;
struct BodyText;
using ExprPtr = std::unique_ptr<Expr>;

// An operator head: `Conv`, `com.microsoft.QGemm`, `n.op` (dotted), `@set`, `$definition`.
struct Ref {
  enum class Kind : uint8_t { kName, kSet, kDefinition };
  Kind kind = Kind::kName;
  std::string name;  // dotted, without @ or $
  Place place;
};

// `axis`, `axis=1`, `axis=k?`, `**rest`, `**_`
struct AttrArg {
  bool rest = false;      // **name
  bool optional = false;  // `?`
  std::string name;
  ExprPtr value;  // null: `axis` alone, which binds (pattern) or passes on (replacement)
  Place place;
};

// An argument of a call or a member of a group.
struct Arg {
  enum class Label : uint8_t { kNone, kInput, kArrow };  // `x_scale=...` | `q -> ...`
  Label label_kind = Label::kNone;
  bool optional = false;  // `z?`
  bool repeated = false;  // `xs...`, `(x, s)...`, `_...`
  std::string label;
  ExprPtr value;  // a group is an Expr of kind kGroup
  Place place;
};
using CallArgs = boost::container::small_vector<Arg, 3>;  // most calls have no more

enum class Quantifier : uint8_t { kOne, kOptional, kStar, kPlus };  // Op, Op?, Op*, Op+

enum class BinaryOp : uint8_t {
  kAdd,
  kSub,
  kMul,
  kDiv,
  kFloorDiv,
  kMod,
  kPow,
  kEq,
  kNe,
  kLt,
  kLe,
  kGt,
  kGe,
  kIn,
  kMatches,  // kMatches: =~
  kAnd,
  kOr,
  kCoalesce,  // kCoalesce: ??
};
enum class UnaryOp : uint8_t { kNegate, kNot };

// `[i]`, `[a:b]`, `[:, :k]`
struct Subscript {
  bool slice = false;
  ExprPtr start;  // the index itself if not a slice; null: open end
  ExprPtr stop;
};

// Most calls name one operator and one attribute, or `**_`.
using Refs = boost::container::small_vector<Ref, 1>;
using AttrArgs = boost::container::small_vector<AttrArg, 1>;

// What stands around the parentheses of a call; of a group, its members alone.
struct Call {
  std::string label;         // `n:`
  bool negated = false;      // `!@set`
  bool empty_attrs = false;  // `n<>(x)`: written with attributes, but none
  Quantifier quantifier = Quantifier::kOne;
  Refs refs;  // alternatives: `Conv|Gemm|@integer`
  AttrArgs attrs;
  CallArgs args;
};

// What few expressions have.
struct Details {
  std::vector<Subscript> subscripts;  // kIndex
  // kTyped: dims, and either a word in `text` ("zeros", "ones", "random" with its seed in
  // int_value, "...") or the values in items[0]. `...` alone (an attribute that `show` cannot
  // print) has no dtype.
  std::vector<int64_t> dims;
  bool has_dims = false;
  std::unique_ptr<BodyText> body;  // kBody
};

// A rule set of a thousand rules has tens of thousands of these, most of them names: what a name
// does not have stands behind a pointer. A new member is named in engine/rule/snapshot.cc, too.
struct Expr {
  enum class Kind : uint8_t {
    kInt,     // int_value
    kFloat,   // float_value, ulps
    kString,  // text
    kBool,    // int_value: true, false
    kAbsent,  // the word `absent`
    kName,    // text: a name of the rule, `_`, `opset`
    kDType,   // dtype: INT8, FLOAT, ...
    kSet,     // text: @name as a value
    kCall,    // call()
    kGroup,   // call().args: (x, s, z)
    kList,    // items
    kUnary,   // unary, items[0]
    kBinary,  // binary, items[0], items[1]
    kIf,      // items: value, condition, otherwise  (`a if c else b`)
    kMember,  // items[0] . text   (params.to, n.axis)
    kIndex,   // items[0] [details().subscripts]
    kTyped,   // graph text only: dtype, details().dims, word or items[0]   (`uint8 0`)
    kBody,    // graph text only: details().body   (`then_branch={ t = Relu(x) }`)
  };
  Kind kind = Kind::kInt;
  DType dtype = DType::kUndefined;
  BinaryOp binary = BinaryOp::kAdd;
  UnaryOp unary = UnaryOp::kNegate;
  int ulps = 0;  // `1.41 ~ 4ulp`; also on kInt
  Place place;
  union {
    // All kinds but kFloat. kInt beyond int64 (uint64 in graph text): text holds its digits.
    int64_t int_value = 0;
    double float_value;  // kFloat alone
  };
  std::string text;
  std::vector<ExprPtr> items;

  bool has_call() const { return call_ != nullptr; }
  bool has_details() const { return details_ != nullptr; }
  // Empty ones where there are none.
  const Call& call() const;
  const Details& details() const;
  // Made where there are none.
  Call& mutable_call();
  Details& mutable_details();

 private:
  std::unique_ptr<Call> call_;
  std::unique_ptr<Details> details_;
};

// Left of `=`: `y`, `_`, `y?`, `y...`, `_...`
struct OutArg {
  std::string name;  // "_": not named
  bool optional = false;
  bool repeated = false;
  Place place;
};
using OutArgs = std::vector<OutArg>;

// `y, m? = Dropout<ratio>(x)`. In a one-line case it may be names alone (`v when const(v) => 1`):
// value.value is null then, and the statement says nothing about the producer.
struct Stmt {
  OutArgs outs;
  Arg value;
  Place place;
};

// Graph text also declares inputs: `x: float[1, N]`, and may declare the type of any value.
struct TypeDecl {
  std::string name;
  DType dtype = DType::kUndefined;  // kUndefined: written `?`, or `(x) => {` without a type
  bool has_shape = false;
  std::vector<std::string> dims;  // "1", "N", "?"; a symbol that is no plain name: "'a b'"
  Place place;
};

struct BodyText {
  std::vector<Stmt> stmts;
  Place place;

  // Graph text only.
  std::vector<TypeDecl> decls;
  std::vector<TypeDecl> inputs;  // of a nested body: `(i: int64, c: bool) => { ... }`
  bool has_inputs = false;       // the list is there, perhaps empty
  OutArgs returns;               // `return y, z`; only names
  bool has_return = false;
};

const Call& NoCall();        // nothing but defaults
const Details& NoDetails();  // the same

inline const Call& Expr::call() const { return call_ ? *call_ : NoCall(); }
inline const Details& Expr::details() const { return details_ ? *details_ : NoDetails(); }
inline Call& Expr::mutable_call() {
  if (!call_) call_ = std::make_unique<Call>();
  return *call_;
}
inline Details& Expr::mutable_details() {
  if (!details_) details_ = std::make_unique<Details>();
  return *details_;
}

// The one-line form of a case:  [ stmt ] [ when expr ] [ => ( arg | stmt ) ]
struct CaseLine {
  std::optional<Stmt> match;
  ExprPtr when;
  std::optional<Arg> is;        // `=> x`
  std::optional<Stmt> replace;  // `=> y = x`
  Place place;
};

// The head of a definition: `y, m = name(a, b)`, `name(a, b)`; `y... = name(xs...)`
struct DefinitionHead {
  OutArgs outs;
  std::string name;
  std::vector<std::string> params;
  bool variadic = false;  // the last parameter takes all further arguments: `xs...`
  Place place;
};

}  // namespace qrewrite
