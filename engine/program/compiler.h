// ProgramCompiler: what the parts of the compiler share. Internal to engine/program:
//
//   compile.cc             rules, cases, definitions, phases
//   compile_code.cc        expressions
//   compile_pattern.cc     patterns
//   compile_conditions.cc  conditions of patterns, and when they are tried
//   compile_make.cc        replacements
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/program/names.h"
#include "engine/program/program.h"

namespace qrewrite {

class ProgramCompiler {
 public:
  explicit ProgramCompiler(std::shared_ptr<const RuleSet> rules);

  std::shared_ptr<const Program> Run();
  // A program of nothing but what one built-in signature states.
  static std::shared_ptr<const Program> OfSignature(const Signature& signature);

 private:
  // --- compile.cc
  void CompileRule(const Rule& rule, CompiledRule& out);
  void CompileDefinition(const Definition& definition, CompiledDefinition& out);
  CompiledCase CompileCase(const Case& source, Names& names);
  void CompilePhases();
  void CompileWrites();
  void CompileSignature(const Signature& signature, bool copy);
  CompiledCase CompileOutcome(const Case& source, const Names& around,
                              const DefinitionHead* head);  // null: of a rule
  void CompileResult(const Case& source, Names& names, const DefinitionHead* head,
                     CompiledCase& out);
  void AddLets(const std::vector<Let>& lets, Names& names);

  // --- compile_code.cc
  CodeId Compile(const Expr& expr, const Names& names);
  CodeId CompileName(const std::string& name, const Expr* expr, const Names& names);
  CodeId Add(Code code, std::span<const CodeId> kids);
  CodeId Add(Code code, std::initializer_list<CodeId> kids = {}) {
    return Add(std::move(code), std::span(kids.begin(), kids.size()));
  }
  CodeId Constant(Val value, const Expr* expr = nullptr);
  const Code& Kid(const Code& code, uint32_t k) const;
  // Whether it calls the function of the language with so many arguments.
  static bool IsCall(const Code& code, std::string_view function, uint32_t args);
  CodeId CompileSet(const Expr& expr);
  CodeId CompileIndex(const Expr& expr, const Names& names);
  CodeId CompileMember(const Expr& expr, const Names& names);
  CodeId CompileUnary(const Expr& expr, const Names& names);
  CodeId CompileBinary(const Expr& expr, const Names& names);
  CodeId CountedUpTo(CodeId left, CodeId right);
  CodeId CompileList(const Expr& expr, const Names& names);
  CodeId CompileCall(const Expr& expr, const Names& names);
  OperatorHead CompileHead(const Expr& call, const Names& names);
  int CompileData(std::string_view label, std::string_view key, const Names& names);
  int OperatorNumber(const OpName& op);
  int SetNumber(const OpSet* set);
  int DefinitionNumber(std::string_view name) const;
  static int NumberOf(std::vector<std::string>& texts, const std::string& text);

  // --- compile_pattern.cc
  void CompilePattern(const BodyText& match, Names& names, Pattern& out);
  PatStmt CompileStmt(const Stmt& stmt, Names& names);
  PatArg CompileArg(const Arg& arg, Names& names);
  PatArg CompilePatExpr(const Expr& expr, Names& names);
  std::unique_ptr<PatCall> CompilePatCall(const Expr& expr, Names& names);
  void CompilePatAttr(const AttrArg& attr, Names& names, PatCall& call);
  void CompileLiterals(PatArg& arg, const Names& names);

  // --- compile_conditions.cc
  void AddConditions(const std::vector<ExprPtr>& conditions, const Names& names, Pattern& pattern,
                     bool of_rule);
  void AddParts(CodeId code, size_t of, const Names& names, bool of_rule, Pattern& pattern);
  struct Needs {
    std::vector<int> slots;  // names, those of `let` resolved; sorted
    bool computes = false;   // reads the elements of constants
  };
  Needs NeedsOf(CodeId code, const Names& names) const;
  bool Computes(const Code& code) const;
  static void Watch(Pattern& pattern);
  bool ComparesReaders(CodeId condition) const;
  bool IsOfEach(CodeId condition, const Names& names) const;
  void EndChain(CodeId condition, Pattern& pattern) const;

  // --- compile_make.cc
  std::unique_ptr<Replacement> CompileReplacement(const BodyText& text, Names& names,
                                                  const OutArgs* outputs);
  Make CompileMake(const Expr& expr, const Names& names);
  MakeArg CompileMakeArg(const Arg& arg, const Names& names);
  std::unique_ptr<MakeCall> CompileMakeCall(const Expr& expr, const Names& names);

  std::shared_ptr<const RuleSet> rules_;
  std::shared_ptr<Program> program_;
  std::map<std::string, int, std::less<>> definitions_;
  std::map<const OpSet*, int> sets_;
  std::map<OpName, int> operators_;
};

// Is the head of a call a function of the language or of a host (a small letter, no dot), as
// opposed to an operator?
bool IsFunctionCall(const Expr& expr);

}  // namespace qrewrite
