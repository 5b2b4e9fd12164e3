// Names in scope while a rule or definition is checked.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/expr/functions.h"
#include "engine/rule/ast.h"

namespace qrewrite {

struct NameInfo {
  // kRest: `**a`. kParam: of a definition, so of any kind. kNew: made by a replacement.
  enum class Kind { kValue, kAttribute, kRest, kLabel, kChain, kLet, kParam, kNew };
  Kind kind = Kind::kValue;
  Place place;
  bool list = false;               // bound inside `...`
  bool output = false;             // kValue: an output of a statement of the match
  bool quantified = false;         // kValue: the output of `Op?`, `Op*`, `Op+`
  const Expr* call = nullptr;      // kLabel, kChain: the node that is labelled
  const Let* let = nullptr;        // kLet
  ExprType type = ExprType::kAny;  // kLet: once inferred
  bool used = false;               // kNew

  bool is_label() const { return kind == Kind::kLabel || kind == Kind::kChain; }
};

class NameScope {
 public:
  explicit NameScope(NameScope* parent = nullptr) : parent_(parent) {}

  NameInfo* Find(std::string_view name) {
    for (NameScope* scope = this; scope != nullptr; scope = scope->parent_) {
      const auto found = scope->names_.find(name);
      if (found != scope->names_.end()) return &found->second;
    }
    return nullptr;
  }
  NameInfo& Add(const std::string& name, const NameInfo& info) { return names_[name] = info; }

  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const NameScope* scope = this; scope != nullptr; scope = scope->parent_) {
      for (const auto& [name, info] : scope->names_) names.push_back(name);
    }
    return names;
  }

 private:
  NameScope* parent_;
  std::map<std::string, NameInfo, std::less<>> names_;
};

}  // namespace qrewrite
