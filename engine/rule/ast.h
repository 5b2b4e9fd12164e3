// RuleSet: the checked form of a rule file with everything it includes. What a name means is
// settled here; how it runs is settled when it is compiled (engine/program).
//
// Immutable once loaded, and shareable between threads.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "engine/base/source.h"
#include "engine/expr/ast.h"
#include "engine/ops/signature.h"

namespace qrewrite {

// Plain data of a rule file: a set member's `{op: MatMul, axis: -1}`, a parameter's value.
// kOp is an operator name that stands where the language can call it (`n.op(...)`); it is a string
// that begins with a capital or has a domain.
using Literal = std::variant<std::monostate, bool, int64_t, double, std::string,
                             std::vector<int64_t>, std::vector<double>, std::vector<std::string>>;

// kBytes: 64MiB; kInts, kFloats, kStrings: lists, with commas between their members where they are set
enum class ParamType {
  kAny,
  kBool,
  kInt,
  kFloat,
  kString,
  kPath,
  kRegex,
  kBytes,
  kInts,
  kFloats,
  kStrings,
};
std::string_view ParamTypeText(ParamType type);  // as rule files write it; "any"

struct Param {
  std::string name;
  ParamType type = ParamType::kAny;
  Literal default_value;  // monostate: absent
  Place default_place;
  std::vector<Literal> one_of;
  std::string doc;
  Place place;
};

// Operators that a name in a set stands for: a domain and a name that may contain `*`.
struct OpPattern {
  OpName op;
  bool wildcard = false;
  bool Matches(const OpName& name) const;
};

struct SetMember {
  OpPattern op;
  std::map<std::string, Literal> data;
  Place place;
};

struct OpSet {
  std::string name;
  std::vector<SetMember> members;
  Place place;
  // The first member that covers `op`, or null.
  const SetMember* Find(const OpName& op) const;
};

struct Let {
  std::vector<std::string> names;  // `lo, hi: $range(v)` takes a list apart
  ExprPtr value;
  Place place;
};

struct Case;

// What a case or a rule leads to.
struct Outcome {
  std::optional<Arg> is;            // a value: `=> x`, `is:`
  std::optional<BodyText> replace;  // statements
  std::vector<Case> cases;          // `cases:`
};

struct Case {
  std::optional<BodyText> match;  // a sub-pattern, or the statement a fact looks at
  std::vector<ExprPtr> when;      // all must hold
  std::vector<Let> let;
  Outcome outcome;
  Place place;
  bool faulty = false;  // a key of it was refused
};

// A template, a sub-pattern or a fact; which one is decided by where it is called.
struct Definition {
  DefinitionHead head;
  std::vector<Case> cases;
  bool is_fact() const { return head.outs.empty(); }
  Place place;
};

struct RuleTest {
  std::string name;
  BodyText given;
  bool unchanged = false;
  std::optional<BodyText> expect;
  std::vector<BodyText> or_else = {};  // `expect: {one_of: [...]}`: those behind the first
  std::string error;    // `expect: {error: "text"}`: the run fails with this in its message
  std::string warning;  // `expect: {warning: "text"}`: the run succeeds with this in a warning
  std::map<std::string, Literal> set;    // parameters
  std::map<std::string, int64_t> opset;  // default {"": 21}, or the nearest allowed
  std::vector<std::string> rules;        // empty: the rule the test stands in, alone
  bool whole_set = false;                // test of the file: all phases run
  std::map<std::string, Place> set_places;
  Place opset_place;
  std::vector<Place> rule_places;
  Place place;
};

struct Rule {
  std::string name;
  std::string doc;
  std::string equivalence;  // exact, ulp(n), lsb(n), approx(dB), rescaled, none; "" if not stated
  // Whether what it redefines is meant to go on being the same numbers, but for rounding.
  bool KeepsNumbers() const { return equivalence != "rescaled"; }
  // What a firing counts under, and when (null: always); empty: the rule's name.
  std::vector<std::pair<std::string, ExprPtr>> counters;
  std::vector<std::string> CounterNames() const;  // at least one
  std::string expect_hits;                        // "12", ">=1"; "": any number of firings
  int64_t hits_min = 0, hits_max = INT64_MAX;     // parsed `expect_hits`
  std::string opset;                              // ">=10", ">=7 <13"; "": any
  std::map<std::string, std::string> opsets;      // other domains
  int64_t opset_min = 0, opset_max = INT64_MAX;   // parsed `opset`
  BodyText match;
  std::vector<ExprPtr> where;
  std::vector<Let> let;
  std::optional<BodyText> replace;
  std::vector<Case> cases;
  std::optional<std::string> refuse;  // as written
  std::optional<std::string> warn;
  // What `refuse` or `warn` says of a match if it has {expressions}: the text in front of each, and it; null behind the
  // last one.
  std::vector<std::pair<std::string, ExprPtr>> says;
  bool share = true;
  std::vector<std::pair<std::string, ExprPtr>> retype;  // matched value -> dtype
  // record: table -> columns; `of` is the value that orders the rows.
  std::vector<std::pair<std::string, std::vector<std::pair<std::string, ExprPtr>>>> record;
  std::vector<RuleTest> tests;
  Place place;
};

enum class PhaseKind {
  kRules,
  kFold,
  kFreezeInputs,
  kInline,
  kToOpset,
  kWriteDefaults,
  kWriteShapes,
  kRename,
  kUse
};

struct Phase {
  std::string name;
  PhaseKind kind = PhaseKind::kRules;
  ExprPtr when;                    // over parameters and `opset`; null: always
  std::vector<std::string> rules;  // kRules, kToOpset: names in order of trial
  ExprPtr to_opset;
  std::vector<OpPattern> ops;                 // kWriteDefaults; kFold: empty = all
  std::vector<std::string> attributes;        // kWriteDefaults: empty = all
  std::vector<Place> attribute_places;        // of each
  std::string rename;                         // character class: "A-Za-z0-9_"
  std::shared_ptr<const struct RuleSet> use;  // kUse: the phases of that rule set
  Place place;
};

struct ConstantsConfig {
  std::vector<OpPattern> keep;  // never folded, and no constants to const()
  ExprPtr max_bytes;            // of one folded tensor
  bool overridable = false;     // initializers that callers may override are constants, too
};

// A file written after all phases from recorded rows.
struct WriteSpec {
  ExprPtr when;
  std::string file;               // "{sidecar}/sidecar.json": parameters in braces
  std::vector<std::string> json;  // tables that become a JSON object
  ExprPtr from;                   // a parameter: an .npz file
  std::string table;
  ExprPtr npz;  // over `array` and the columns of the row
  Place file_place, table_place;
  std::vector<Place> json_places;
  Place place;
};

// A new member is named in engine/rule/snapshot_fields.h, too; of all else here the compiler says so.
struct RuleSet {
  std::string name;
  std::string summary;
  std::string doc;
  std::string opset;
  std::map<std::string, std::string> opsets;  // other domains
  int64_t opset_min = 0, opset_max = INT64_MAX;
  std::vector<Param> params;
  std::vector<OpSet> sets;
  Signatures signatures{&Signatures::Builtin()};
  std::vector<OpName>
      private_ops;  // signatures of this file whose domain is private to rules (`qr`)
  std::vector<Definition> definitions;
  std::vector<Phase> phases;
  std::vector<Rule> rules;  // includes first, then file order
  ConstantsConfig constants;
  bool check_types = true;  // `types: unchecked` clears it
  std::vector<WriteSpec> writes;
  std::vector<RuleTest> tests;  // of the whole set
  // What operators of `signatures:` compute (`computes:`), as one phase of rules that replace them by
  // it. Null: nothing is said, or it was passed over as tests are.
  std::shared_ptr<const RuleSet> semantics;

  // Keeps the texts alive that places point into; the first is the file that was loaded, the others
  // are what it includes.
  std::vector<SourcePtr> sources;

  const Param* FindParam(std::string_view name) const;
  const OpSet* FindSet(std::string_view name) const;
  const Rule* FindRule(std::string_view name) const;
  const Definition* FindDefinition(std::string_view name) const;

  // Makes the questions above logarithmic. REQUIRES a new call when one of the lists was changed.
  void IndexNames();

 private:
  std::vector<uint32_t> params_by_name_, sets_by_name_, rules_by_name_, definitions_by_name_;
};

// The versions that a constraint such as ">=7 <13" allows. False if it is none.
bool ParseOpsetRange(std::string_view text, int64_t& min, int64_t& max);
// "com.microsoft.QGemm" -> domain and name; "ai.onnx" is the default domain.
OpName SplitOpName(std::string_view text);

}  // namespace qrewrite
