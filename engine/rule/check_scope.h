// Names in scope while a rule or definition is checked, and whose they are.
#pragma once

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/name_map.h"
#include "engine/expr/functions.h"
#include "engine/rule/ast.h"

namespace qrewrite {

// What is being checked: in messages "rule `pair`", "`$clip`".
struct Owner {
  std::string text;
  bool rule = false;                 // has labels
  bool fact = false;                 // looks upwards only
  bool names_lost = false;           // a faulty match would have bound some
  std::string names_hint = {};       // what is there beside names that are bound
  const BodyText* match = nullptr;   // of a rule
  const OutArgs* results = nullptr;  // of a template: what its statements define
  std::set<std::string> reported;    // unbound names, told once
};

struct NameInfo {
  // kRest: `**a`. kParam: of a definition, so of any kind. kNew: made by a replacement.
  enum class Kind { kValue, kAttribute, kRest, kLabel, kChain, kLet, kParam, kNew };
  Kind kind = Kind::kValue;
  Place place;
  bool list = false;                // bound inside `...`
  bool output = false;              // kValue: an output of a statement of the match
  bool quantified = false;          // kValue: the output of `Op?`, `Op*`, `Op+`
  const Expr* call = nullptr;       // kLabel, kChain: the node that is labelled; kAttribute: whose
  std::string_view attribute = {};  // kAttribute: which one
  const Let* let = nullptr;         // kLet
  ExprType type = ExprType::kAny;   // kLet: once inferred
  bool used = false;                // kNew

  bool is_label() const { return kind == Kind::kLabel || kind == Kind::kChain; }
};

class NameScope {
 public:
  explicit NameScope(Owner& owner) : owner_(owner) {}
  explicit NameScope(NameScope* parent) : owner_(parent->owner_), parent_(parent) {}

  Owner& owner() const { return owner_; }  // of this scope and those around it

  NameInfo* Find(std::string_view name) {
    for (NameScope* scope = this; scope != nullptr; scope = scope->parent_) {
      if (NameInfo* const found = scope->names_.Find(name)) return found;
    }
    return nullptr;
  }
  // In place of what the name stood for in this scope.
  void Add(std::string_view name, const NameInfo& info) { *names_.Add(name, info).first = info; }

  // Of each scope in alphabetical order, inner ones first.
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const NameScope* scope = this; scope != nullptr; scope = scope->parent_) {
      const auto first = static_cast<std::ptrdiff_t>(names.size());
      for (const auto& [name, info] : scope->names_) names.push_back(name);
      std::sort(names.begin() + first, names.end());
    }
    return names;
  }

 private:
  Owner& owner_;
  NameScope* parent_ = nullptr;
  NameMap<NameInfo, 8> names_;
};

}  // namespace qrewrite
