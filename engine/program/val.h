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
#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "engine/base/check.h"
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

struct Members;
using List = std::shared_ptr<const Members>;

// One of a closed list of types, as in a variant. Most are plain bytes: copies, moves and the end of
// such a value cost a few instructions.
class Val {
  // Num (engine/fold/arith.h) is a tensor; int64_t, double and Ints are weak numbers. Those from
  // kFirstOwner on own something, the others are plain bytes.
  using Types =
      std::tuple<Absent, bool, int64_t, double, Ints, DType, ValueId, LabelRef, AttrRest, BodyRef,
                 SymbolSize, const OpSet*, Unknown, Failure, Num, std::string, ChainRef, List>;
  static constexpr uint8_t kFirstOwner = 12, kNumTypes = std::tuple_size_v<Types>;

  template <class T>
  static constexpr uint8_t IndexOf() {
    uint8_t index = 0;
    const auto look = [&]<class... All>(std::tuple<All...>*) {
      (void)((std::is_same_v<T, All> || (++index, false)) || ...);
    };
    look(static_cast<Types*>(nullptr));
    return index;
  }
  template <class T>
  static constexpr bool kHolds = IndexOf<T>() < kNumTypes;

 public:
  Val() = default;  // absent
  template <class T>
  requires(kHolds<std::remove_cvref_t<T>>) Val(T&& value)  // NOLINT(google-explicit-constructor)
      : type_(IndexOf<std::remove_cvref_t<T>>()) {
    using Held = std::remove_cvref_t<T>;
    constexpr bool kPlain = IndexOf<Held>() < kFirstOwner;
    // NOLINTNEXTLINE(bugprone-sizeof-expression): an owner is a pointer, and its size is meant
    static_assert(sizeof(Held) <= kBytes && (!kPlain || std::is_trivially_copyable_v<Held>));
    new (bytes_) Held(std::forward<T>(value));
  }
  Val(const Val& other) : type_(other.type_) { plain() ? CopyPlain(other) : CopyOwner(other); }
  Val(Val&& other) noexcept : type_(other.type_) { plain() ? CopyPlain(other) : MoveOwner(other); }
  Val& operator=(const Val& other) { return *this = Val(other); }
  Val& operator=(Val&& other) noexcept {
    if (this == &other) return *this;
    if (!plain()) DestroyOwner();
    type_ = other.type_;
    plain() ? CopyPlain(other) : MoveOwner(other);
    return *this;
  }
  ~Val() {
    if (!plain()) DestroyOwner();
  }

  static Val Int(int64_t value) { return value; }
  static Val Float(double value) { return value; }
  static Val OfInts(std::span<const int64_t> values);
  static Val ListOf(std::vector<Val> values);  // a Failure beyond kMaxListDepth

  template <class T>
  bool is() const {
    return type_ == IndexOf<T>();
  }
  // REQUIRES: is<T>().
  template <class T>
  const T& get() const {
    QR_CHECK(is<T>());
    return *Held<T>();
  }
  template <class T>
  const T* get_if() const {
    return is<T>() ? Held<T>() : nullptr;
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
  bool plain() const { return type_ < kFirstOwner; }
  template <class T>
  const T* Held() const {
    return std::launder(reinterpret_cast<const T*>(bytes_));
  }
  void CopyPlain(const Val& other) { std::memcpy(bytes_, other.bytes_, sizeof bytes_); }
  // REQUIRES: !plain().
  template <class F>
  void WithOwner(F f) const;  // f(type_identity of what this holds)
  void CopyOwner(const Val& other);
  void MoveOwner(Val& other) noexcept;
  void DestroyOwner();

  static constexpr size_t kBytes = sizeof(Ints), kAlign = 8;
  alignas(kAlign) std::byte bytes_[kBytes];
  uint8_t type_ = 0;
};

// Lists in lists go so deep: whoever walks a list recurses, its destructor too.
inline constexpr int kMaxListDepth = 100;

// Of a list.
struct Members : std::vector<Val> {
  explicit Members(std::vector<Val> values);
  int depth = 1;  // 1 + that of the deepest list among them
};

// What kind of thing a Val is, for messages: "a number", "a value of the graph".
std::string_view Describe(const Val& val);

// Plain data of a rule file (a parameter, data of a set) as a value.
Val FromLiteral(const Literal& literal);

}  // namespace qrewrite
