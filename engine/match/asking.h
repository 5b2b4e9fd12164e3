// Asking: the facts of values that are under evaluation, and what waits for them.
//
// Facts ask for facts of values, further up in the graph or of the same. Two things follow:
//   - A question that lies too deep is put off: it is asked by itself, and what waits for it again afterwards, so that the
//     stack does not grow with the model.
//   - Facts may need each other. All of such a ring are unknown, whichever was asked first. A ring is closed when the first
//     of it is done (low links: Tarjan, Depth-first search and linear graph algorithms, 1972); who asks for one of it before
//     is of it, too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "engine/base/flat_map.h"
#include "engine/match/fact_memo.h"

namespace qrewrite {

class Asking {
 public:
  using Key = FactMemo::Key;

  bool empty() const { return under_way_.empty(); }
  Key innermost() const { return under_way_.back().key; }
  bool is_deep() const { return under_way_.size() >= kMaxDepth; }

  // Of a fact that is asked for: whether it waits for the innermost. Then those in between are a ring.
  bool ClosesRing(Key key);
  // It was answered before.
  void Answered(Key key);

  void Begin(Key key) { under_way_.push_back({key, kNoRing}); }
  bool End();  // the innermost; whether it is of a ring

  void PutOff(Key key) { put_off_.push_back(key); }
  bool put_off() const { return !put_off_.empty(); }
  // `key` waits for what was put off, which is appended to `todo`.
  void Wait(Key key, std::vector<Key>& todo);
  void Done(Key key);           // it waits no longer
  std::vector<Key> TakeRing();  // those that wait and are of the ring of what was asked last

  void Clear();

 private:
  static constexpr size_t kMaxDepth = 16;
  static constexpr size_t kNoRing = SIZE_MAX;

  struct Question {
    Key key;
    // The first that it waits for in a ring: a place in waiting_ followed by under_way_.
    size_t ring;
  };

  // Each waits for the next, the last one of the former for the first of the latter.
  std::vector<Key> waiting_;
  std::vector<Question> under_way_;

  FlatMap<uint32_t> places_;    // in waiting_
  std::vector<Question> open_;  // answered ones of rings that are not closed
  size_t ring_ = kNoRing;       // the first that waits of the ring of what was asked last
  std::vector<Key> put_off_;
};

}  // namespace qrewrite
