// Val: what a name of a rule is bound to and what an expression evaluates to.
//
// Three values: besides true and false a condition may be Unknown, with the fact that was missing.
// Absent is no unknown: an optional input that is not there is a value like others. Failure is "no
// match, for this reason": fail(), an integer overflow, a cast that does not fit.
//
// Numbers of the language (literals, ranks, sizes, numeric attributes) and short shapes live in the
// Val itself; they are weak: beside a tensor they take its type. A tensor is made only where there
// is one.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "engine/fold/arith.h"
#include "engine/graph/graph.h"
#include "engine/graph/type.h"
#include "engine/rule/ast.h"
#include "engine/tensor/tensor.h"

namespace qrewrite {

class Val;

// Why something is unknown or failed. Rules ask about every node, and most answers are never read:
// a reason is put into words only when somebody wants them (ReasonText).
class Reason {
 public:
  enum class Kind : uint8_t {
    kText,         // text
    kNoFact,       // the `what` of `value` is not known
    kNoSize,       // size `index` of `value` is not known
    kSymbol,       // symbolic size number `index` is not known
    kNotConstant,  // `value` is no constant
    kNoCase,       // no case of definition `what` applies
  };

  Reason(const char* literal) : what_(literal) {}  // NOLINT(google-explicit-constructor): static
  Reason(std::string text)                         // NOLINT(google-explicit-constructor)
      : text_(std::make_shared<const std::string>(std::move(text))) {}
  // `what` must outlive the reason: a literal, or a name in the rule set.
  Reason(Kind kind, const char* what, ValueId value, int64_t index = 0)
      : kind_(kind), value_(value), what_(what), index_(index) {}

  Kind kind() const { return kind_; }
  ValueId value() const { return value_; }
  int64_t index() const { return index_; }
  // kText: the words; kNoFact, kNoCase: what it is about.
  std::string_view what() const { return text_ ? std::string_view(*text_) : what_; }

 private:
  Kind kind_ = Kind::kText;
  ValueId value_;
  const char* what_ = "";
  int64_t index_ = 0;
  std::shared_ptr<const std::string> text_;
};

struct Absent {};
struct Unknown {
  Reason why;
};
struct Failure {
  Reason why;
};

// A 1-D integer tensor of a few elements: a shape, strides, axes.
struct Ints {
  static constexpr size_t kMax = 5;
  std::array<int64_t, kMax> v{};
  uint32_t n = 0;

  const int64_t* begin() const { return v.data(); }
  const int64_t* end() const { return v.data() + n; }
  friend bool operator==(const Ints& a, const Ints& b) {
    return a.n == b.n && std::equal(a.begin(), a.end(), b.begin());
  }
};

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
  const std::vector<std::string>* mentioned = nullptr;  // of the program
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
  // Num (engine/fold/arith.h) is a tensor; int64_t, double and Ints are weak numbers.
  using Variant =
      std::variant<Absent, Unknown, Failure, bool, int64_t, double, Ints, Num, std::string, DType,
                   ValueId, LabelRef, ChainRef, AttrRest, BodyRef, SymbolSize, const OpSet*, List>;

  Val() = default;  // absent
  template <class T>
  requires(!std::is_same_v<std::remove_cvref_t<T>, Val> && std::is_constructible_v<Variant, T>)
      Val(T&& value)
      : v_(std::forward<T>(value)) {}  // NOLINT(google-explicit-constructor)

  static Val Int(int64_t value) { return value; }
  static Val Float(double value) { return value; }
  static Val OfInts(std::span<const int64_t> values);
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
  // REQUIRES: stops().
  const Reason& reason() const { return is<Unknown>() ? get<Unknown>().why : get<Failure>().why; }

  // A number or tensor in any of its forms.
  bool is_number() const { return is<Num>() || is<int64_t>() || is<Ints>() || is<double>(); }
  // REQUIRES: is_number().
  Num number() const;
  int rank() const;      // of a number
  int64_t size() const;  // of a number: its elements
  // A whole number if this is one (a scalar, or a tensor of one element, of an integer type).
  std::optional<int64_t> whole() const;
  // The same of a list of them: a 1-D or 0-D integer tensor.
  std::optional<std::vector<int64_t>> wholes() const;

 private:
  Variant v_;
};

// What kind of thing a Val is, for messages: "a number", "a value of the graph".
std::string_view Describe(const Val& val);

// Plain data of a rule file (a parameter, data of a set) as a value.
Val FromLiteral(const Literal& literal);

}  // namespace qrewrite
