#include "tools/cli/bisect.h"

#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <set>

#include <fmt/format.h>

#include "engine/base/diagnostics.h"
#include "engine/base/lines.h"
#include "engine/base/temporary_folder.h"
#include "engine/rule/check.h"
#include "tools/cli/exit_codes.h"
#include "tools/cli/terminal.h"

namespace qrewrite::cli {
namespace {

constexpr size_t kMostUntestable = 32;  // states that are stepped over

std::string Quoted(const std::string& path) {
  std::string text = "'";
  for (const char c : path) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

// Keeps what one firing said of itself.
class Witness : public Observer {
 public:
  explicit Witness(int64_t number) : number_(number) {}
  bool WantsText(std::string_view) override { return true; }
  Answer OnFiring(const FiringEvent& event) override {
    if (event.number == 0 || ++seen_ != number_) return Answer::kContinue;
    text_ = fmt::format("{}/{} ({}:{})\n  before\n{}  after\n{}", event.set, event.rule, event.file,
                        event.line, Indented(event.before, 4), Indented(event.after, 4));
    return Answer::kStop;
  }
  const std::string& text() const { return text_; }

 private:
  int64_t number_, seen_ = 0;
  std::string text_;
};

enum class Verdict { kGood, kBad, kUntestable };

class Search {
 public:
  Search(const Model& model, const std::string& command, const RewriteSome& rewrite,
         std::string path)
      : model_(model), command_(command), rewrite_(rewrite), path_(std::move(path)) {}

  Result<int> Run() {
    QR_ASSIGN_OR_RETURN(const Verdict before, Try(0));
    if (before != Verdict::kGood) {
      return Status(StatusCode::kUsage,
                    before == Verdict::kBad
                        ? "the command fails on the model as it is"
                        : "the command cannot tell (125) of the model as it is");
    }
    QR_ASSIGN_OR_RETURN(Model whole, model_.Clone());
    QR_ASSIGN_OR_RETURN(const Report report, rewrite_(whole, std::nullopt, nullptr));
    const int64_t all = report.rewrites;
    QR_ASSIGN_OR_RETURN(const Verdict after, RunOn(whole));
    if (after != Verdict::kBad) {
      Print(fmt::format("the command succeeds after all {} rewrites\n", all));
      return kExitOk;
    }
    int64_t good = 0, bad = all;
    while (const std::optional<int64_t> next = Next(good, bad)) {
      QR_ASSIGN_OR_RETURN(const Verdict verdict, Try(*next));
      Note(fmt::format("after {} of {} rewrites: {}\n", *next, all,
                       verdict == Verdict::kGood  ? "good"
                       : verdict == Verdict::kBad ? "bad"
                                                  : "cannot be told"));
      if (verdict == Verdict::kUntestable) {
        untestable_.insert(*next);
      } else {
        (verdict == Verdict::kGood ? good : bad) = *next;
      }
    }
    if (bad == 0) {
      Print("the command fails after what phases without rules do\n");
      return kExitFindings;
    }
    QR_ASSIGN_OR_RETURN(Model again, model_.Clone());
    Witness witness(bad);
    QR_RETURN_IF_ERROR(rewrite_(again, std::nullopt, &witness).status());
    const std::string which = good + 1 == bad ? fmt::format("rewrite {} of {}", bad, all)
                                              : fmt::format(
                                                    "one of the rewrites {} to {} of {}; "
                                                    "the last of them",
                                                    good + 1, bad, all);
    Print(fmt::format("the command fails from {} on: {}", which, witness.text()));
    return kExitFindings;
  }

 private:
  // The state nearest to the middle that was not tried; nullopt: there is none between.
  std::optional<int64_t> Next(int64_t good, int64_t bad) const {
    if (untestable_.size() >= kMostUntestable) return std::nullopt;
    const int64_t middle = good + (bad - good) / 2;
    for (int64_t away = 0; away < bad - good; ++away) {
      for (const int64_t at : {middle - away, middle + away}) {
        if (at > good && at < bad && !untestable_.contains(at)) return at;
      }
    }
    return std::nullopt;
  }

  Result<Verdict> Try(int64_t rewrites) {
    QR_ASSIGN_OR_RETURN(Model model, model_.Clone());
    if (rewrites > 0) QR_RETURN_IF_ERROR(rewrite_(model, rewrites, nullptr).status());
    return RunOn(model);
  }

  Result<Verdict> RunOn(const Model& model) {
    for (const auto& [op, count] : model.Stats().ops) {
      const size_t dot = op.rfind('.');
      if (dot != std::string::npos && IsPrivateDomain(op.substr(0, dot))) {
        return Verdict::kUntestable;  // operators that the rule set has for itself
      }
    }
    QR_RETURN_IF_ERROR(model.Save(path_));
    std::string command = command_;
    const std::string quoted = Quoted(path_);
    size_t at = command.find("{}");
    if (at == std::string::npos) command += " " + quoted;
    for (; at != std::string::npos; at = command.find("{}", at + quoted.size())) {
      command.replace(at, 2, quoted);
    }
    FlushOutput();
    // Standard output is ours.
    const int status = std::system(fmt::format("( {} ) 1>&2", command).c_str());
    // Who interrupts the command means us: system() keeps the signal from this program. A shell that outlives its
    // command says so by its code.
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 1;
    const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : code - 128;
    if (signal == SIGINT || signal == SIGQUIT) raise(signal);
    if (status == -1 || code == 126 || code == 127) {
      return Status(StatusCode::kUsage,
                    fmt::format("`{}` cannot be run", Printable(command_, 500)));
    }
    return code == 0 ? Verdict::kGood : code == 125 ? Verdict::kUntestable : Verdict::kBad;
  }

  const Model& model_;
  const std::string& command_;
  const RewriteSome& rewrite_;
  std::string path_;  // of the states
  std::set<int64_t> untestable_;
};

}  // namespace

Result<int> BisectByCommand(const Model& model, const std::string& command,
                            const RewriteSome& rewrite) {
  QR_ASSIGN_OR_RETURN(const TemporaryFolder folder, TemporaryFolder::Make());
  return Search(model, command, rewrite, folder.File("model.onnx")).Run();
}

}  // namespace qrewrite::cli
