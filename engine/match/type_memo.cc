#include "engine/match/type_memo.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace qrewrite {

bool TypeMemo::MayRepeat(const Graph& graph, NodeId node) {
  const Attributes& attributes = graph.attributes(node);
  return !graph.HasSubgraphs(node) &&
         std::none_of(attributes.begin(), attributes.end(), [](const Attribute& a) {
           const auto* tensor = std::get_if<Tensor>(&a.value);
           return std::holds_alternative<std::vector<Tensor>>(a.value) ||
                  (tensor != nullptr && (tensor->is_lazy() || tensor->is_string() ||
                                         tensor->byte_size() > Tensor::kSmallBytes));
         });
}

uint64_t TypeMemo::Hash(const Question& question) {
  uint64_t hash = HashMix(question.op.index, static_cast<uint64_t>(question.version));
  hash = HashMix(hash, question.attributes->Hash());
  for (const TypeId id : question.operands) hash = HashMix(hash, id);
  return hash;
}

const TypeMemo::Answer* TypeMemo::Find(const Question& question) const {
  if (slots_.empty()) return nullptr;
  const Slot& slot = slots_[Hash(question) & (slots_.size() - 1)];
  const Question& known = slot.question;
  const bool same = slot.taken && known.op == question.op && known.version == question.version &&
                    known.operands == question.operands && slot.attributes == *question.attributes;
  return same ? &slot.answer : nullptr;
}

void TypeMemo::Store(const Question& question, Answer answer, size_t nodes) {
  if (slots_.empty()) slots_.resize(std::bit_ceil(std::clamp(nodes, kLeastSlots, kMostSlots)));
  Slot& slot = slots_[Hash(question) & (slots_.size() - 1)];
  slot.question = question;
  slot.attributes = *question.attributes;
  slot.question.attributes = nullptr;
  slot.answer = std::move(answer);
  slot.taken = true;
}

}  // namespace qrewrite
