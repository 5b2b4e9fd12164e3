#include "measure.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace scaling {
namespace {

constexpr int64_t kSmallest = 2, kFirst = 256;
constexpr uint64_t kMaxPeak = uint64_t{2} << 30;
constexpr unsigned kMaxSeconds = 60;  // for what loops in a library, uncounted
constexpr int kStopped = 3;

// What the child tells its parent; short enough that one write is atomic.
struct Message {
  Work work;
  qrewrite::StatusCode code = qrewrite::StatusCode::kOk;
  char text[240] = "";

  void SetText(const std::string& from) {
    const size_t size = std::min(from.find('\n'), std::min(from.size(), sizeof text - 1));
    std::memcpy(text, from.data(), size);
    text[size] = 0;
  }
};

int report_to = -1;

void Tell(const Message& message) {
  if (write(report_to, &message, sizeof message) != sizeof message) _exit(1);
}

void Stopped(const char* what) {
  Message message;
  message.work = Counted();
  message.SetText(std::string("too much ") + what);
  Tell(message);
  _exit(kStopped);
}

// Everything that a user waits for, from bytes to bytes. Shipped rules are loaded before.
qrewrite::Status DoWork(const std::string& model_bytes, const std::string& rules_text,
                        const Family& family, const Subject& subject) {
  std::optional<qrewrite::Rules> own;
  if (subject.shipped == nullptr) {
    const char* const name = rules_text.starts_with('{') ? "own.json" : "own.yaml";
    QR_ASSIGN_OR_RETURN(own, qrewrite::Rules::Parse(name, rules_text));
  }
  if (model_bytes.empty()) {
    (void)own->Lint();
    return {};
  }
  QR_ASSIGN_OR_RETURN(qrewrite::Model model, qrewrite::Model::Parse(model_bytes));
  const qrewrite::Rules& rules = own ? *own : *subject.shipped;
  if (family.task) return family.task(model, rules);
  QR_RETURN_IF_ERROR(qrewrite::Rewrite(model, rules).status());
  return model.Serialize().status();
}

[[noreturn]] void Child(const Family& family, const Subject& subject, int64_t n,
                        uint64_t max_steps) {
  const std::string model = family.model ? family.model(n) : "";
  const std::string rules = family.rules ? family.rules(n) : "";
  alarm(kMaxSeconds);
  StartCounting({max_steps, kMaxPeak, Stopped});
  const qrewrite::Status status = DoWork(model, rules, family, subject);
  Message message;
  message.work = Counted();
  StartCounting({});
  message.code = status.code();
  message.SetText(status.message());
  Tell(message);
  _exit(0);
}

double WorkOf(const Sample& sample, int which) {
  const Work& w = sample.work;
  const uint64_t values[] = {w.steps, w.allocated, w.touched, w.peak};
  return static_cast<double>(values[which]);
}

// Least squares over the samples; what is below `least` at the largest size is too little to say.
double Exponent(const std::vector<Sample>& samples, const Sample& base, int which, double least) {
  std::vector<double> xs, ys;
  if (WorkOf(samples.back(), which) - WorkOf(base, which) < least) return 0;
  for (const Sample& sample : samples) {
    xs.push_back(std::log(static_cast<double>(sample.n - base.n)));
    ys.push_back(std::log(std::max(1.0, WorkOf(sample, which) - WorkOf(base, which))));
  }
  const double count = static_cast<double>(xs.size());
  double mean_x = 0, mean_y = 0, up = 0, down = 0;
  for (size_t i = 0; i < xs.size(); ++i) {
    mean_x += xs[i] / count;
    mean_y += ys[i] / count;
  }
  for (size_t i = 0; i < xs.size(); ++i) {
    up += (xs[i] - mean_x) * (ys[i] - mean_y);
    down += (xs[i] - mean_x) * (xs[i] - mean_x);
  }
  return up / down;
}

}  // namespace

