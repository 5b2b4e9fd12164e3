// IndexBuilder: one walk over a rule file that notes its names. What calls what is told by the
// table of keys (engine/rule/fields.inc).
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/lsp/index.h"

namespace qrewrite::lsp {

class IndexBuilder {
 public:
  explicit IndexBuilder(FileIndex& index) : index_(index), reader_(sink_, /*tests=*/true) {}

  void Run();

 private:
  // How names of a text are meant: bound where they are new, made where they are new, or used.
  enum class Mode { kPattern, kBuild, kExpr, kGraph };
  struct Name {  // a use whose binding is looked up when all are known
    size_t occurrence;
    int scope;
    bool callable;  // else a function or an operator
  };

  // --- index_builder.cc: keys and plain values
  void Mapping(const DocNode& node, FieldKind kind, int scope);
  void Value(const DocNode& node, const Field& field, int scope);
  void NamedMap(const DocNode& node, const Field& field, int scope);
  void Names(const DocNode& node, const Field& field, int scope);
  void ScalarName(const DocNode& node, const Field& field);
  void Rule(const DocNode& node);
  void Test(const DocNode& node, int rule_item);
  void Tests(const DocNode& node, int rule_item);
  void Signature(const DocEntry& entry);
  void Set(const DocEntry& entry);
  void Definition(const DocEntry& entry);
  void Cases(const DocNode& node, int scope);
  void Case(const DocNode& node, int scope);
  void Lets(const DocNode& node, int scope);
  void NoteOpset(const DocNode* node, const Span& span, bool exact);
  void WritePath(const DocNode& node);
  int AddItem(Item::Kind kind, const DocNode& name, const Span& span, int parent,
              std::string detail = {});

  // --- index_text.cc: texts of the language
  void Body(const DocNode& node, int scope, Mode mode);
  void Expression(const DocNode& node, int scope);
  void Expressions(const DocNode& node, int scope);  // one, or a list
  void Said(const DocNode& node, int scope);         // of `refuse:`, `warn:`
  void CaseLine(const Snippet& text, int scope);
  void CaseResult(const DocNode& node, int scope);  // of `is:`
  void Head(const DocNode& key, int scope, std::string* name);
  void Statement(const Stmt& stmt, int scope, Mode mode);
  void GraphBody(const BodyText& body, int scope);
  void Argument(const Arg& arg, int scope, Mode mode, const std::string& what,
                const std::shared_ptr<const Operators>& of);
  void Walk(const Expr& expr, int scope, Mode mode, const std::string& what);
  void Call(const Expr& call, int scope, Mode mode);
  void CallRef(const Ref& ref, int scope, Mode mode);
  void Attribute(const AttrArg& attr, int scope, Mode mode,
                 const std::shared_ptr<const Operators>& of);
  void Member(const Expr& expr, int scope, Mode mode);
  void Resolve();
  // Notes in the scope whether reading its text, which began with so many faults, found more.
  void NoteDamage(int scope, size_t faults_before);

  // --- index_names.cc: noting
  int NewScope(int parent, const Span& span, bool graph = false);
  const Occurrence* Bound(int scope, const std::string& name) const;
  // Null if the bytes there are not `written`: the text of an exotic scalar cannot be followed.
  Occurrence* Note(uint32_t begin, std::string_view written, NameKind kind);
  // Binds the name unless an outer scope has it, which makes it a use.
  void Declare(uint32_t begin, const std::string& name, int scope, const std::string& what,
               bool shorthand = false);
  void Use(uint32_t begin, const std::string& name, int scope, bool callable = false,
           bool shorthand = false);
  void Define(const DocNode& key, NameKind kind, const std::string& name, std::string what = {});
  void OperatorOrSet(const DocNode& node, size_t skip = 0);

  FileIndex& index_;
  DiagnosticSink sink_;  // nobody reads it
  AstReader reader_;
  TreeBudget budget_;
  std::vector<Name> uses_;
};

}  // namespace qrewrite::lsp
