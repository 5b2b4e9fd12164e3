// Progress: one line on the terminal that says what a long run does.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "qrewrite/observer.h"
#include "qrewrite/prove.h"

namespace qrewrite::cli {

// Writes to standard error, if that is a terminal that can go back in a line, and only when a run
// takes longer than a moment. The line goes before anything else is printed: Clear().
class Progress : public Observer {
 public:
  Progress();
  ~Progress() override { Clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  bool wanted() const { return wanted_; }
  Answer OnPhase(const PhaseEvent& event) override;
  Answer OnProgress(const ProgressEvent& event) override;
  Answer OnFiring(const FiringEvent& event) override;
  Answer OnProve(const ProveProgress& now);
  void OnWrite(uint64_t done, uint64_t total);  // bytes of the file under way
  void Clear();

 private:
  using Clock = std::chrono::steady_clock;

  bool Due();
  void Paint(const std::string& line);
  Answer Nodes();

  bool wanted_;
  Clock::time_point start_ = Clock::now(), painted_ = start_;
  std::string phase_;
  int64_t done_ = 0, total_ = 0, rewrites_ = 0;
  size_t shown_ = 0;  // columns in use
};

}  // namespace qrewrite::cli
