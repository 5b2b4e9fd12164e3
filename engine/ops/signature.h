// Signatures: what each operator version looks like: inputs, outputs, attributes, defaults, types.
//
// External interface: Signatures::Builtin(), Signatures::Find(). The built-in tables are generated
// data (engine/ops/signatures_*.inc, made by tools/gen_signatures.py from the schema registries of
// onnx and ONNX Runtime) plus a hand-written overlay for facts no registry holds (commutativity,
// computed defaults: engine/ops/overlay.inc). Rule files add or replace signatures.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/graph/graph.h"
#include "engine/tensor/attribute.h"
#include "engine/tensor/dtype.h"
#include "qrewrite/status.h"

namespace qrewrite {

// One term of a dtype_expr of the built-in tables (engine/ops/dtypes.h).
struct DTypeTerm {
  enum class Kind : uint8_t { kType, kInput, kNamedByAttribute, kOfAttribute };
  Kind kind = Kind::kType;
  DType dtype = DType::kUndefined;  // kType
  int input = -1;                   // kInput: which one; -1: there is none of that name
  std::string attribute;            // kNamedByAttribute, kOfAttribute
};

enum class Arity : uint8_t { kRequired, kOptional, kVariadic };

struct FormalValue {
  std::string name;
  Arity arity = Arity::kRequired;
  bool homogeneous = true;  // variadic: all of one type
  int type_var = -1;        // index into Signature::types
  // Facts of an output as expressions over the inputs and attributes; empty: not stated. Those of
  // rule files are in the rule language; a dtype_expr of the built-in tables is read by
  // engine/ops/dtypes.h.
  std::string shape_expr;
  std::string dtype_expr;
  std::vector<DTypeTerm> dtype_terms;  // dtype_expr as ResolveDTypes reads it; empty: it cannot
};

struct FormalAttribute {
  std::string name;
  AttrKind kind = AttrKind::kUndefined;
  bool required = false;
  AttrValue default_value;  // monostate: none
  // An expression of the rule language over the formal names of inputs and other attributes, e.g.
  // "Range(rank(data) - 1, -1, -1)"; it fails where there is no default (pads under auto_pad).
  std::string computed_default;
  // Of a text: what it may be. Empty: nothing is known, or any text.
  std::vector<std::string> texts;
};

// What a type variable allows beside dense tensors, as bits.
enum TypeContainer : uint8_t { kSequence = 1, kOptionalType = 2, kMap = 4, kSparseTensor = 8 };

// A type variable or a fixed type: which element types it allows.
struct TypeVar {
  std::string name;          // "T"; of a fixed type the type itself: "int64"
  uint64_t dtypes = 0;       // bit DType: tensor(dtype) is allowed
  bool only_tensors = true;  // false: also sequences, maps, optionals or sparse tensors
  uint8_t containers = 0;    // which of these: bits of TypeContainer

  bool Allows(DType dtype) const { return (dtypes >> static_cast<int>(dtype)) & 1; }
};

struct Signature {
  OpName op;
  int since = 1;  // 0: of a domain without versions, also if it is not imported
  bool deprecated = false;
  bool deterministic = true;  // false: random operators
  bool commutative = false;   // the first two inputs may be swapped if the node has exactly two
  bool has_subgraphs = false;
  std::vector<FormalValue> inputs, outputs;
  int min_inputs = 0, max_inputs = 0, min_outputs = 0, max_outputs = 0;  // max: INT_MAX if variadic
  std::vector<FormalAttribute> attributes;                               // sorted by name
  std::vector<TypeVar> types;
  // Inputs and attributes one of which has to be there: `split` or `num_outputs` of Split. Empty: nothing of the kind.
  std::vector<std::string> needs_one;
  bool from_rule_file = false;

  const FormalAttribute* FindAttribute(std::string_view name) const;  // null if there is none
  int InputIndex(std::string_view name) const;                        // -1 if there is none
  int OutputIndex(std::string_view name) const;
};

// Order of names, also of names that are only looked for.
struct OpNameLess {
  using is_transparent = void;
  using View = std::pair<std::string_view, std::string_view>;  // domain, name
  static View Of(const OpName& op) { return {op.domain, op.name}; }
  static View Of(const View& op) { return op; }
  template <class A, class B>
  bool operator()(const A& a, const B& b) const {
    return Of(a) < Of(b);
  }
};

class Signatures {
 public:
  explicit Signatures(const Signatures* base = nullptr) : base_(base) {}

  // ai.onnx (all versions), ai.onnx.ml, com.microsoft, and what the overlay adds. Parsed lazily per
  // operator; safe to use from several threads.
  static const Signatures& Builtin();

  // The signature in force at opset `version` of the domain: the newest one not newer. Null:
  // unknown operator, or not there yet at that version. A deprecated one is returned as such.
  // Signatures of rule files apply at every version. Version 0 is a domain that the model does not
  // import; except for ai.onnx that means the newest one, as ONNX Runtime takes it (a released
  // quantizer writes MatMulNBits without an import of com.microsoft).
  const Signature* Find(std::string_view domain, std::string_view name, int64_t version) const;
  const Signature* Newest(std::string_view domain, std::string_view name) const;
  // Whether there is one, without parsing it.
  bool Has(std::string_view domain, std::string_view name) const;
  // All versions, oldest first; empty if unknown.
  std::span<const Signature> Versions(std::string_view domain, std::string_view name) const;
  std::vector<OpName> Names() const;  // sorted

  void Add(Signature signature);       // replaces every version the base knows
  void AddOlder(Signature signature);  // a version before those, which stay
  // What was added, without the base.
  using Own = std::map<OpName, std::vector<Signature>, OpNameLess>;  // versions, oldest first
  const Own& own() const { return own_; }

 private:
  // Every version, oldest first; null if the operator is unknown.
  const std::vector<Signature>* AllVersions(std::string_view domain, std::string_view name) const;

  const Signatures* base_;
  const class SignatureTable* table_ = nullptr;  // of Builtin()
  Own own_;
};

// The newest ai.onnx opset that changed an operator, as far as the tables know.
int64_t NewestOpset();

// Operators that say how numbers are stored, not what they are: a rule set that does not say
// otherwise folds none of them.
const std::vector<OpName>& Quantizers();

// The operator of two matrices of 8 bits, (uint8, int8) -> int32, whose sums a runtime may saturate.
const OpName& IntegerProduct();

// Parses one line of the table format (documented in signature_text.cc); the printer is its
// inverse. Errors point to a column of the line.
Result<Signature> ParseSignature(std::string_view line);
// A default of an attribute of that kind, as a line spells it; false: the text is no such literal.
bool ParseDefault(std::string_view text, FormalAttribute& attribute);
std::string PrintSignature(const Signature& signature);

}  // namespace qrewrite
