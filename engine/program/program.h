// Program: a checked rule set compiled for running: patterns, conditions, computed values and
// replacements over the slots of frames (code.h, pattern.h). Made once when rules are loaded,
// immutable, shared by runs and threads.
//
// External interface: Compile(). A program keeps the rule set it was made of alive.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/program/code.h"
#include "engine/program/pattern.h"
#include "engine/rule/ast.h"

namespace qrewrite {

// What a frame holds: its names, and which of them are computed when asked for.
struct Layout {
  std::vector<std::string> names;  // by slot
  std::vector<int> let_of;         // by slot: index in lets, or -1
  struct Let {
    CodeId value;
    std::vector<int> slots;  // more than one: takes a list apart
  };
  std::vector<Let> lets;

  int size() const { return static_cast<int>(names.size()); }
};

// --- replacements

struct MakeCall;

// A value of a replacement, as an input of a new node or as the outcome.
struct Make {
  enum class Kind : uint8_t {
    kName,      // the new value `fresh`, else the name `value`
    kCode,      // `value`: computed now
    kCall,      // `call`
    kCoalesce,  // items[0] ?? items[1]
    kIf,        // value ? items[0] : items[1]
  };
  Kind kind = Kind::kCode;
  int fresh = -1;
  int slot = -1;  // kName: what the match bound; used inside the definition of `fresh`
  CodeId value;
  std::vector<Make> items;
  std::unique_ptr<MakeCall> call;
};

struct MakeArg {
  Make value;
  std::vector<Make> group;  // `(x, s, z)...`: in place of value
  std::string input;        // `x_scale=...`: the formal input
  int from = -1;            // `q -> ...`: slot of q
  bool repeated = false;
  // Names in front of `...`: the list that each holds is taken apart into `slot`.
  struct Member {
    Make list;
    int slot;
    bool computed = false;  // `members(w)`, not a name
  };
  std::vector<Member> members;
};

struct MakeCall {
  enum class Kind : uint8_t {
    kOperator,  // a new node
    kTemplate,  // definition number `definition`
    kLabel,     // `n(...)`: a copy of a node, a chain or a body, by what `slot` is bound to
  };
  Kind kind = Kind::kOperator;
  OperatorHead head;  // kOperator, and kLabel of a node without arrows
  int definition = -1;
  int slot = -1;
  bool arrows = false;  // it has `q -> f`
  std::vector<MakeArg> args;
  struct Attr {
    std::string name;
    CodeId value;
    int rest = -1;  // `**a`: its slot
  };
  std::vector<Attr> attrs;
  const Expr* expr = nullptr;
};

struct MakeStmt {
  struct Out {
    std::string name;
    int fresh = -1;    // slot of the new value; -1: `_`
    int matched = -1;  // slot of what the match bound to that name; -1: nothing
    bool repeated = false;
    bool read = false;  // by another statement of the replacement
  };
  std::vector<Out> outs;
  MakeArg value;
};

struct Replacement {
  std::vector<MakeStmt> stmts;
  // The statements' outputs that redefine what was matched (of a template: its outputs), in order.
  std::vector<MakeStmt::Out> wanted;
};

// --- rules and definitions

struct CompiledCase {
  const Case* source = nullptr;
  std::unique_ptr<Layout> layout;  // of a definition's case; cases in cases share it
  bool has_match = false;
  Pattern pattern;             // if has_match; else only `where` is used
  std::vector<int> slots;      // of the case alone: unbound when it is entered
  CodeId is;                   // `=> x` as a value
  std::unique_ptr<Make> make;  // `=> x` as a new value
  std::unique_ptr<Replacement> replace;
  std::vector<CompiledCase> cases;
};

struct CompiledRule {
  const Rule* rule = nullptr;
  Layout layout;
  Pattern pattern;
  std::vector<int> redefined;  // statements whose outputs the rule redefines
  std::unique_ptr<Replacement> replace;
  std::vector<CompiledCase> cases;
  std::vector<std::pair<int, CodeId>> retype;  // slot -> element type
  struct Record {
    std::string table;
    std::vector<std::pair<std::string, CodeId>> columns;
  };
  std::vector<Record> records;
  std::vector<CodeId> counters;                      // invalid: always
  std::vector<std::pair<std::string, CodeId>> says;  // as Rule::says; invalid: behind the last one
};

struct CompiledDefinition {
  const Definition* definition = nullptr;
  int num_params = 0;
  std::vector<CompiledCase> cases;  // slots: parameters, outputs, then what the case needs
  std::vector<bool> looks_at;       // by parameter: some case has a statement about it
};

// Facts that a signature states, over its inputs and attributes.
struct SignatureCode {
  Layout layout;
  std::vector<int> inputs, attributes;  // their slots; an attribute may share that of an input
  std::vector<CodeId> shapes, dtypes;   // by output; invalid: not stated
  std::vector<CodeId> defaults;         // by attribute
};

struct PhaseCode {
  CodeId when, to_opset;
  std::vector<const CompiledRule*> rules;  // as Phase::rules; of this program
  std::shared_ptr<const class Program> use;
};

struct WriteCode {
  CodeId when, from, npz;
  Layout layout;  // of npz: `array`, then columns of the rows
};

class Program {
 public:
  const RuleSet& rules() const { return *rules_; }

