#include "engine/program/names.h"

namespace qrewrite {

void Names::Expect(size_t count) {
  if (!layout_.names.empty()) return;  // from here on they grow by themselves
  layout_.names.reserve(count);
  layout_.let_of.reserve(count);
  added_.reserve(count);
}

int Names::AddSlot(std::string_view name) {
  const int slot = layout_.size();
  layout_.names.emplace_back(name);
  layout_.let_of.push_back(-1);
  added_.push_back(slot);
  return slot;
}

int Names::Add(std::string_view name) {
  if (const int slot = Find(name); slot >= 0) return slot;
  return *slots_.Add(name, AddSlot(name)).first;
}

void Names::AddLet(const std::vector<std::string>& names, CodeId value) {
  Layout::Let let{.value = value, .slots = {}};
  for (const std::string& name : names) {
    const int* const own = slots_.Find(name);
    const int slot = own != nullptr ? *own : *slots_.Add(name, AddSlot(name)).first;
    layout_.let_of[static_cast<size_t>(slot)] = static_cast<int>(layout_.lets.size());
    let.slots.push_back(slot);
  }
  layout_.lets.push_back(std::move(let));
}

template <class Slots>
int Names::FindIn(Slots Names::*slots, std::string_view name) const {
  for (const Names* at = this; at != nullptr; at = at->around_) {
    if (const int* const slot = (at->*slots).Find(name)) return *slot;
  }
  return -1;
}

int Names::Find(std::string_view name) const { return FindIn(&Names::slots_, name); }
int Names::FindFresh(std::string_view name) const { return FindIn(&Names::fresh_, name); }
int Names::FindMember(std::string_view name) const { return FindIn(&Names::members_, name); }
int Names::FindOne(std::string_view name) const {
  const int member = FindMember(name);
  return member >= 0 ? member : Find(name);
}

const Layout::Let* Names::FindLet(int slot) const {
  const int let = layout_.let_of[static_cast<size_t>(slot)];
  return let < 0 ? nullptr : &layout_.lets[static_cast<size_t>(let)];
}

const std::vector<const OpSet*>* Names::LabelSets(std::string_view label) const {
  for (const Names* at = this; at != nullptr; at = at->around_) {
    const auto it = at->labels_.find(label);
    if (it != at->labels_.end()) return &it->second;
  }
  return nullptr;
}

int Names::FindList(const Expr& call) const {
  for (const Names* at = this; at != nullptr; at = at->around_) {
    for (const auto& [list, slot] : at->lists_) {
      if (list == &call) return slot;
    }
  }
  return -1;
}

void CollectNames(const Expr& expr, std::vector<std::string>& names, const Names* around) {
  if (around != nullptr && around->FindList(expr) >= 0) return;
  if (expr.kind == Expr::Kind::kName) names.push_back(expr.text);
  for (const Ref& ref : expr.call().refs) {
    if (ref.kind == Ref::Kind::kName) names.push_back(ref.name.substr(0, ref.name.find('.')));
  }
  for (const ExprPtr& item : expr.items) {
    if (item) CollectNames(*item, names, around);
  }
  for (const AttrArg& attr : expr.call().attrs) {
    if (attr.rest || !attr.value) names.push_back(attr.name);
    if (attr.value) CollectNames(*attr.value, names, around);
  }
  for (const Arg& arg : expr.call().args) {
    if (arg.label_kind == Arg::Label::kArrow) names.push_back(arg.label);
    if (arg.value) CollectNames(*arg.value, names, around);
  }
  for (const Subscript& s : expr.details().subscripts) {
    if (s.start) CollectNames(*s.start, names, around);
    if (s.stop) CollectNames(*s.stop, names, around);
  }
}

}  // namespace qrewrite
