// Names: which slot of a frame a name of a rule stands for, while it is compiled.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/name_map.h"
#include "engine/program/program.h"

namespace qrewrite {

// The names of a rule, a definition, or a case in one, which also sees those around it.
class Names {
 public:
  explicit Names(Layout& layout, const Names* around = nullptr)
      : layout_(layout), around_(around) {}

  Layout& layout() const { return layout_; }

  // So many names will come, or some more.
  void Expect(size_t count);
  // A slot without a name that others could use.
  int AddSlot(std::string_view name);
  // The slot of `name`, a new one if nothing here or around has that name.
  int Add(std::string_view name);
  void AddLet(const std::vector<std::string>& names, CodeId value);

  int Find(std::string_view name) const;  // -1: none
  const Layout::Let* FindLet(int slot) const;

  // What a replacement calls its new values.
  void AddFresh(const std::string& name, int slot) { *fresh_.Add(name, slot).first = slot; }
  int FindFresh(std::string_view name) const;

  // A name whose list is taken apart in front of `...`.
  void AddMember(const std::string& name, int slot) { *members_.Add(name, slot).first = slot; }
  int FindMember(std::string_view name) const;
  // `members(w)` in front of `...`: the slot of one of its members.
  void AddList(const Expr& call, int slot) { lists_.emplace_back(&call, slot); }
  int FindList(const Expr& call) const;  // -1: it is no such call
  // Here, not around.
  bool HasMember(std::string_view name) const { return members_.Find(name) != nullptr; }
  // In front of `...` the slot of one member, elsewhere that of the name. -1: none.
  int FindOne(std::string_view name) const;

  void AddLabelSet(const std::string& label, const OpSet* set) { labels_[label].push_back(set); }
  const std::vector<const OpSet*>* LabelSets(std::string_view label) const;

  const std::vector<int>& added() const { return added_; }

 private:
  template <class Slots>
  int FindIn(Slots Names::*slots, std::string_view name) const;

  Layout& layout_;
  const Names* around_;
  NameMap<int, 8> slots_;
  NameMap<int> fresh_, members_;
  std::vector<std::pair<const Expr*, int>> lists_;
  std::map<std::string, std::vector<const OpSet*>, std::less<>> labels_;
  std::vector<int> added_;
};

// Every name an expression mentions (calls' labels and dotted heads included), unresolved; not those in calls that `around`
// has as lists.
void CollectNames(const Expr& expr, std::vector<std::string>& names, const Names* around = nullptr);

}  // namespace qrewrite
