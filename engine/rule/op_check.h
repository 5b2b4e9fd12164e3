// OpChecker: calls of operators against all signatures that could apply.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/base/diagnostics.h"
#include "engine/rule/ast.h"
#include "engine/rule/slips.h"

namespace qrewrite {

// What an operator call is for. A pattern says what a node looks like; kBuild makes nodes; kCompute
// is on constants, by the newest signature of onnx, whatever the file says.
enum class CallUse { kPattern, kBuild, kCompute };

// The ai.onnx opsets of the models that a rule is for.
struct OpsetRange {
  int64_t min = 0, max = INT64_MAX;
  std::string text() const;  // "opset 13 to 19", "opset 13 and later"
  bool operator==(const OpsetRange&) const = default;
};

class OpChecker {
 public:
  // `faulty`: CheckInput::faulty; of a signature in it nothing is known.
  OpChecker(const RuleSet& set, const std::set<std::string, std::less<>>& faulty,
            DiagnosticSink& sink);

  // What follows is about models of these opsets: `read` says what patterns meet, `made` what
  // replacements may be made of (a rule of an opset upgrade makes newer nodes than it reads).
  void SetOpsets(const OpsetRange& read, const OpsetRange& made);

  // False, and an error, if the domain is known and the operator is not (or the wildcard covers
  // none).
  bool CheckName(const OpPattern& op, const Place& place);
  // Is there an operator of that name, under any domain?
  bool IsOperator(std::string_view name);
  // Has one of the operators an attribute of that name?
  bool HaveAttribute(const Refs& refs, std::string_view name);
  // What the attribute is in each of the operators that has it; kUndefined if that is not known.
  AttrKind KindOf(const Refs& refs, std::string_view attribute);
  // An error unless a version of one of `ops` has that attribute, or one of them is unknown.
  void CheckAttributeOf(const std::vector<OpPattern>& ops, const std::string& name,
                        const Place& place);
  // An error if the attribute of these operators is never that text, in no version of one of them.
  void CheckAttributeText(const Refs& refs, std::string_view attribute, const Expr& text,
                          const std::string& owner);
  // The operators that a reference stands for; nothing if one of them could be anything.
  std::optional<std::vector<OpName>> Expand(const Refs& refs);
  // In a match: `CheckName` of a reference that is a name.
  bool CheckPatternName(const Ref& ref);
  // A call in a match against the signatures of its operators, whose names were checked.
  void CheckPatternCall(const Expr& call, const OutArgs* outs, const std::string& owner);
  // The call against the signatures of `ops`; the outputs `outs` are named.
  void CheckCall(const Expr& call, const std::vector<OpName>& ops, CallUse use, const OutArgs* outs,
                 const std::string& owner);

 private:
  // An operator of an unknown domain that is one letter away from a known one. Reports it.
  bool IsMisspelled(const OpPattern& op, const Place& place);

  using Candidates = std::vector<const Signature*>;
  // Their signatures; the first without any becomes `unknown`, if that is asked for.
  Candidates CandidatesFor(const std::vector<OpName>& ops, CallUse use,
                           const OpName** unknown = nullptr) const;
  // What a match can mean by a name. Rule sets name few operators, many times.
  struct Named {
    OpName op;
    bool faulty = false;
    Candidates all;
    std::optional<Candidates> in_force;  // at an opset of read_; nothing: not asked yet
  };
  Named& Look(const std::string& name);
  // The call against those of `all` that are in force; its operators are known.
  void CheckAgainst(const Expr& call, const Candidates& all, const Candidates& in_force,
                    CallUse use, const OutArgs* outs, const std::string& owner);
  const OpsetRange& RangeOf(CallUse use) const { return use == CallUse::kPattern ? read_ : made_; }
  // Those of them that are in force at one of the opsets.
  Candidates InForce(const Candidates& all, CallUse use) const;
  void CheckInForce(const Expr& call, const Candidates& all, CallUse use, const std::string& owner);
  void CheckUnknownInputs(const Expr& call, const OpName& op, const std::string& owner);
  void CheckInputNames(const Expr& call, const Candidates& candidates, const std::string& owner);
  void CheckInputs(const Expr& call, const Candidates& candidates, const Candidates& all,
                   CallUse use, const std::string& owner);
  void CheckAttributes(const Expr& call, const Candidates& candidates, const Candidates& all,
                       CallUse use, const std::string& owner);
  // The same of the texts of a literal, given the signatures.
  void CheckTexts(std::string_view attribute, const Expr& value, const Candidates& all,
                  const std::string& of, const std::string& owner);
  void CheckRequired(const Expr& call, const std::vector<OpName>& ops, CallUse use,
                     const std::string& owner);
  void CheckOutputs(const Expr& call, const Candidates& candidates, const OutArgs& outs,
                    CallUse use, const std::string& owner);

  const std::vector<OpName>& Names();  // all that have signatures; listed when needed

  bool IsFaulty(const OpName& op) const;

  const RuleSet& set_;
  const std::set<std::string, std::less<>>& faulty_;
  DiagnosticSink& sink_;
  OpsetRange read_, made_;
  std::vector<OpName> names_;
  std::optional<Slips> slips_;  // of names_; made when needed
  // For so many unknown operators all others are looked through for what is meant; nobody reads more.
  static constexpr int kMostMeant = 200;
  int unknown_ = 0;
  std::unordered_map<std::string, Named> named_;
};

}  // namespace qrewrite
