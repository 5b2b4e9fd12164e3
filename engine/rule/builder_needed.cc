#include "engine/rule/builder_needed.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "engine/base/function_ref.h"
#include "engine/expr/lexer.h"
#include "engine/expr/parser.h"
#include "engine/rule/walk.h"

namespace qrewrite {
namespace {

bool IsNameChar(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

size_t NameLength(std::string_view text) {
  return static_cast<size_t>(std::ranges::find_if_not(text, IsNameChar) - text.begin());
}

// The names of the rules that the phases of `root` list; nothing if one of them runs all.
std::optional<std::unordered_set<std::string_view>> ListedRules(const DocNode& root) {
  std::unordered_set<std::string_view> names;
  const DocEntry* phases = root.Find("phases");
  if (phases == nullptr) return std::nullopt;
  for (const DocNode& phase : phases->value.items) {
    const DocEntry* rules = phase.is_map() ? phase.Find("rules") : nullptr;
    if (rules == nullptr) continue;
    if (!rules->value.is_list()) return std::nullopt;
    for (const DocNode& item : rules->value.items) names.insert(item.text.text);
  }
  return names;
}

using Found = FunctionRef<void(std::string_view)>;

// Where a `$` is not in front of a name, as in `$'f'(x)`, `$ f(x)`, or in a regular expression. "" for a name that
// only the parser can read.
void FindReferencesInTokens(std::string_view text, Found found) {
  if (text.size() > kMaxTextBytes) return found("");  // the parser refuses it
  const std::vector<Token> tokens = Lex(text);
  for (size_t i = 0; i + 1 < tokens.size(); ++i) {
    if (tokens[i].mark != "$") continue;
    std::string_view name = tokens[i + 1].text;
    if (tokens[i + 1].kind == TokenKind::kString) name = name.substr(1, name.size() - 2);
    found(NameLength(name) == name.size() ? name : std::string_view());
  }
}

// Every name that stands behind a `$` in the text, in comments too.
void FindReferencesIn(std::string_view text, Found found) {
  std::string_view rest = text;
  for (size_t at = rest.find('$'); at != rest.npos; at = rest.find('$')) {
    rest.remove_prefix(at + 1);
    const size_t length = NameLength(rest);
    if (length == 0) return FindReferencesInTokens(text, found);
    found(rest.substr(0, length));
  }
}

void FindReferences(const DocNode& node, Found found) {
  FindReferencesIn(node.text.text, found);
  for (const DocNode& item : node.items) FindReferences(item, found);
  for (const DocEntry& entry : node.entries) {
    FindReferences(entry.key, found);
    FindReferences(entry.value, found);
  }
}

// From what runs to the definitions it calls, and on from these.
class Reached {
 public:
  Reached(RuleFile& file, const std::unordered_set<std::string_view>& left_out_rules) {
    for (const RuleFile* f : RuleFiles::InOrder(&file)) {
      for (const DocEntry& section : f->root.entries) {
        if (section.name() == "define") {
          for (const DocEntry& entry : section.value.entries) {
            definitions_[HeadName(entry.name())].push_back(&entry);
            if (f == &file) Add(HeadName(entry.name()));
          }
        } else if (section.name() == "rules") {
          for (const DocNode& rule : section.value.items) {
            if (!left_out_rules.contains(RuleName(rule))) Search(rule);
          }
        } else {
          Search(section.value);
        }
      }
    }
    for (size_t i = 0; i < queue_.size(); ++i) {
      const auto entries = definitions_.find(queue_[i]);
      if (entries == definitions_.end()) continue;
      for (const DocEntry* entry : entries->second) Search(entry->value);
    }
  }

  std::unordered_set<std::string_view> Others() const {
    std::unordered_set<std::string_view> others;
    if (names_.contains("")) return others;
    for (const auto& [name, entries] : definitions_) {
      if (!name.empty() && !names_.contains(name)) others.insert(name);
    }
    return others;
  }

 private:
  void Add(std::string_view name) {
    if (names_.insert(name).second) queue_.push_back(name);
  }
  void Search(const DocNode& node) {
    FindReferences(node, [this](std::string_view name) { Add(name); });
  }

  std::unordered_map<std::string_view, std::vector<const DocEntry*>> definitions_;
  std::unordered_set<std::string_view> names_;
  std::vector<std::string_view> queue_;
};

// What the rules and definitions of `set` call, from those that stand in the file itself and those
// that a phase runs.
class Needed {
 public:
  Needed(const RuleSet& set, const SourceText* root) : set_(set) {
    for (const Phase& phase : set.phases) rules_.insert(phase.rules.begin(), phase.rules.end());
    for (const Rule& rule : set.rules) {
      if (rule.place.source == root) rules_.insert(rule.name);
      if (rules_.contains(rule.name)) WalkRule(rule, [this](const Expr& e) { See(e); });
    }
    for (const Definition& definition : set.definitions) {
      if (definition.place.source == root) AddDefinition(definition.head.name);
    }
    for (const OpSet& s : set.sets) {
      if (s.place.source == root) sets_.insert(s.name);
    }
    for (size_t i = 0; i < queue_.size(); ++i) {
      if (const Definition* d = set_.FindDefinition(queue_[i])) {
        WalkCases(d->cases, [this](const Expr& e) { See(e); });
      }
    }
  }

  bool rule(const Rule& r) const { return rules_.contains(r.name); }
  bool definition(const Definition& d) const { return definitions_.contains(d.head.name); }
  bool set(const OpSet& s) const { return sets_.contains(s.name); }

 private:
  void AddDefinition(const std::string& name) {
    if (definitions_.insert(name).second) queue_.push_back(name);
  }
  void See(const Expr& e) {
    if (e.kind == Expr::Kind::kSet) sets_.insert(e.text);
    if (!e.has_call()) return;
    for (const Ref& ref : e.call().refs) {
      if (ref.kind == Ref::Kind::kSet) sets_.insert(ref.name);
      if (ref.kind == Ref::Kind::kDefinition) AddDefinition(ref.name);
    }
  }

  const RuleSet& set_;
  std::unordered_set<std::string> rules_, definitions_, sets_;
  std::vector<std::string> queue_;
};

}  // namespace

std::string_view RuleName(const DocNode& rule) {
  const DocEntry* name = rule.is_map() ? rule.Find("name") : nullptr;
  return name != nullptr && name->value.is_scalar() ? std::string_view(name->value.text.text) : "";
}

std::string_view HeadName(std::string_view head) {
  if (const size_t equals = head.find('='); equals < head.find('(')) head.remove_prefix(equals + 1);
  while (!head.empty() && !IsNameChar(head.front())) head.remove_prefix(1);
  return head.substr(0, NameLength(head));
}

LeftOut FindLeftOut(RuleFile& file) {
  LeftOut left_out;
  const auto listed = ListedRules(file.root);
  if (file.includes.empty() || !listed) return left_out;
  std::unordered_set<std::string_view> own, included;
  for (const RuleFile* f : RuleFiles::InOrder(&file)) {
    const DocEntry* rules = f->root.Find("rules");
    if (rules == nullptr) continue;
    for (const DocNode& rule : rules->value.items) {
      (f == &file ? own : included).insert(RuleName(rule));
    }
  }
  const auto known = [&](std::string_view name) {
    return own.contains(name) || included.contains(name);
  };
  // A name that is nowhere is an error, whose hint knows all names.
  if (!std::ranges::all_of(*listed, known)) return left_out;
  for (const std::string_view name : included) {
    if (!listed->contains(name) && !own.contains(name)) left_out.rules.insert(name);
  }
  left_out.definitions = Reached(file, left_out.rules).Others();
  return left_out;
}

Unneeded DropUnneeded(RuleSet& set, const SourceText* root) {
  const Needed needed(set, root);
  Unneeded unneeded;
  for (const OpSet& s : set.sets) {
    if (!needed.set(s)) unneeded.sets.push_back(s.name);
  }
  for (const Definition& d : set.definitions) {
    if (!needed.definition(d)) unneeded.definitions.push_back(d.head.name);
  }
  std::erase_if(set.rules, [&](const Rule& r) { return !needed.rule(r); });
  std::erase_if(set.definitions, [&](const Definition& d) { return !needed.definition(d); });
  std::erase_if(set.sets, [&](const OpSet& s) { return !needed.set(s); });
  set.IndexNames();
  return unneeded;
}

}  // namespace qrewrite
