#include "qrewrite/observer.h"

namespace qrewrite {

Observer::~Observer() = default;
Observer::Answer Observer::OnPhase(const PhaseEvent& /*event*/) { return Answer::kContinue; }
Observer::Answer Observer::OnSweep(const SweepEvent& /*event*/) { return Answer::kContinue; }
Observer::Answer Observer::OnProgress(const ProgressEvent& /*event*/) { return Answer::kContinue; }
bool Observer::WantsText(std::string_view /*rule*/) { return false; }
Observer::Answer Observer::OnFiring(const FiringEvent& /*event*/) { return Answer::kContinue; }
std::string_view Observer::Name() const noexcept { return "the observer"; }

}  // namespace qrewrite
