// Val: what a name of a rule is bound to and what an expression evaluates to.
//
// Three values: besides true and false a condition may be Unknown, with the fact that was missing.
// Absent is no unknown: an optional input that is not there is a value like others. Failure is "no
// match, for this reason": fail(), an integer overflow, a cast that does not fit.
#pragma once

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "engine/fold/arith.h"
#include "engine/graph/graph.h"
#include "engine/graph/type.h"
#include "engine/rule/ast.h"
#include "engine/tensor/tensor.h"

namespace qrewrite {

class Val;

struct Absent {};
struct Unknown {
  std::string why;
};
struct Failure {
  std::string why;
};

// Num (engine/fold/arith.h) is a number or tensor. A weak one (a literal, a numeric attribute)
// takes the type of its partner.

// A matched node and the output through which the match named it.
struct LabelRef {
  NodeId node;
  uint32_t output = 0;
};

// A matched chain of single steps, from the first step's node to the last one's.
struct ChainRef {
  std::vector<NodeId> nodes;
  ValueId start;  // what the first step reads
  ValueId end;    // what the last step makes; start if there is no step
};

// `**a`: the attributes of a node that the pattern did not mention.
struct AttrRest {
  NodeId node;
  std::vector<std::string> mentioned;
};

// A graph attribute.
struct BodyRef {
  BodyId body;
};

struct SymbolSize {
  Dim dim;  // symbolic
};

using List = std::shared_ptr<const std::vector<Val>>;

class Val {
 public:
  using Variant =
      std::variant<Absent, Unknown, Failure, bool, Num, std::string, DType, ValueId, LabelRef,
                   ChainRef, AttrRest, BodyRef, SymbolSize, OpName, const OpSet*, List>;

  Val() = default;  // absent
  template <class T>
  requires(!std::is_same_v<std::remove_cvref_t<T>, Val> && std::is_constructible_v<Variant, T>)
      Val(T&& value)
      : v_(std::forward<T>(value)) {}  // NOLINT(google-explicit-constructor)

  static Val Int(int64_t value) { return Num{Tensor::Int64Scalar(value), true}; }
  static Val Float(double value) { return Num{Tensor::DoubleScalar(value), true}; }
  static Val Ints(const std::vector<int64_t>& values) { return Num{Tensor::Int64s(values), true}; }
  static Val ListOf(std::vector<Val> values) {
    return List(std::make_shared<const std::vector<Val>>(std::move(values)));
  }

  template <class T>
  bool is() const {
    return std::holds_alternative<T>(v_);
  }
  template <class T>
  const T& get() const {
    return std::get<T>(v_);
  }
  template <class T>
  const T* get_if() const {
    return std::get_if<T>(&v_);
  }

  bool absent() const { return is<Absent>(); }
  // Unknown and Failure stop a computation; they travel through it unchanged.
  bool stops() const { return is<Unknown>() || is<Failure>(); }
  // The reason of Unknown or Failure, else "".
  const std::string& why() const;

 private:
  Variant v_;
};

// What kind of thing a Val is, for messages: "a number", "a value of the graph".
std::string_view Describe(const Val& val);

}  // namespace qrewrite
