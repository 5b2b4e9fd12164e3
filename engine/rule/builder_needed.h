// What a rule set needs of the files it includes. The rest costs nothing: it is left out before it
// is parsed where the texts show that nothing refers to it, else dropped before it is checked.
#pragma once

#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "engine/rule/ast.h"
#include "engine/rule/doc.h"
#include "engine/rule/files.h"

namespace qrewrite {

// The value of `name:`; "" if there is none.
std::string_view RuleName(const DocNode& rule);

// `f` of `y = f(x)`, also where the head cannot be read, as `y = $f(x:`; "" if there is none.
std::string_view HeadName(std::string_view head);

// Names of rules and definitions that only included files of `file` have and that neither its
// phases nor any text that it runs refer to. Views of the document trees.
struct LeftOut {
  std::unordered_set<std::string_view> rules, definitions;
};
LeftOut FindLeftOut(RuleFile& file);

struct Unneeded {  // names
  std::vector<std::string> sets, definitions;
};
// Of what other files than `root` brought, what nothing here calls goes.
Unneeded DropUnneeded(RuleSet& set, const SourceText* root);

}  // namespace qrewrite
