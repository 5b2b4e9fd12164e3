// Instance: a graph that is made of the pattern of a rule alone. Where the pattern leaves a choice
// (alternatives, optional parts, cases of sub-patterns, how often something repeats) one is taken; what
// the pattern only names becomes an input or a constant, of a type that the signature of its first reader
// allows and of a shape that inference does not refuse.
//
// Most guesses are no valid models, or do not meet the conditions of the rule. Who asks throws these
// away and asks again.
//
//   instance.cc        the pattern: statements, sub-patterns, what is chosen
//   instance_nodes.cc  one node: attributes, types and shapes of what it reads
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/dice.h"
#include "engine/driver/driver.h"
#include "engine/graph/graph.h"
#include "engine/program/program.h"
#include "engine/prove/variation.h"

namespace qrewrite {

// What nodes of tests read and say there: types, shapes, numbers and attributes that make sense.
class Examples {
 public:
  struct Example {
    TypeInfo type;  // of an input or a constant
    Tensor tensor;  // of a constant; else invalid
  };
  void Learn(const Graph& graph);
  const std::vector<Example>* Of(const OpName& op, size_t input) const;
  const Vocabulary& words() const { return words_; }

 private:
  Vocabulary words_;
  std::map<std::pair<OpName, size_t>, std::vector<Example>> by_input_;
};

class Instance {
 public:
  // Referents outlive this object.
  // `shown`: how often each case of a definition was seen where the rule fired; rare ones come first.
  using CaseCounts = std::map<const CompiledCase*, int>;
  Instance(const Program& program, const CompiledRule& rule, const Vocabulary& words,
           const Examples& examples, const CaseCounts& shown, const RunContext& context,
           Dice& dice);

  // False: the guess went wrong, and why() says in what.
  bool Make();
  // In place of the other: what the case of a definition looks for is put between `v` of `graph` and its readers.
  bool PutInFront(const Graph& graph, ValueId v, const CompiledCase& c, int num_params);
  Graph& graph() { return graph_; }
  // Cases that its patterns were made of.
  const std::vector<const CompiledCase*>& cases() const { return cases_; }
  const std::string& why() const { return why_; }

 private:
  // What a name of the pattern stands for. A leaf has no type before a node reads it.
  struct Term {
    enum class Kind : uint8_t { kUnset, kAbsent, kValue, kLeaf };
    Kind kind = Kind::kUnset;
    ValueId value;
    size_t leaf = 0;
  };
  struct Leaf {
    ValueId value;     // invalid: nobody read it so far
    std::string name;  // in the pattern
    bool constant = false;
    // Of the pattern: its numbers, in a type that the first reader takes. Else invalid.
    Tensor literal = {};
  };
  // The names of one pattern.
  struct Scope {
    const Pattern& pattern;
    const Layout& layout;
    const std::set<std::string>& constants;  // names that conditions want to be constant
    std::vector<Term> terms;                 // by slot
    std::set<const PatStmt*> begun;
    std::map<int, std::vector<Term>> lists;  // all outputs of a statement, by slot
  };

  // Why nothing comes of it.
  bool Fail(std::string why) {
    why_ = std::move(why);
    return false;
  }
  std::nullopt_t Nothing(std::string why) {
    why_ = std::move(why);
    return std::nullopt;
  }

  // --- instance.cc
  bool MakePattern(Scope& scope);
  void AddInputs();
  ValueId FedInstead(ValueId v);
  bool MakeStmt(const PatStmt& stmt, Scope& scope);
  const std::vector<Term>* ListOf(int slot, Scope& scope);
  // `outs`: how many outputs the node is to have.
  std::optional<Term> MakeCall(const PatCall& call, Scope& scope, size_t outs,
                               std::vector<Term>* made);
  std::optional<Term> MakeOnce(const PatCall& call, Scope& scope, size_t outs,
                               std::vector<Term>* made, const Term* start);
  std::optional<Term> MakeSub(const PatCall& call, Scope& scope);
  std::optional<Term> MakeArg(const PatArg& arg, Scope& scope);
  bool AddArgs(const PatCall& call, const OpName& op, const Signature* signature, Scope& scope,
               const Term* start, std::vector<Term>& terms);
  bool AddArg(const PatArg& arg, Scope& scope, int64_t room, std::vector<Term>& terms);
  std::optional<Term> NameTerm(int slot, Scope& scope);
  const CompiledCase* ChooseCase(std::vector<const CompiledCase*> cases);
  Term NewLeaf(bool constant, std::string name = "");
  // How often a repeated argument stands there, if there is room for so many inputs.
  int64_t ChooseTimes(const PatArg& arg, int64_t room);
  std::optional<Term> LiteralTerm(const PatArg& arg);
  // Of the operator's domain, in the graph.
  int64_t VersionOf(const OpName& op) const { return op.domain.empty() ? opset_ : 0; }
  static Term Value(ValueId v) { return {.kind = Term::Kind::kValue, .value = v}; }
  std::set<std::string> WantedConstants(const std::vector<PatWhere>& where) const;

  // --- instance_nodes.cc
  std::optional<OpName> ChooseOp(const OpHead& head);
  Attributes ChooseAttributes(const PatCall& call, const Signature* signature);
  // `axes`: so long are lists of the node of which nothing else is known, or twice as long: pads beside steps.
  std::optional<AttrValue> Known(CodeId id, AttrKind kind, size_t axes);
  std::optional<AttrValue> SomeValue(const std::string& name, const Signature* signature,
                                     size_t axes);
  // A node that reads `terms`; leaves among them get types and shapes. False: none were found.
  bool AddNode(const OpName& op, const Attributes& attributes, std::vector<Term>& terms,
               size_t outputs, std::vector<ValueId>& made);
  bool TryNode(const OpName& op, const Signature* signature, const Attributes& attributes,
               const std::vector<Term>& terms, size_t outputs, std::vector<ValueId>& made);
  // Types of other inputs of a node; null: not known. A bias has a number for each row of the weights in front of it.
  struct Neighbours {
    const TypeInfo* first;
    const TypeInfo* before;  // of the third input and those behind it: the one before
  };
  ValueId Settle(const Leaf& leaf, const OpName& op, const Signature* signature, size_t index,
                 const Neighbours& others, std::map<int, DType>& types);
  DType ChooseType(const OpName& op, const Signature* signature, size_t index,
                   std::map<int, DType>& types);
  Dims ChooseDims(DType dtype, const Neighbours& others);
  Tensor ChooseNumbers(DType dtype, const Dims& dims);
  // What equals the literal, in that type; invalid: nothing of that type does.
  Tensor LiteralIn(const Tensor& literal, DType dtype, const Neighbours& others);

  const Program& program_;
  const CompiledRule& rule_;
  const Vocabulary& words_;
  const Examples& examples_;
  const CaseCounts& shown_;
  const RunContext& context_;
  Dice& dice_;
  Graph graph_;
  std::vector<Leaf> leaves_;
  int64_t size_ = 2;  // that most axes have
  int64_t opset_ = 21;
  int depth_ = 0;
  ValueId given_;  // what the next leaf is, if that is given
  std::vector<const CompiledCase*> cases_;
  std::string why_;
};

}  // namespace qrewrite
