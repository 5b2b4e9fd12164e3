// Frame: the bindings of one rule, or of one case of a definition, while it is tried.
#pragma once

#include <span>

#include <boost/container/small_vector.hpp>

#include "engine/program/program.h"

namespace qrewrite {

// New values of a replacement, made when they are first asked for; the emitter implements it
// (engine/rewrite/emit.cc).
class NewValues {
 public:
  virtual ~NewValues() = default;
  // What slot `fresh` is; inside its own definition what `matched` holds (-1: nothing).
  virtual const Val& Get(int fresh, int matched) = 0;
};

// Arguments of a call. Most calls have few: theirs allocate nothing.
using Args = boost::container::small_vector<Val, 5>;

class Frame {
 public:
  enum State : uint8_t { kUnbound, kBound, kEvaluating };

  explicit Frame(const Layout& layout)
      : layout_(&layout), slots_(layout.names.size()), state_(layout.names.size(), kUnbound) {}

  const Layout& layout() const { return *layout_; }
  const std::string& name(int slot) const { return layout_->names[slot]; }

  bool bound(int slot) const { return state_[slot] == kBound; }
  State state(int slot) const { return static_cast<State>(state_[slot]); }
  const Val& operator[](int slot) const { return slots_[slot]; }
  // The value of the graph that a slot holds; null if it holds none.
  const ValueId* value(int slot) const {
    return bound(slot) ? slots_[slot].get_if<ValueId>() : nullptr;
  }

  void Bind(int slot, Val value) {
    slots_[slot] = std::move(value);
    state_[slot] = kBound;
  }
  void Unbind(int slot) {
    slots_[slot] = Val();
    state_[slot] = kUnbound;
  }

  // --- computed names
  const Layout::Let* let(int slot) const {
    const int let = layout_->let_of[slot];
    return let < 0 ? nullptr : &layout_->lets[let];
  }
  void BeginLet(int slot) { state_[slot] = kEvaluating; }
  void BindLet(int slot, Val value) {
    Bind(slot, std::move(value));
    ++lets_bound_;
  }
  // A let may have been computed from a binding that is gone.
  void ForgetLets() {
    if (lets_bound_ == 0) return;
    lets_bound_ = 0;
    for (const Layout::Let& let : layout_->lets) {
      for (const int slot : let.slots) Unbind(slot);
    }
  }

  BodyId body{size_t{0}};      // the body whose opset counts
  NewValues* fresh = nullptr;  // while a replacement is made

 private:
  const Layout* layout_;
  // Most rules have few names: a frame of theirs allocates nothing.
  boost::container::small_vector<Val, 12> slots_;
  boost::container::small_vector<uint8_t, 16> state_;
  int lets_bound_ = 0;
};

// Of a case of a definition that is called with `args` (definitions.cc).
Frame FrameOf(const CompiledDefinition& d, const CompiledCase& c, std::span<const Val> args,
              BodyId body);

}  // namespace qrewrite
