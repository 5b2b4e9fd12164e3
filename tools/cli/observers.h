// Observers: several observers of one run.
#pragma once

#include <algorithm>
#include <vector>

#include "qrewrite/observer.h"

namespace qrewrite::cli {

// Tells each in order; a run ends if one of them says so. They outlive this object.
class Observers : public Observer {
 public:
  void Add(Observer* observer) {
    if (observer != nullptr) list_.push_back(observer);
  }
  bool empty() const { return list_.empty(); }

  Answer OnPhase(const PhaseEvent& event) override {
    return Tell([&](Observer& one) { return one.OnPhase(event); });
  }
  Answer OnSweep(const SweepEvent& event) override {
    return Tell([&](Observer& one) { return one.OnSweep(event); });
  }
  Answer OnProgress(const ProgressEvent& event) override {
    return Tell([&](Observer& one) { return one.OnProgress(event); });
  }
  bool WantsText(std::string_view rule) override {
    bool wants = false;
    for (Observer* one : list_) wants |= one->WantsText(rule);
    return wants;
  }
  Answer OnFiring(const FiringEvent& event) override {
    return Tell([&](Observer& one) { return one.OnFiring(event); });
  }

 private:
  template <class Call>
  Answer Tell(Call call) {
    Answer answer = Answer::kContinue;
    for (Observer* one : list_) answer = std::max(answer, call(*one));
    return answer;
  }

  std::vector<Observer*> list_;
};

}  // namespace qrewrite::cli
