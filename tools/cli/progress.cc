#include "tools/cli/progress.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include <sys/ioctl.h>
#include <unistd.h>

#include <fmt/format.h>

#include "engine/base/diagnostics.h"

namespace qrewrite::cli {
namespace {

constexpr auto kMoment = std::chrono::milliseconds(200);
constexpr auto kBetween = std::chrono::milliseconds(80);
constexpr int kBar = 24;

bool IsTerminal() {
  const char* term = std::getenv("TERM");
  return isatty(STDERR_FILENO) != 0 && term != nullptr && std::string_view(term) != "dumb";
}

size_t Columns() {
  winsize size = {};
  const bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : 80;
}

std::string Bar(int64_t done, int64_t total) {
  const int full = total > 0 ? static_cast<int>(std::min(done, total) * kBar / total) : 0;
  return "[" + std::string(static_cast<size_t>(full), '#') +
         std::string(static_cast<size_t>(kBar - full), '.') + "]";
}

}  // namespace

Progress::Progress() : wanted_(IsTerminal()) {}

// Whether enough time has gone by for another line.
bool Progress::Due() {
  const Clock::time_point now = Clock::now();
  if (!wanted_ || now - start_ < kMoment || now - painted_ < kBetween) return false;
  painted_ = now;
  return true;
}

void Progress::Paint(const std::string& line) {
  const size_t room = std::max<size_t>(Columns(), 2) - 1;
  const std::string shown = line.substr(0, room);
  const size_t blanks = shown_ > shown.size() ? shown_ - shown.size() : 0;
  const std::string text = "\r" + shown + std::string(blanks, ' ');
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
  shown_ = shown.size();
}

Observer::Answer Progress::OnPhase(const PhaseEvent& event) {
  if (!event.ends) {
    phase_ = Printable(event.phase, 40);
    done_ = total_ = 0;
  }
  return Answer::kContinue;
}

Observer::Answer Progress::OnProgress(const ProgressEvent& event) {
  done_ = event.done;
  total_ = event.total;
  rewrites_ = std::max(rewrites_, event.rewrites);
  return Nodes();
}

Observer::Answer Progress::OnFiring(const FiringEvent& event) {
  rewrites_ = std::max(rewrites_, event.number);
  return Nodes();
}

Observer::Answer Progress::Nodes() {
  if (Due() && total_ > 0) {
    Paint(fmt::format("{} {} {} of {} nodes, {} rewrites", Bar(done_, total_), phase_, done_,
                      total_, rewrites_));
  }
  return Answer::kContinue;
}

Observer::Answer Progress::OnProve(const ProveProgress& now) {
  if (Due()) {
    Paint(fmt::format("{} {} of {} rules; {}: {} graphs, fired on {}",
                      Bar(now.rules_done, now.rules), now.rules_done, now.rules,
                      Printable(now.rule, 40), now.graphs, now.fired));
  }
  return Answer::kContinue;
}

void Progress::OnWrite(uint64_t done, uint64_t total) {
  if (!Due() || total == 0) return;
  constexpr double kMega = 1e6;
  Paint(fmt::format("{} writing, {:.0f} of {:.0f} MB",
                    Bar(static_cast<int64_t>(done), static_cast<int64_t>(total)),
                    static_cast<double>(done) / kMega, static_cast<double>(total) / kMega));
}

void Progress::Clear() {
  if (shown_ == 0) return;
  Paint("");
  std::fputc('\r', stderr);
  std::fflush(stderr);
}

}  // namespace qrewrite::cli
