// SetBuilder: a file and what it includes -> one RuleSet, in which every name means one thing.
//
// A file's own definitions, sets, parameters, rules and signatures replace those of the same name
// that it includes, directly or not. Two includes that bring different things under one name are
// tolerated until the name is needed: such names are `ambiguous`, and using one is an error
// (check.h). Rules and definitions of included files that nothing of this file needs are dropped.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/rule/ast.h"
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
};

class SetBuilder {
 public:
  SetBuilder(const LoadOptions& options, DiagnosticSink& sink)
      : options_(options), sink_(sink), reader_(sink) {}

  // The rule set of `file`; built once. Errors are in the sink, the set may then be incomplete.
  std::shared_ptr<const RuleSet> Build(RuleFile* file);

 private:
  struct Parts {
    std::vector<Owned<Param>> params;
    std::vector<Owned<RawSet>> sets;
    std::vector<Owned<RawSignature>> signatures;
    std::vector<Owned<Definition>> definitions;
    std::vector<Owned<Rule>> rules;
    Ambiguous ambiguous;
  };

  void AddFile(RuleFile* file, Parts& parts);
  template <class T>
  void Merge(std::vector<Owned<T>>& list, T item, std::string key, const RuleFile* file,
             Place place, char sigil, Parts& parts);
  void ResolveSets(Parts& parts, RuleSet& set);
  void AddMembers(const std::vector<Owned<RawSet>>& sets, const RawSet& raw,
                  std::vector<std::string>& open, OpSet& out);
  void ReadHead(const Mapping& map, RuleSet& set);
  void ReadPhases(const Mapping& map, RuleFile* file, RuleSet& set);
  void ReadPhase(const DocNode& node, RuleFile* file, RuleSet& set);
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
