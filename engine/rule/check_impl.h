// RuleChecker: the check of one rule set. Split by idea over check_*.cc.
#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/name_map.h"
#include "engine/expr/functions.h"
#include "engine/rule/check.h"
#include "engine/rule/check_scope.h"
#include "engine/rule/op_check.h"
#include "engine/rule/walk.h"

namespace qrewrite {

// "a number", "an element type".
std::string_view TypeText(ExprType type);

class RuleChecker {
 public:
  RuleChecker(const CheckInput& input, DiagnosticSink& sink);
  void Run();

 private:
  enum class Role { kPattern, kTemplate, kFact };

  // --- check.cc: the parts of a file
  void CheckParams();
  void CheckSets();
  void CheckSignatures();
  void CheckFact(const RawFact& fact, NameScope& scope);
  void CheckOwnDomain(const RawSignature& raw);
  void CheckOlder(const RawSignature& raw);
  void CheckPhases();
  void CheckWrites();
  void CheckTests(const std::vector<RuleTest>& tests, const Rule* rule = nullptr);
  void CheckReach(const RuleTest& test, const Rule* rule);
  void CheckSettings(const RuleTest& test);
  void CheckGraphs(const RuleTest& test);
  void CheckOpset(int64_t version, const Place& place);
  void CheckPlainExpr(const Expr* expr, std::string text, const std::vector<std::string>& names);
  bool IsFaulty(char sigil, std::string_view name) const;  // CheckInput::faulty
  void NeedUnambiguous(char sigil, std::string_view name, const Place& place);
  // What `name` may have been meant to be, by the names of a list of the set.
  template <class List, class NameOf>
  std::string Nearest(std::string_view name, const List& list, NameOf name_of,
                      std::vector<std::string> names = {}) const {
    if (Many(sink_)) return "";
    for (const auto& item : list) names.push_back(name_of(item));
    return DidYouMean(name, names);
  }

  // --- check_rule.cc: rules
  void CheckRule(const Rule& rule);
  void CheckHasNode(const BodyText& match, const Owner& owner);
  void SetOpsets(const Rule* rule);
  void CheckRuleCases(const std::vector<Case>& cases, NameScope& outer);
  void CheckInterface(const Rule& rule, NameScope& scope);
  void DeclareLets(const std::vector<Let>& lets, NameScope& scope,
                   const std::set<std::string>& may_exist = {});
  void CheckLets(const std::vector<Let>& lets, NameScope& scope);
  void CheckConditions(const std::vector<ExprPtr>& conditions, NameScope& scope);

  // --- check_define.cc: definitions
  static Role RoleOf(const Definition& definition);
  void CheckDefinition(const Definition& definition);
  void CheckPatternCase(const Definition& definition, const Case& c, Owner& owner);
  void CheckResultCases(const Definition& definition, const std::vector<Case>& cases,
                        NameScope& outer);
  void CheckLooksUp(const Definition& definition, const BodyText& match, Owner& owner);
  void CheckDefinitionRecursion();
  void CheckProgress(const Definition& definition);
  // The definition behind `$name`, or null with an error; arity is checked.
  const Definition* CheckDefinitionCall(const Expr& call, const Ref& ref, bool pattern,
                                        const OutArgs* outs, Owner& owner);
  void UnknownDefinition(const Ref& ref, const Owner& owner);
  void CheckDefinitionArgs(const Expr& call, const Definition& definition, const Owner& owner);

  // --- check_match.cc: patterns
  void CheckMatch(const BodyText& body, NameScope& scope);
  using MadeNames = NameMap<bool, 8>;
  void BindOuts(const Stmt& stmt, NameScope& scope, MadeNames& made);
  void MatchCall(const Expr& call, const OutArgs* outs, bool list, NameScope& scope);
  void MatchArgs(const Expr& call, bool list, NameScope& scope);
  void MatchRefs(const Expr& call, const OutArgs* outs, Owner& owner);
  void CheckSteps(const Expr& call, const Owner& owner);
  void MatchAttr(const Expr& call, const AttrArg& attr, NameScope& scope);
  void MatchArg(const Arg& arg, bool list, NameScope& scope);
  bool IsPatternLiteral(const Expr& expr) const;
  // `attribute`: whose value it is; "" of an input.
  void NoArithmetic(const Expr& expr, Owner& owner, std::string_view attribute = "");
  void Bind(const std::string& name, NameInfo info, NameScope& scope);
  void CheckList(const std::string& name, const NameInfo& before, const NameInfo& again,
                 Owner& owner);
  bool CheckFreeName(const std::string& name, const Place& place, Owner& owner);
  void CheckConnected(const BodyText& body, Owner& owner);
  void CheckAcyclic(const BodyText& body, bool own, const char* hint, Owner& owner);

