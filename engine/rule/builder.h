// SetBuilder: a file and what it includes -> one RuleSet, in which every name means one thing.
//
// A file's own definitions, sets, parameters, rules and signatures replace those of the same name
// that it includes, directly or not. Two includes that bring different things under one name are
// tolerated until the name is needed: such names are `ambiguous`, and using one is an error
// (check.h). Rules and definitions of included files that nothing of this file needs are dropped.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "engine/rule/ast.h"
#include "engine/rule/builder_needed.h"
#include "engine/rule/files.h"
#include "engine/rule/reader.h"

namespace qrewrite {

// `$name`, `@name`, rule names and parameters (by the sigils $ @ : .) -> where they come from.
using Ambiguous = std::map<std::string, std::string>;

template <class T>
struct Owned {
  T item;
  std::string name;
  const RuleFile* file = nullptr;
  Place place;
};

// Things of one kind in order, each name once.
template <class T>
struct OwnedList {
  std::vector<Owned<T>> items;
  std::unordered_map<std::string, size_t> index;

  Owned<T>* Find(const std::string& name) {
    const auto found = index.find(name);
    return found == index.end() ? nullptr : &items[found->second];
  }
};

class SetBuilder {
 public:
  SetBuilder(const LoadOptions& options, DiagnosticSink& sink)
      : options_(options), sink_(sink), reader_(sink, options.tests) {}

  // The rule set of `file`; built once. Errors are in the sink, the set may then be incomplete.
  std::shared_ptr<const RuleSet> Build(RuleFile* file);

 private:
  struct Parts {
    OwnedList<Param> params;
    OwnedList<RawSet> sets;
    OwnedList<RawSignature> signatures;
    OwnedList<Definition> definitions;
    OwnedList<Rule> rules;
    Ambiguous ambiguous;
    std::set<std::string, std::less<>> faulty;  // CheckInput::faulty
    size_t members = 0;                         // of all sets, those of nested sets counted again
    LeftOut left_out;                           // is not even parsed
  };
  void AddFile(RuleFile* file, Parts& parts);
  void AddDeclarations(const Mapping& map, RuleFile* file, Parts& parts);
  // Moves what the parts hold into the set; the signatures' trees are what is left.
  std::vector<RawSignature> TakeParts(Parts& parts, RuleSet& set);
  // RuleSet::semantics of the file.
  std::shared_ptr<const RuleSet> BuildSemantics(RuleFile* file);
  template <class T>
  void Merge(OwnedList<T>& list, T&& item, std::string key, const RuleFile* file, Place place,
             char sigil, Parts& parts);
  void ResolveSets(Parts& parts, RuleSet& set);
  bool AddMembers(Parts& parts, const RawSet& raw, std::vector<std::string>& open, OpSet& out);
  void ReadHead(const Mapping& map, RuleSet& set);
  void ReadPhases(const Mapping& map, RuleFile* file, RuleSet& set);
  void ReadPhase(const DocNode& node, RuleFile* file, RuleSet& set,
                 std::unordered_set<std::string>& phases);
  PhaseKind KindOf(const DocNode& node, const Place& place, const std::string& owner);
  void ReadWork(const Mapping& map, RuleFile* file, const RuleSet& set, Phase& phase);
  void NotAll(const DocNode& node);
  std::vector<std::string> RuleNames(const DocNode& node, const RuleSet& set);
  std::vector<OpPattern> Operators(const DocNode& node,
                                   const RuleSet& set);  // notes them in written_
  std::shared_ptr<const RuleSet> Used(const DocNode& node, RuleFile* file);

  const LoadOptions& options_;
  DiagnosticSink& sink_;
  AstReader reader_;
  std::map<const RuleFile*, std::shared_ptr<const RuleSet>> built_;
  std::vector<WrittenOp> written_;  // of the set being built
};

}  // namespace qrewrite
