#include "engine/rule/builder.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include "engine/rule/builder_needed.h"
#include "engine/rule/check.h"
#include "engine/rule/codes.h"
#include "engine/rule/hints.h"

namespace qrewrite {
namespace {

constexpr size_t kMaxMembers = 100'000;
constexpr size_t kMaxNestedSets = 64;

bool Same(const Param& a, const Param& b) {
  return a.type == b.type && a.default_value == b.default_value && a.one_of == b.one_of;
}
bool Same(const RawSet& a, const RawSet& b) {
  return std::equal(a.members.begin(), a.members.end(), b.members.begin(), b.members.end(),
                    [](const RawMember& x, const RawMember& y) {
                      return x.nested == y.nested && x.member.op.op == y.member.op.op &&
                             x.member.data == y.member.data;
                    });
}
bool Same(const RawSignature& a, const RawSignature& b) {
  return a.older == b.older && PrintSignature(a.signature) == PrintSignature(b.signature);
}
bool Same(const Definition&, const Definition&) { return false; }
bool Same(const Rule&, const Rule&) { return false; }

}  // namespace

template <class T>
void SetBuilder::Merge(OwnedList<T>& list, T&& item, std::string key, const RuleFile* file,
                       Place place, char sigil, Parts& parts) {
  Owned<T>* before = list.Find(key);
  if (before == nullptr) {
    list.index.emplace(key, list.items.size());
    list.items.push_back({std::forward<T>(item), std::move(key), file, place});
    return;
  }
  const std::string shown = sigil + key;
  if (before->file == file) {
    // YAML keys that differ can mean the same name: two heads, `Pad` and `ai.onnx.Pad`.
    sink_.Error(place, code::kDuplicateKey, fmt::format("`{}` is defined twice in this file", key))
        .notes.push_back(FirstNote(before->place));
  } else if (RuleFiles::Includes(file, before->file)) {
    parts.ambiguous.erase(shown);
    *before = {std::forward<T>(item), std::move(key), file, place};
  } else if (!Same(before->item, item)) {
    parts.ambiguous[shown] = fmt::format("{} and {}", before->file->path, file->path);
  }
}

void SetBuilder::AddFile(RuleFile* file, Parts& parts) {
  const Mapping map(file->root, FieldKind::kFile, "", sink_);
  if (const DocNode* version = map.Get("qrewrite")) {
    const Scalar scalar = ResolveScalar(*version);
    if (scalar.kind != Scalar::Kind::kInt || scalar.int_value != 1) {
      sink_
          .Error(version->place, code::kVersion,
                 scalar.kind != Scalar::Kind::kString
                     ? fmt::format("format version {} is not known; this program reads version 1",
                                   Describe(*version))
                     : fmt::format("the format version is a number, here is the text {}",
                                   Describe(*version)))
          .hint = version->text.text == "1"           ? "without quotes"
                  : scalar.kind != Scalar::Kind::kInt ? "write `qrewrite: 1`"
                                                      : "";
    }
  }
  reader_.Name(map.Get("name"));
  AddDeclarations(map, file, parts);
  if (const DocNode* rules = map.Get("rules")) {
    if (parts.rules.items.empty()) parts.rules.items.reserve(rules->items.size());
    for (const DocNode& node : rules->items) {
      if (parts.left_out.rules.contains(RuleName(node))) continue;
      auto rule = reader_.ReadRule(node);
      if (!rule) continue;
      const Place place = rule->place;
      std::string name = rule->name;
      Merge(parts.rules, *std::move(rule), std::move(name), file, place, ':', parts);
    }
  }
}

void SetBuilder::AddDeclarations(const Mapping& map, RuleFile* file, Parts& parts) {
  // A section of another form was told; its names are lost.
  for (const auto& [key, sigil] : {std::pair<const char*, const char*>{"params", "."},
                                   {"sets", "@"},
                                   {"signatures", "%"},
                                   {"define", "$"}}) {
    if (map.Get(key) == nullptr && file->root.Find(key) != nullptr) parts.faulty.insert(sigil);
  }
  size_t before = 0;  // errors
  const auto begin = [&] { before = sink_.diagnostics().size(); };
  const auto end = [&](char sigil, const std::string& name) {
    if (sink_.diagnostics().size() != before) parts.faulty.insert(sigil + name);
  };
  if (const DocNode* params = map.Get("params")) {
    for (const DocEntry& entry : params->entries) {
      begin();
      auto param = reader_.ReadParam(entry);
      end('.', entry.name());
      if (param)
        Merge(parts.params, *std::move(param), entry.name(), file, entry.key.place, '.', parts);
    }
  }
  if (const DocNode* sets = map.Get("sets")) {
    for (const DocEntry& entry : sets->entries) {
      begin();
      RawSet set = reader_.ReadSet(entry);
      end('@', entry.name().starts_with('@') ? entry.name().substr(1) : entry.name());
      Merge(parts.sets, std::move(set), entry.name(), file, entry.key.place, '@', parts);
    }
  }
  if (const DocNode* signatures = map.Get("signatures")) {
    for (const DocEntry& entry : signatures->entries) {
      begin();
      auto raw = reader_.ReadSignature(entry);
      end('%', entry.name());
      if (!raw) continue;
      std::string name = raw->signature.op.text();
      Merge(parts.signatures, *std::move(raw), std::move(name), file, entry.key.place, '%', parts);
    }
  }
  if (const DocNode* define = map.Get("define")) {
    for (const DocEntry& entry : define->entries) {
      if (parts.left_out.definitions.contains(HeadName(entry.name()))) continue;
      begin();
      auto definition = reader_.Define(entry);
      if (!definition) {
        end('$', std::string(HeadName(entry.name())));
        continue;
      }
      std::string name = definition->head.name;
      end('$', name);
      Merge(parts.definitions, *std::move(definition), std::move(name), file, entry.key.place, '$',
            parts);
    }
  }
}

// False: too much, reported; nothing further is of use.
bool SetBuilder::AddMembers(Parts& parts, const RawSet& raw, std::vector<std::string>& open,
                            OpSet& out) {
  open.push_back(raw.name);
  for (const RawMember& member : raw.members) {
    if (++parts.members > kMaxMembers || open.size() > kMaxNestedSets) {
      sink_.Error(member.member.place, code::kTooLarge,
                  open.size() > kMaxNestedSets
                      ? fmt::format("sets are nested deeper than {}", kMaxNestedSets)
                      : fmt::format("sets hold more than {} operators together", kMaxMembers));
      return false;
    }
    if (member.nested.empty()) {
      out.members.push_back(member.member);
      continue;
    }
    const Owned<RawSet>* other = parts.sets.Find(member.nested);
    if (other == nullptr &&
        (parts.faulty.contains("@" + member.nested) || parts.faulty.contains("@"))) {
      continue;
    }
    if (other == nullptr) {
      std::vector<std::string> names;
      for (const Owned<RawSet>& s : parts.sets.items) names.push_back(s.name);
      sink_
          .Error(member.member.place, code::kUnknownSet,
                 fmt::format("there is no set `@{}`", Printable(member.nested, 60)))
          .hint = DidYouMean(member.nested, names);
      continue;
    }
    if (std::find(open.begin(), open.end(), member.nested) != open.end()) {
      sink_.Error(member.member.place, code::kRecursion,
                  fmt::format("set `@{}` holds itself", member.nested));
      continue;
    }
    const size_t first = out.members.size();
    if (!AddMembers(parts, other->item, open, out)) return false;
    for (size_t i = first; i < out.members.size(); ++i) {
      for (const auto& [key, value] : member.member.data) out.members[i].data[key] = value;
    }
  }
  open.pop_back();
  return true;
}

void SetBuilder::ResolveSets(Parts& parts, RuleSet& set) {
  for (const Owned<RawSet>& owned : parts.sets.items) {
    OpSet resolved{.name = owned.name, .place = owned.item.place};
    std::vector<std::string> open;
    const bool fits = AddMembers(parts, owned.item, open, resolved);
    set.sets.push_back(std::move(resolved));
    if (!fits) return;
  }
}

void SetBuilder::ReadHead(const Mapping& map, RuleSet& set) {
  set.name = reader_.Name(map.Get("name"));
  set.summary = reader_.Text(map.Get("summary"));
  set.doc = reader_.Text(map.Get("doc"));
  reader_.Opset(map.Get("opset"), set.opset, set.opsets, set.opset_min, set.opset_max);
  if (const DocNode* types = map.Get("types")) {
    const std::string& text = types->text.text;
    set.check_types = text != "unchecked";
    if (text != "unchecked" && text != "checked") {
      sink_
          .Error(types->place, code::kBadValue,
                 fmt::format("`types` is `checked` or `unchecked`, here is {}", Describe(*types)))
          .hint = DidYouMean(text, std::vector<std::string>{"checked", "unchecked"});
    }
  }
}

std::vector<RawSignature> SetBuilder::TakeParts(Parts& parts, RuleSet& set) {
  ResolveSets(parts, set);
  for (auto& owned : parts.params.items) set.params.push_back(std::move(owned.item));
  for (auto& owned : parts.definitions.items) set.definitions.push_back(std::move(owned.item));
  set.rules.reserve(parts.rules.items.size());
  for (auto& owned : parts.rules.items) set.rules.push_back(std::move(owned.item));
  std::vector<RawSignature> signatures;
  for (auto& owned : parts.signatures.items) {
    const Signature& signature = owned.item.signature;
    if (owned.item.older) {
      set.signatures.AddOlder(signature);
    } else {
      set.signatures.Add(signature);
    }
    if (IsPrivateDomain(signature.op.domain)) set.private_ops.push_back(signature.op);
    signatures.push_back(std::move(owned.item));
  }
  return signatures;
}

namespace {

// A test that states no opset has the nearest to the default that its set and rule allow.
void FitOpset(std::vector<RuleTest>& tests, int64_t min, int64_t max) {
  for (RuleTest& test : tests) {
    int64_t& opset = test.opset[""];
    if (test.opset_place.source == nullptr && min <= max) opset = std::clamp(opset, min, max);
  }
}

using DomainRanges = std::map<std::string, std::string>;

// The same of other domains, whose default is 1. One that a test states stays.
void FitOpsets(std::vector<RuleTest>& tests, std::initializer_list<const DomainRanges*> ranges) {
  std::map<std::string, std::pair<int64_t, int64_t>> allowed;
  for (const DomainRanges* const each : ranges) {
    for (const auto& [domain, range] : *each) {
      int64_t min = 0, max = 0;
      if (!ParseOpsetRange(range, min, max)) continue;
      auto& [least, most] = allowed.try_emplace(domain, min, max).first->second;
      least = std::max(least, min);
      most = std::min(most, max);
    }
  }
  for (const auto& [domain, range] : allowed) {
    if (range.first > range.second) continue;
    const int64_t nearest = std::clamp<int64_t>(1, range.first, range.second);
    for (RuleTest& test : tests) test.opset.try_emplace(domain, nearest);
  }
}

}  // namespace

std::shared_ptr<const RuleSet> SetBuilder::Build(RuleFile* file) {
  if (const auto known = built_.find(file); known != built_.end()) return known->second;
  auto set = std::make_shared<RuleSet>();
  std::vector<WrittenOp> outer = std::exchange(written_, {});  // of the set that uses this one
  Parts parts;
  set->sources.push_back(file->source);
  // Who runs a set does not need to know what is wrong with rules that it does not run.
  if (!options_.tests) parts.left_out = FindLeftOut(*file);
  for (RuleFile* f : RuleFiles::InOrder(file)) {
    if (f != file) set->sources.push_back(f->source);
    AddFile(f, parts);
  }
  const std::vector<RawSignature> signatures = TakeParts(parts, *set);
  set->IndexNames();
  // The keys were judged by AddFile already; this reading is silent.
  DiagnosticSink silent;
  const Mapping map(file->root, FieldKind::kFile, "", silent);
  ReadHead(map, *set);
  for (Rule& rule : set->rules) {
    FitOpset(rule.tests, std::max(set->opset_min, rule.opset_min),
             std::min(set->opset_max, rule.opset_max));
    FitOpsets(rule.tests, {&set->opsets, &rule.opsets});
  }
  ReadPhases(map, file, *set);
  FitOpset(set->tests, set->opset_min, set->opset_max);
  FitOpsets(set->tests, {&set->opsets});
  const std::vector<WrittenOp> written = std::exchange(written_, std::move(outer));
  // Alone, a file needs all that stands in it.
  Unneeded unneeded;
  if (!file->includes.empty()) unneeded = DropUnneeded(*set, file->source.get());
  unneeded.definitions.insert(unneeded.definitions.end(), parts.left_out.definitions.begin(),
                              parts.left_out.definitions.end());
  std::ranges::sort(unneeded.definitions);
  CheckRuleSet({.set = *set,
                .signatures = signatures,
                .written_ops = written,
                .ambiguous = parts.ambiguous,
                .host_functions = options_.host_functions,
                .faulty = parts.faulty,
                .unneeded_sets = std::move(unneeded.sets),
                .unneeded_definitions = std::move(unneeded.definitions)},
               sink_);
  const bool computes = std::any_of(signatures.begin(), signatures.end(),
                                    [](const RawSignature& s) { return s.computes.has_value(); });
  if (computes && !sink_.has_errors()) set->semantics = BuildSemantics(file);
  built_[file] = set;
  return set;
}

}  // namespace qrewrite