  // --- check_build.cc: replacements
  // `results`: names that must be defined, each once (a template), or null (a rule: at least one
  // output of the match).
  void CheckBody(const BodyText& body, const OutArgs* results, NameScope& scope);
  bool DefineOut(const OutArg& out, const OutArgs* results, NameScope& scope, NameScope& made);
  void CheckOutputCount(const Stmt& stmt, NameScope& made);
  // Whether one of the outputs was an output of the match.
  bool DefineOuts(const BodyText& body, const OutArgs* results, NameScope& scope, NameScope& made,
                  std::set<std::string>& defined);
  void RedefinesNothing(const BodyText& body, NameScope& scope);
  void CheckUnread(const BodyText& body, const std::set<std::string>& defined, NameScope& scope,
                   NameScope& made);
  void CheckUnreadOut(const OutArg& out, const std::set<std::string>& defined, NameScope& scope);
  // `any`: it may be something else than a value of a graph.
  void CheckBuildArg(const Arg& arg, NameScope& scope, const OutArgs* outs, bool any = false);

  // --- check_expr.cc: names in expressions
  ExprType CheckExpr(const Expr& expr, NameScope& scope, CallUse use = CallUse::kCompute,
                     const OutArgs* outs = nullptr);
  ExprType CheckName(const Expr& expr, NameScope& scope);
  ExprType CheckMember(const Expr& expr, NameScope& scope);
  void CheckNoMember(const Expr& expr, const NameInfo* info, const Owner& owner);
  const OpSet* CheckSetName(std::string_view name, const Place& place);
  const Param* CheckParam(std::string_view name, const Place& place);
  void Unbound(const std::string& name, const Place& place, NameScope& scope);

  // --- check_call.cc: calls in expressions and replacements
  ExprType CheckCall(const Expr& call, NameScope& scope, CallUse use, const OutArgs* outs);
  ExprType CheckNamedCall(const Expr& call, NameScope& scope, CallUse use, const OutArgs* outs);
  void CheckLabelCall(const Expr& call, const NameInfo& head, size_t dot, Owner& owner, CallUse use,
                      const OutArgs* outs);
  ExprType CheckFunction(const Expr& call, const FunctionInfo& info, NameScope& scope);
  bool FitsArgumentCount(const Expr& call, const FunctionInfo& info, const Owner& owner);
  void CheckFunctionArg(const Arg& arg, size_t index, const FunctionInfo& info, NameScope& scope);
  void CheckAny(const Arg& arg, NameScope& scope);
  void CheckArgs(const Expr& call, NameScope& scope, CallUse use);
  void CheckAttrs(const Expr& call, NameScope& scope);
  void CheckArrow(const Expr& call, const Arg& arg, const NameInfo* label, Owner& owner);
  void CheckUnknownHead(const Ref& ref, NameScope& scope, CallUse use);
  bool CheckSetData(const NameInfo& label, std::string_view key, const Place& place, Owner& owner,
                    std::vector<Literal>* values);

  // --- check_types.cc
  ExprType CheckUnary(const Expr& expr, NameScope& scope);
  ExprType CheckBinary(const Expr& expr, NameScope& scope);
  // Of an expression that is plainly of one kind, without looking at names; else kAny.
  static ExprType LiteralType(const Expr& expr);
  // Whether it may be a list of the match, or what a function that asks each member makes of one.
  static bool HasMembers(const Expr& expr, NameScope& scope);
  static bool HasMembers(const Expr& expr, NameScope& scope, std::set<const Let*>& seen);
  void CheckCompared(const Expr& expr, ExprType left, ExprType right, NameScope& scope);
  void CheckIn(const Expr& expr, ExprType left, ExprType right, NameScope& scope);
  void CheckKindsCompared(const Expr& expr, ExprType left, ExprType right, const Owner& owner);
  void CannotCompare(const Expr& expr, ExprType left, ExprType right, const Owner& owner,
                     std::string hint);
  void CheckRegex(const Expr& expr, ExprType left, ExprType type, Owner& owner);
  void CheckPattern(const std::string& regex, const Place& place, const std::string& owner);
  void CheckOpChoice(const Expr& left, const Expr& right, NameScope& scope);
  void CheckAttributeChoice(const Expr& left, const Expr& right, NameScope& scope);
  void CheckParamChoice(const Expr& left, const Expr& right, Owner& owner);
  void NeedCondition(const Expr& expr, ExprType type, NameScope& scope);
  // Of a call of a function of the host.
  void CheckHostArgs(const Expr& call, NameScope& scope);
  bool IsOneCondition(const Expr& call) const;
  void CheckArgType(const Expr& arg, ExprType got, const FunctionInfo& info, size_t index,
                    Owner& owner);

  const CheckInput& input_;
  const RuleSet& set_;
  DiagnosticSink& sink_;
  OpChecker ops_;
  std::set<std::string, std::less<>> raised_;  // rules of an opset upgrade
  bool raises_ = false;                        // some phase raises the opset
  int repeated_ = 0;                           // how many `A...` stand around this place
};

}  // namespace qrewrite