  const Code& code(CodeId id) const { return codes_[id.index]; }
  CodeId kid(const Code& code, size_t i) const { return kids_[code.first_kid + i]; }

  const CompiledRule* FindRule(const Rule& rule) const;
  const CompiledDefinition& definition(int number) const { return definitions_[number]; }
  const SignatureCode* FindSignature(const Signature& signature) const;

  // Tables that codes refer to by number.
  const SetData& data(int number) const { return data_[number]; }
  const OperatorCode& call(int number) const { return calls_[number]; }
  const std::vector<SubscriptCode>& subscripts(int number) const { return subscripts_[number]; }
  const re2::RE2& regex(int number) const { return *regexes_[number]; }
  const std::vector<OperatorRef>& operators() const { return operators_; }
  const std::vector<std::string>& hosts() const { return hosts_; }
  const std::vector<std::string>& params() const { return params_; }
  size_t num_heads() const { return num_heads_; }

  // Of conditions outside of rules: slot 0 is `changed`.
  const Layout& plain() const { return plain_; }
  const PhaseCode& phase(size_t i) const { return phases_[i]; }
  const WriteCode& write(size_t i) const { return writes_[i]; }
  CodeId max_bytes() const { return max_bytes_; }

 private:
  friend class ProgramCompiler;
  Program() = default;

  std::shared_ptr<const RuleSet> rules_;
  std::vector<Code> codes_;
  std::vector<CodeId> kids_;
  std::vector<CompiledRule> compiled_;  // as RuleSet::rules
  std::vector<CompiledDefinition> definitions_;
  std::unordered_map<const Signature*, SignatureCode> signatures_;
  std::vector<std::unique_ptr<const SourceText>> signature_texts_;
  std::vector<std::unique_ptr<const Expr>> signature_exprs_;
  std::vector<SetData> data_;
  std::vector<OperatorCode> calls_;
  std::vector<std::vector<SubscriptCode>> subscripts_;
  std::vector<std::unique_ptr<const re2::RE2>> regexes_;
  std::vector<OperatorRef> operators_;
  std::vector<std::string> hosts_, params_;
  size_t num_heads_ = 0;
  Layout plain_;
  std::vector<PhaseCode> phases_;  // as RuleSet::phases
  std::vector<WriteCode> writes_;  // as RuleSet::writes
  CodeId max_bytes_;
};

// REQUIRES: the rule set was checked (engine/rule/check.h); nothing can fail then.
std::shared_ptr<const Program> Compile(std::shared_ptr<const RuleSet> rules);

// What one built-in signature states, as a program of its own: FindSignature() finds it.
std::shared_ptr<const Program> CompileSignature(const Signature& signature);

// The operators that the anchor of a pattern can be; nullopt if any. Definitions are looked into.
std::optional<OpPatterns> AnchorOps(const Program& program, const Pattern& pattern);

}  // namespace qrewrite
