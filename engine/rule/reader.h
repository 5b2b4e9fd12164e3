// AstReader: pieces of a rule file, from document nodes to trees. Each function reports what is
// wrong with the form and returns what it understood. Names are settled later (check.h).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/expr/parser.h"
#include "engine/rule/ast.h"
#include "engine/rule/doc.h"
#include "engine/rule/fields.h"

namespace qrewrite {

// A member of a set as it is written: an operator, or `@other` for all of another set.
struct RawMember {
  std::string nested;  // without the @; "" for an operator
  SetMember member;
};
struct RawSet {
  std::string name;
  std::vector<RawMember> members;
  Place place;
};

// An operator as it is named outside of rules: in a phase, in `constants:`.
struct WrittenOp {
  OpPattern op;
  Place place;
};

// A signature with the trees of the facts that it states, for their names to be checked.
struct RawFact {
  enum class Of { kShape, kDType, kDefault } of;
  ExprPtr tree;
};
struct RawSignature {
  Signature signature;
  std::vector<RawFact> facts;
  std::optional<BodyText> computes;
  bool foreign = false;  // to onnx, though in its domain
  bool older = false;    // than the known versions, which stay
  Place place;
};

class AstReader {
 public:
  // Without `tests` those of rules and files are passed over.
  AstReader(DiagnosticSink& sink, bool tests) : sink_(sink), tests_(tests) {}

  // --- reader_text.cc: expressions, statements, cases
  // Nothing after an error, so that half a text makes no more errors.
  std::optional<BodyText> Body(const DocNode& node);
  std::optional<BodyText> GraphText(const DocNode& node);
  ExprPtr Expression(const DocNode& node);               // null on error
  std::vector<ExprPtr> Conditions(const DocNode* node);  // without those that are faulty
  ExprPtr Condition(const DocNode* node);      // conditions and-ed to one; null if there is none
  std::vector<Let> Lets(const DocNode* node);  // one that is faulty is `absent`
  // name -> expression; `names` are identifiers.
  std::vector<std::pair<std::string, ExprPtr>> Expressions(const DocNode& node,
                                                           std::string_view what);
  // A name, or name -> condition; null for the name alone.
  std::vector<std::pair<std::string, ExprPtr>> Counters(const DocNode* node);
  // A text with {expressions}, as Rule::says has it; nothing if there is none in it.
  std::vector<std::pair<std::string, ExprPtr>> Said(const DocNode& node);
  std::vector<Case> Cases(const DocNode* node, const std::string& owner);
  std::optional<Definition> Define(const DocEntry& entry);

  // --- reader_values.cc: plain values
  std::string Text(const DocNode* node);  // "" if there is none
  std::string Line(const DocNode* node);  // the same, one line
  std::string Name(const DocNode* node);  // a name of a rule, phase, set: letters, digits, _ - .
  std::string Identifier(const DocNode& node, std::string_view what);
  std::optional<int64_t> Integer(const DocNode* node, int64_t min, int64_t max);
  bool Boolean(const DocNode* node, bool otherwise);
  Literal Value(const DocNode& node);
  std::vector<std::string> Names(const DocNode* node);
  std::vector<Place> Places(const DocNode* node);  // of the same
  void Opset(const DocNode* node, std::string& text, std::map<std::string, std::string>& domains,
             int64_t& min, int64_t& max);
  std::map<std::string, int64_t> Versions(const DocNode* node);
  OpPattern Operator(const DocNode& node);
  ExprPtr Bytes(const DocNode* node);  // 64MiB, or an expression

  // --- reader_decls.cc
  std::optional<Param> ReadParam(const DocEntry& entry);
  RawSet ReadSet(const DocEntry& entry);
  std::optional<RawSignature> ReadSignature(const DocEntry& entry);

  // --- reader_rules.cc
  std::optional<Rule> ReadRule(const DocNode& node);
  std::vector<RuleTest> Tests(const DocNode* node, const std::string& owner, bool whole_set);
  std::optional<WriteSpec> ReadWrite(const DocNode& node);

  DiagnosticSink& sink() { return sink_; }

 private:
  std::optional<Case> ReadCase(const DocNode& node, const std::string& owner);
  std::optional<Case> FromLine(const DocNode& node);
  bool ReadParamType(const DocNode* node, ParamType& type);  // false: none is stated
  void ReadRecord(const DocNode& node, const std::string& owner, Rule& rule);
  FormalValue ReadFormal(const DocNode& node);
  FormalAttribute ReadAttribute(const DocEntry& entry, const std::string& owner, RawSignature& raw);
  std::string Fact(const DocNode* node, RawFact::Of of, RawSignature& raw);
  AttrKind ReadAttrKind(const DocNode& node, bool& required);
  AttrValue ReadAttrDefault(const DocNode& node);
  // `one_of` of an attribute.
  void ReadTexts(const DocNode& node, const DocNode* default_node, FormalAttribute& attribute);
  void ReadOutputs(const DocNode& node, const std::string& owner, RawSignature& raw);
  void ReadExpectation(const DocNode& node, RuleTest& test, const std::string& owner);
  bool BadValue(const DocNode& node, std::string message, std::string hint = {});

  DiagnosticSink& sink_;
  bool tests_;
  TreeBudget budget_;
};

}  // namespace qrewrite
