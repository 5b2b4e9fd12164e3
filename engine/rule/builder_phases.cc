// Phases, constants, files to write and tests of the file itself: what an include does not bring.
#include <algorithm>

#include <fmt/format.h>

#include "engine/rule/builder.h"
#include "engine/rule/codes.h"
#include "engine/rule/hints.h"

namespace qrewrite {
namespace {

struct PhaseKey {
  std::string_view key;
  PhaseKind kind;
};
// `rules` beside `to_opset` belongs to it, so it comes last.
constexpr PhaseKey kPhaseKeys[] = {
    {"fold", PhaseKind::kFold},
    {"freeze_inputs", PhaseKind::kFreezeInputs},
    {"inline", PhaseKind::kInline},
    {"to_opset", PhaseKind::kToOpset},
    {"write_defaults", PhaseKind::kWriteDefaults},
    {"write_shapes", PhaseKind::kWriteShapes},
    {"rename", PhaseKind::kRename},
    {"use", PhaseKind::kUse},
    {"rules", PhaseKind::kRules},
};

// "A-Za-z0-9_": single characters and ranges, of printable ASCII.
bool IsCharacterClass(std::string_view text) {
  for (size_t i = 0; i < text.size(); ++i) {
    // Brackets would be characters, too, but who writes them means a regular expression.
    if (text[i] <= ' ' || text[i] > '~' || text[i] == '[' || text[i] == ']') return false;
    if (i + 2 < text.size() && text[i + 1] == '-') {
      if (text[i] > text[i + 2]) return false;
      i += 2;
    }
  }
  return !text.empty();
}

}  // namespace

void SetBuilder::NotAll(const DocNode& node) {
  sink_
      .Error(node.place, code::kBadValue,
             fmt::format("`all` or a list is expected, here is {}", Describe(node)))
      .hint = ResolveScalar(node).kind == Scalar::Kind::kBool
                  ? "write `all`"
                  : "a list of one: [" + node.text.text + "]";
}

std::vector<std::string> SetBuilder::RuleNames(const DocNode& node, const RuleSet& set) {
  std::vector<std::string> names;
  const auto all = [&] {
    std::vector<std::string> known;
    for (const Rule& rule : set.rules) known.push_back(rule.name);
    return known;
  };
  if (node.is_scalar()) {
    if (node.text.text == "all") return all();
    NotAll(node);
    return names;
  }
  std::unordered_map<std::string_view, Place> seen;
  for (const DocNode& item : node.items) {
    const std::string& name = item.text.text;
    if (set.FindRule(name) == nullptr) {
      Diagnostic& d = sink_.Error(item.place, code::kUnknownRule,
                                  fmt::format("there is no rule `{}`", Printable(name, 60)));
      if (!Many(sink_)) d.hint = DidYouMean(name, all());
    } else if (const auto [first, fresh] = seen.emplace(name, item.place); !fresh) {
      sink_
          .Error(item.place, code::kDuplicateKey,
                 fmt::format("rule `{}` stands twice in this phase", name))
          .notes.push_back(FirstNote(first->second));
    } else {
      names.push_back(name);
    }
  }
  return names;
}

std::vector<OpPattern> SetBuilder::Operators(const DocNode& node, const RuleSet& set) {
  std::vector<OpPattern> ops;
  if (node.is_scalar()) {
    if (node.text.text != "all") NotAll(node);
    return ops;
  }
  for (const DocNode& item : node.items) {
    if (!item.text.text.starts_with('@')) {
      ops.push_back(reader_.Operator(item));
      written_.push_back({ops.back(), item.place});
      continue;
    }
    const std::string name = item.text.text.substr(1);
    const OpSet* other = set.FindSet(name);
    if (other == nullptr) {
      std::vector<std::string> names;
      for (const OpSet& s : set.sets) names.push_back(s.name);
      sink_
          .Error(item.place, code::kUnknownSet,
                 fmt::format("there is no set `@{}`", Printable(name, 60)))
          .hint = DidYouMean(name, names);
      continue;
    }
    for (const SetMember& member : other->members) ops.push_back(member.op);
  }
  return ops;
}

std::shared_ptr<const RuleSet> SetBuilder::Used(const DocNode& node, RuleFile* file) {
  std::vector<std::string> names;
  RuleFile* found = nullptr;
  for (RuleFile* f : RuleFiles::InOrder(file)) {
    if (f == file) continue;
    names.push_back(f->name);
    if (f->name == node.text.text) found = f;
  }
  if (found != nullptr) return Build(found);
  sink_
      .Error(node.place, code::kUnknownRule,
             fmt::format("no included file is the rule set {}", Describe(node)))
      .hint = DidYouMean(node.text.text, names);
  return nullptr;
}

PhaseKind SetBuilder::KindOf(const DocNode& node, const Place& place, const std::string& owner) {
  PhaseKind kind = PhaseKind::kRules;
  std::vector<std::string_view> keys;
  for (const PhaseKey& row : kPhaseKeys) {
    if (node.Find(row.key) == nullptr) continue;
    if (row.kind == PhaseKind::kRules && !keys.empty() && keys.back() == "to_opset") continue;
    keys.push_back(row.key);
    kind = row.kind;
  }
  // What it does may stand under a key that was told to be unknown.
  const bool misspelled =
      keys.empty() && std::ranges::any_of(node.entries, [&](const DocEntry& entry) {
        return std::ranges::any_of(kPhaseKeys, [&](const PhaseKey& row) {
          return entry.name() != row.key && MeansKey(entry.name(), row.key);
        });
      });
  if (keys.empty() ? !misspelled : keys.size() > 1) {
    sink_
        .Error(place, code::kExclusive,
               keys.empty()
                   ? fmt::format("{} does nothing", owner)
                   : fmt::format("{} does more than one thing: {}", owner, fmt::join(keys, ", ")))
        .hint =
        "one of rules, fold, freeze_inputs, inline, to_opset, write_defaults, "
        "write_shapes, rename, use";
  }
  return kind;
}

void SetBuilder::ReadPhase(const DocNode& node, RuleFile* file, RuleSet& set,
                           std::unordered_set<std::string>& phases) {
  const DocEntry* named = node.is_map() ? node.Find("name") : nullptr;
  const std::string owner = named && named->value.is_scalar()
                                ? fmt::format("phase `{}`", Printable(named->value.text.text, 60))
                                : "a phase";
  const Mapping map(node, FieldKind::kPhase, owner, sink_);
  if (!node.is_map()) return;
  Phase phase{.name = reader_.Name(map.Get("name")),
              .place = named ? named->value.place : node.place};
  phase.kind = KindOf(node, phase.place, owner);
  phase.when = reader_.Condition(map.Get("when"));
  ReadWork(map, file, set, phase);
  if (!phase.name.empty() && !phases.insert(phase.name).second) {
    sink_.Error(phase.place, code::kDuplicateKey,
                fmt::format("there is a phase `{}` already", phase.name));
  }
  set.phases.push_back(std::move(phase));
}

void SetBuilder::ReadWork(const Mapping& map, RuleFile* file, const RuleSet& set, Phase& phase) {
  if (const DocNode* rules = map.Get("rules")) phase.rules = RuleNames(*rules, set);
  if (const DocNode* to = map.Get("to_opset")) phase.to_opset = reader_.Expression(*to);
  for (const char* key : {"fold", "write_defaults"}) {
    if (const DocNode* ops = map.Get(key)) phase.ops = Operators(*ops, set);
  }
  if (const DocNode* attributes = map.Get("attributes")) {
    phase.attributes = reader_.Names(attributes);
    for (const DocNode& item : attributes->items) phase.attribute_places.push_back(item.place);
    if (phase.kind != PhaseKind::kWriteDefaults) {
      sink_.Error(attributes->place, code::kExclusive, "`attributes` belongs to `write_defaults`");
    }
  }
  for (const char* key : {"freeze_inputs", "inline", "write_shapes"}) {
    const DocNode* all = map.Get(key);
    if (all == nullptr || all->text.text == "all") continue;
    sink_.Error(all->place, code::kBadValue,
                fmt::format("`all` is expected, here is {}", Describe(*all)));
  }
  if (const DocNode* rename = map.Get("rename")) {
    phase.rename = rename->text.text;
    if (!IsCharacterClass(phase.rename)) {
      sink_
          .Error(rename->place, code::kBadValue,
                 fmt::format("{} is no class of characters", Describe(*rename)))
          .hint = "as A-Za-z0-9_";
    }
  }
  if (const DocNode* use = map.Get("use")) phase.use = Used(*use, file);
}

void SetBuilder::ReadPhases(const Mapping& map, RuleFile* file, RuleSet& set) {
  if (const DocNode* phases = map.Get("phases")) {
    std::unordered_set<std::string> names;
    for (const DocNode& node : phases->items) ReadPhase(node, file, set, names);
  } else if (!set.rules.empty()) {
    Phase phase{.name = "rules", .place = set.rules.front().place};
    for (const Rule& rule : set.rules) phase.rules.push_back(rule.name);
    set.phases.push_back(std::move(phase));
  }
  for (const OpName& op : Quantizers()) set.constants.keep.push_back({.op = op});
  const DocNode* constants = map.Get("constants");
  const DocNode nothing{.kind = DocNode::Kind::kMap};
  const Mapping config(constants ? *constants : nothing, FieldKind::kConstantsConfig, "`constants`",
                       sink_);
  if (const DocNode* keep = config.Get("keep")) set.constants.keep = Operators(*keep, set);
  set.constants.max_bytes = reader_.Bytes(config.Get("max_bytes"));
  set.constants.overridable = reader_.Boolean(config.Get("overridable"), false);
  if (const DocNode* writes = map.Get("write")) {
    for (const DocNode& node : writes->items) {
      if (auto write = reader_.ReadWrite(node)) set.writes.push_back(*std::move(write));
    }
  }
  set.tests = reader_.Tests(map.Get("tests"), fmt::format("`{}`", set.name), true);
}

}  // namespace qrewrite