Sample Run(const Family& family, const Subject& subject, int64_t n, uint64_t max_steps) {
  int ends[2];
  Sample sample{.n = n};
  if (pipe(ends) != 0) {
    sample.message = "no pipe";
    return sample;
  }
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    report_to = ends[1];
    Child(family, subject, n, max_steps);
  }
  close(ends[1]);
  Message message;
  const bool told = read(ends[0], &message, sizeof message) == sizeof message;
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  sample.work = message.work;
  sample.code = message.code;
  sample.message = message.text;
  sample.finished = told && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  if (WIFSIGNALED(status)) {
    sample.message = WTERMSIG(status) == SIGALRM ? fmt::format("over {} s", kMaxSeconds)
                                                 : fmt::format("signal {}", WTERMSIG(status));
  }
  return sample;
}

// Exponents of the samples, and which of them are too large. Returns whether peak bytes alone are.
bool Judge(const Sample& base, double limit, Finding& finding) {
  constexpr double kLeast[] = {100'000, 1 << 20, 1 << 20, 1 << 22};
  const char* const names[] = {"steps", "bytes allocated", "bytes touched", "peak bytes"};
  constexpr int kPeak = 3;
  int faults = 0;
  finding.fault.clear();
  for (int i = 0; i < 4; ++i) {
    finding.exponents[i] = Exponent(finding.samples, base, i, kLeast[i]);
    if (finding.exponents[i] <= limit) continue;
    ++faults;
    finding.fault += fmt::format("{}{} grow with n^{:.2f}", finding.fault.empty() ? "" : ", ",
                                 names[i], finding.exponents[i]);
  }
  return faults == 1 && finding.exponents[kPeak] > limit;
}

Finding Measure(const Family& family, const Subject& subject, const Settings& settings) {
  Finding finding;
  // What a limit has to end may take as long as the limit is far.
  const uint64_t most = settings.budget * (family.stops == Stops::kMust ? 2000 : 100);
  const uint64_t max_steps = settings.n != 0 ? UINT64_MAX : most;
  const Sample base = Run(family, subject, kSmallest, max_steps);
  if (base.code == qrewrite::StatusCode::kInvalidRules && family.model) {
    finding.fault = "rules of its own that are wrong: " + base.message;
    return finding;
  }
  std::vector<Sample>& samples = finding.samples;
  int64_t n = settings.n != 0 ? settings.n : std::min(kFirst, family.largest / 4);
  // Peak bytes alone get a second chance at larger sizes: a table that doubles at one of three small sizes is no growth.
  int chances = settings.n != 0 ? 0 : 2;
  for (;; n *= 2) {
    samples.push_back(Run(family, subject, n, max_steps));
    const Sample& last = samples.back();
    if (!last.finished) {
      finding.fault = fmt::format("n = {}: {}", n, last.message);
      return finding;
    }
    const bool at_limit = last.code == qrewrite::StatusCode::kLimit;
    if (at_limit || last.code != base.code) {
      finding.end = fmt::format("n = {}: {}", n, last.message);
      const bool named = at_limit && last.message.find("rule `") != std::string::npos;
      samples.pop_back();
      if (family.stops == Stops::kMay) break;
      if (family.stops == Stops::kNever || !named) finding.fault = finding.end;
      return finding;
    }
    if (family.stops == Stops::kMust && 2 * n > family.largest) {
      finding.fault = fmt::format("n = {}: no limit ended it", n);
      return finding;
    }
    if (samples.size() > 3) samples.erase(samples.begin());
    if (samples.size() < 3 || family.stops == Stops::kMust) continue;
    const bool large = settings.n != 0 || 2 * n > family.largest;
    if (!large && last.work.steps < settings.budget) continue;
    const bool only_peak = Judge(base, settings.limit, finding);
    if (large || !only_peak || chances-- == 0) return finding;
  }
  if (samples.size() >= 2) Judge(base, settings.limit, finding);
  return finding;
}

}  // namespace scaling
