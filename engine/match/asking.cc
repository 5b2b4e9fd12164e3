#include "engine/match/asking.h"

#include <algorithm>

namespace qrewrite {

bool Asking::ClosesRing(Key key) {
  size_t place = kNoRing;
  for (size_t i = 0; i < under_way_.size() && place == kNoRing; ++i) {
    if (under_way_[i].key == key) place = waiting_.size() + i;
  }
  if (place == kNoRing) {
    const uint32_t* const waits = places_.Find(FactMemo::Number(key));
    if (waits == nullptr) return false;
    place = *waits;
  }
  if (!under_way_.empty()) under_way_.back().ring = std::min(under_way_.back().ring, place);
  return true;
}

void Asking::Answered(Key key) {
  if (open_.empty() || under_way_.empty()) return;
  for (const Question& q : open_) {
    if (q.key == key) under_way_.back().ring = std::min(under_way_.back().ring, q.ring);
  }
}

bool Asking::End() {
  const Question q = under_way_.back();
  under_way_.pop_back();
  const size_t place = waiting_.size() + under_way_.size();
  if (q.ring > place) return false;
  if (q.ring == place) {
    std::erase_if(open_, [&](const Question& o) { return o.ring >= place; });
    return true;
  }
  open_.push_back(q);
  size_t& around = under_way_.empty() ? ring_ : under_way_.back().ring;
  around = std::min(around, q.ring);
  return true;
}

void Asking::Wait(Key key, std::vector<Key>& todo) {
  if (waiting_.empty() || !(waiting_.back() == key)) {
    *places_.FindOrAdd(FactMemo::Number(key)).first = static_cast<uint32_t>(waiting_.size());
    waiting_.push_back(key);
  }
  todo.insert(todo.end(), put_off_.begin(), put_off_.end());
  put_off_.clear();
  open_.clear();  // what was answered on the way is asked again
  ring_ = kNoRing;
}

void Asking::Done(Key key) {
  if (waiting_.empty() || !(waiting_.back() == key)) return;
  places_.Erase(FactMemo::Number(key));
  waiting_.pop_back();
}

std::vector<Asking::Key> Asking::TakeRing() {
  const size_t first = std::min(std::exchange(ring_, kNoRing), waiting_.size());
  open_.clear();
  return {waiting_.begin() + static_cast<std::ptrdiff_t>(first), waiting_.end()};
}

void Asking::Clear() {
  for (const Key key : waiting_) places_.Erase(FactMemo::Number(key));
  waiting_.clear();
  open_.clear();
  put_off_.clear();
  ring_ = kNoRing;
}

}  // namespace qrewrite
