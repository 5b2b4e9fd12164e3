// qrewrite --rules R model.onnx: applies rule sets to a model and writes the result.
#include <array>
#include <map>
#include <string_view>

#include <fmt/format.h>

#include "engine/base/diagnostics.h"
#include "qrewrite/page.h"
#include "qrewrite/qrewrite.h"
#include "qrewrite/verify.h"
#include "tools/cli/arguments.h"
#include "tools/cli/bisect.h"
#include "tools/cli/commands.h"
#include "tools/cli/exit_codes.h"
#include "tools/cli/heap.h"
#include "tools/cli/observers.h"
#include "tools/cli/paths.h"
#include "tools/cli/progress.h"
#include "tools/cli/promise.h"
#include "tools/cli/report_json.h"
#include "tools/cli/runtimes.h"
#include "tools/cli/settings.h"
#include "tools/cli/terminal.h"
#include "tools/cli/trace.h"

namespace qrewrite::cli {
namespace {

using Shapes = std::map<std::string, std::vector<int64_t>>;

struct Arguments {
  std::vector<std::string> rules;
  std::vector<std::string> set;
  std::vector<std::string> skip_rules, keep_ops, keep_nodes, shape_texts;
  Shapes shapes;  // what `shape_texts` say
  std::string model, output, json;
  std::string verify;     // what is compared
  RuntimeChoice runtime;  // for it
  std::string trace, html, bisect;
  std::vector<std::string> require_hits;
  bool profile = false;
  bool in_place = false, check = false, allow_partial = false, strict = false;
  bool check_graph = false, quiet = false;
  int64_t max_rewrites = 0;
  std::optional<int64_t> stop_after;
};

void AddOptions(CLI::App& app, Arguments& a) {
  AddList(app, "--rules", a.rules, "rule file, or name of a shipped rule set; may be repeated")
      ->type_name("RULES");
  app.add_option("model", a.model, "the ONNX model")->type_name("MODEL");
  app.add_option("-o,--output", a.output,
                 "where the result goes; default: MODEL.<ruleset>.onnx; `-`: standard output")
      ->type_name("FILE")
      ->check(CheckOutput);
  AddList(app, "--set", a.set, "a parameter of the rule sets; may be repeated")
      ->type_name("NAME=VALUE");
  AddList(app, "--shape", a.shape_texts,
          "sizes that an input has from now on: x=1x3x224x224; may be repeated")
      ->type_name("NAME=SIZES");
  AddList(app, "--skip-rule", a.skip_rules, "a rule that is not to fire; may be repeated")
      ->type_name("NAME");
  AddList(app, "--keep-op", a.keep_ops,
          "operators that stay as they are: `com.microsoft.*`; may be repeated")
      ->type_name("OP");
  AddList(app, "--keep-node", a.keep_nodes,
          "nodes that stay as they are, by a regular expression (`show --node`); may be repeated")
      ->type_name("REGEX");
  app.add_flag("--in-place", a.in_place, "replace the model");
  app.add_flag("--check", a.check, "write nothing; exit code 1 if anything would change");
  app.add_flag("--json{-}", a.json, "the report as JSON, instead of the table or into --json=FILE");
  app.add_flag("--allow-partial", a.allow_partial, "what a rule refuses is a warning");
  app.add_flag("--strict", a.strict, "warnings are errors");
  app.add_flag(
      "--verify{numbers}", a.verify,
      "run the model before and after, and write nothing if the results differ by more than "
      "the rules promise");
  AddRuntimeOptions(app, a.runtime, "with --verify: ");
  app.add_flag("--check-graph", a.check_graph, "check the graph's invariants after every rewrite");
  app.add_option("--max-rewrites", a.max_rewrites, "limit of a phase; default: by the model's size")
      ->type_name("N")
      ->check(CheckLimit);
  app.add_option("--stop-after", a.stop_after,
                 "end after N rewrites, without an error: to find the wrong one")
      ->type_name("N")
      ->check(CheckCount);
  app.add_option("--trace", a.trace, "what each firing did, as a line of JSON in FILE")
      ->type_name("FILE")
      ->check(CheckFile);
  app.add_option("--html", a.html, "a page to walk through the run, both graphs side by side")
      ->type_name("FILE")
      ->check(CheckFile);
  app.add_option("--bisect", a.bisect,
                 "write nothing; find the first rewrite after which a command fails: 'check.sh {}'")
      ->type_name("COMMAND");
  app.add_flag("--profile", a.profile, "what each rule cost, and what stopped it how often");
  AddList(app, "--require-hits", a.require_hits,
          "a rule that has to fire, else nothing is written; may be repeated")
      ->type_name("NAME");
  app.add_flag("-q,--quiet", a.quiet, "no report; warnings and errors only");
  std::string footer = "Commands:\n";
  for (const Command& c : Commands())
    footer += fmt::format("  qrewrite {:<12}{}\n", c.name, c.summary);
  footer +=
      "\nExit codes: 0 done, 1 --check: would change, --verify: results differ, 2 usage, 3 refused "
      "by a rule, 4 bad rule "
      "file,\n"
      "5 bad model, 6 files, 7 limits (docs/exit_codes.md)";
  app.footer(footer);
}

// What is wrong with the arguments themselves; "" if nothing.
std::string Fault(const Arguments& a) {
  if (a.model.empty() && a.rules.empty()) return "a model and --rules are needed";
  if (a.rules.empty()) {
    std::vector<std::string> names;
    for (const Command& command : Commands()) names.emplace_back(command.name);
    const std::string hint = DidYouMean(a.model, names);
    return hint.empty()
               ? "--rules is needed"
               : fmt::format("--rules is needed; `{}` is no command: {}", Printable(a.model), hint);
  }
  if (a.model.empty()) return "a model is needed";
  if (a.in_place && !a.output.empty()) return "--in-place and -o exclude each other";
  if (a.check && (a.in_place || !a.output.empty()))
    return "--check writes no model: no -o, no --in-place";
  if (!a.verify.empty() && a.verify != "numbers")
    return fmt::format("--verify compares numbers, not `{}`", Printable(a.verify, 60));
  if (const std::string fault = Fault(a.runtime); !fault.empty()) return fault;
  if (a.runtime.is_said() && a.verify.empty()) return "--runtime and --ort go with --verify";
  if (!a.bisect.empty() &&
      (a.in_place || a.check || !a.output.empty() || !a.json.empty() || !a.verify.empty() ||
       a.stop_after || a.profile || !a.trace.empty() || !a.html.empty()))
    return "--bisect writes no model and no report: it goes with rules, parameters and opt-outs";
  if (a.strict && a.allow_partial) return "--strict and --allow-partial exclude each other";
  if ((a.output == "-" || a.output == "/dev/stdout") && a.json == "-")
    return "the model and the report cannot both go to standard output";
  return "";
}

// The weakest promise of the rules that fired, and the first rule that makes it.
struct Promised {
  Tolerance tolerance;
  std::string rule;

  void Weaken(const Rules& rules, const Report& run) {
    for (const RuleReport& fired : run.rules) {
      const Tolerance other = PromiseOf(rules, run, fired);
      const bool exact = tolerance.kind == Tolerance::Kind::kExact;
      if (other.kind == Tolerance::Kind::kExact || (!exact && other.limit >= tolerance.limit))
        continue;
      tolerance = other;
      rule = fired.rule;
    }
  }
};

// `promised`, if not null, becomes what the rules that fired promise. `observer` may be null.
Result<Report> Apply(Model& model, const std::vector<Rules>& sets, const Arguments& a,
                     const Settings& settings, Promised* promised, Observer* observer) {
  Report total, failed;
  for (const Rules& rules : sets) {
    RewriteOptions options{.shapes = a.shapes,
                           .allow_partial = a.allow_partial,
                           .verify = a.check_graph,
                           .max_rewrites = a.max_rewrites,
                           .strict = a.strict,
                           .nearest = !a.quiet,
                           .profile = a.profile,
                           .failed = &failed,
                           .observer = observer,
                           .skip_rules = {},
                           .keep_ops = a.keep_ops,
                           .keep_nodes = a.keep_nodes};
    for (const std::string& name : a.skip_rules) {
      if (rules.HasRule(name)) options.skip_rules.push_back(name);
    }
    for (const std::string& name : a.require_hits) {
      if (rules.HasRule(name)) options.require_hits.push_back(name);
    }
    for (const auto& setting : settings) {
      if (rules.HasParam(setting.first)) options.set.insert(setting);
    }
    if (a.stop_after) options.stop_after = *a.stop_after - total.rewrites;
    Result<Report> run = Rewrite(model, rules, options);
    if (!run.ok()) {
      // What was slow, or stopped everything, is asked most when a run fails.
      total.Add(failed);
      if (a.profile) Note(total.ProfileText());
      return run.status();
    }
    Report report = *std::move(run);
    if (promised != nullptr) promised->Weaken(rules, report);
    if (total.sets.empty()) {
      total = std::move(report);
    } else {
      total.Add(report);
    }
    if (total.stopped) break;
  }
  return total;
}

// What goes with the report of a run.
struct Enclosed {
  std::string page;    // of --html
  std::string verify;  // of --verify, as JSON
};

// What a run says of itself. `paths`: of all files that it writes.
class Reporter {
 public:
  Reporter(const Arguments& a, const OutputPaths& paths, const Enclosed& enclosed)
      : a_(a), to_(paths), enclosed_(enclosed) {}

  // The files of --json=FILE and --html.
  std::vector<SideFile> Files(const Report& report, const std::vector<std::string>& paths) const {
    std::vector<SideFile> files;
    if (!a_.json.empty() && a_.json != "-") files.push_back({a_.json, JsonText(report, paths)});
    if (!a_.html.empty()) files.push_back({a_.html, enclosed_.page});
    return files;
  }

  // Warnings, and the report on standard output.
  Status Tell(const Report& report, const std::vector<std::string>& paths) {
    TellWarnings(report.warnings);
    if (a_.json == "-") {
      Print(JsonText(report, paths));
    } else if (!a_.quiet) {
      Print(Text(report, paths));
    }
    if (a_.json != "-") Print(report.ProfileText());
    told_ = true;
    if (FlushOutput() == kExitOk) return {};
    return {StatusCode::kIo, std::vector<Diagnostic>()};  // FlushOutput said why
  }

  bool told() const { return told_; }

 private:
  // The same of several nodes is one warning, with the first few names.
  static void TellWarnings(const std::vector<RewriteWarning>& warnings) {
    constexpr size_t kNamed = 5;
    struct Group {
      const RewriteWarning* first;
      std::string nodes;
      size_t count = 0;
    };
    std::vector<Group> groups;
    std::map<std::array<std::string_view, 4>, size_t> known;
    for (const RewriteWarning& w : warnings) {
      size_t at = groups.size();
      if (!w.op.empty()) at = known.try_emplace({w.set, w.rule, w.text, w.op}, at).first->second;
      if (at == groups.size()) groups.push_back({.first = &w, .nodes = {}});
      Group& group = groups[at];
      if (++group.count <= kNamed) group.nodes += (group.count == 1 ? "" : ", ") + w.NodeText();
    }
    for (auto& [first, nodes, count] : groups) {
      if (count > kNamed) nodes += fmt::format(" and {} more", count - kNamed);
      const std::string text =
          count == 1 ? first->Text()
                     : fmt::format("{}: {} (rule `{}`)", nodes, first->text, first->rule);
      PrintDiagnostic({.severity = Severity::kWarning, .message = text, .notes = first->notes});
    }
  }

  std::string JsonText(const Report& report, const std::vector<std::string>& paths) const {
    std::vector<std::string> others;
    for (const std::string& path : paths) {
      if (path != to_.model) others.push_back(path);
    }
    return ReportJson(report, a_.model, to_.model, others, enclosed_.verify);
  }

  std::string Text(const Report& report, const std::vector<std::string>& paths) const {
    std::string text = report.Text();
    const std::string nearest = report.nearest.empty() ? "" : report.nearest + "\n";
    if (a_.check) return text + (report.changed ? "; would change\n" : "\n") + nearest;
    std::string wrote = to_.model == "-" ? "standard output" : "";
    for (const std::string& path : paths) {
      wrote += (wrote.empty() ? "" : ", ") + Printable(path, 1000);
    }
    return text + fmt::format("; wrote {}\n", wrote) + nearest;
  }

  const Arguments& a_;
  const OutputPaths& to_;
  const Enclosed& enclosed_;
  bool told_ = false;
};

// All faults of all rule files at once. What operators compute is known with `tests` alone.
Result<std::vector<Rules>> LoadAll(const std::vector<std::string>& paths, bool tests) {
  std::vector<Rules> sets;
  std::vector<Diagnostic> faults;
  StatusCode code = StatusCode::kOk;
  for (const std::string& path : paths) {
    Result<Rules> rules = Rules::Load(path, {.tests = tests});
    if (rules.ok()) {
      sets.push_back(*std::move(rules));
      continue;
    }
    code = rules.status().code();
    faults.insert(faults.end(), rules.status().diagnostics().begin(),
                  rules.status().diagnostics().end());
  }
  if (code != StatusCode::kOk) return Status(code, std::move(faults));
  return sets;
}

// The report is told before the files appear: if nobody can be told, there is nothing to tell.
Status Write(const Model& model, const OutputPaths& to, const Report& report, const Arguments& a,
             const Enclosed& enclosed, Progress& progress, bool& told) {
  Reporter reporter(a, to, enclosed);
  SaveOptions options;
  if (!a.check) options.side_files = report.files;
  options.report = [&](const std::vector<std::string>& paths) -> Result<std::vector<SideFile>> {
    return reporter.Files(report, paths);
  };
  if (progress.wanted() && !a.quiet) {
    options.progress = [&](uint64_t done, uint64_t total) { progress.OnWrite(done, total); };
  }
  options.before_commit = [&](const std::vector<std::string>& paths) {
    progress.Clear();
    if (to.model == "-") QR_RETURN_IF_ERROR(WriteToStdout(model));
    return reporter.Tell(report, paths);
  };
  const bool to_file = !a.check && to.model != "-";
  Status status = to_file ? model.Save(to.model, options) : model.SaveSideFiles(options);
  progress.Clear();
  told = reporter.told();
  return status;
}

// For the rest of the process: taking a large model apart takes a tenth of the run, and nobody needs it.
template <class T>
T& Keep(T value) {
  static auto* const kept = new T(std::move(value));
  return *kept;
}

// The comparison is printed as an error is.
Result<VerifyReport> Compare(const Model& before, const Model& after,
                             const std::vector<Rules>& sets, const Report& run,
                             const Promised& promised, const Arguments& a) {
  QR_ASSIGN_OR_RETURN(const Runtimes runtimes, LoadRuntimes(a.runtime));
  Result<VerifyReport> report = Verify(before, after, *runtimes.first,
                                       {.tolerance = promised.tolerance,
                                        .shapes = a.shapes,
                                        .units = run.units,
                                        .semantics = sets,
                                        .noise = runtimes.optimised.get(),
                                        .second = runtimes.second.get()});
  if (!report.ok()) return report;
  if (!promised.rule.empty()) {
    const bool any = promised.tolerance.limit <= 0;
    report->notes.push_back(
        fmt::format("the tolerance is what rule `{}` promises: {}", promised.rule,
                    any ? "nothing, so any result would do" : "the weakest of those that fired"));
  }
  Note(report->Text());
  return report;
}

// What is asked of a run before the model is read: parameters and rules that exist, files that
// replace nothing of the run.
Result<OutputPaths> CheckArguments(const Arguments& a, const std::vector<Rules>& sets,
                                   const Settings& settings) {
  QR_RETURN_IF_ERROR(CheckSettings(sets, settings));
  QR_RETURN_IF_ERROR(CheckSkipped(sets, a.skip_rules));
  QR_RETURN_IF_ERROR(CheckSkipped(sets, a.require_hits));
  QR_ASSIGN_OR_RETURN(OutputPaths paths,
                      ChooseOutput(a.model, a.output, a.in_place, a.check, sets));
  QR_RETURN_IF_ERROR(
      CheckReports({{"the report", a.json}, {"--html", a.html}, {"--trace", a.trace}}, a.model,
                   paths.model, sets));
  return paths;
}

// A run with all who watch it.
Result<Report> ApplyWatched(const Arguments& a, const std::vector<Rules>& sets,
                            const Settings& settings, Model& model, Progress& progress,
                            RunRecorder& recorder, Promised& promised) {
  std::unique_ptr<TraceWriter> trace;
  if (!a.trace.empty()) {
    QR_RETURN_IF_ERROR(NotOverInputs(a.trace, model));
    QR_ASSIGN_OR_RETURN(trace, TraceWriter::Open(a.trace));
  }
  Observers observers;
  observers.Add(a.quiet || !progress.wanted() ? nullptr : &progress);
  observers.Add(trace.get());
  observers.Add(a.html.empty() ? nullptr : &recorder);
  Result<Report> applied = Apply(model, sets, a, settings, a.verify.empty() ? nullptr : &promised,
                                 observers.empty() ? nullptr : &observers);
  if (trace != nullptr) {
    if (const Status closed = trace->Close(); applied.ok()) QR_RETURN_IF_ERROR(closed);
  }
  progress.Clear();
  return applied;
}

// The exit code. `told`: the report was printed, also if there is an error. To be called once.
Result<int> RewriteModel(const Arguments& a, bool& told) {
  PrepareHeap();
  QR_ASSIGN_OR_RETURN(const Settings settings, ParseSettings(a.set));
  QR_ASSIGN_OR_RETURN(std::vector<Rules> loaded, LoadAll(a.rules, !a.verify.empty()));
  const std::vector<Rules>& sets = Keep(std::move(loaded));
  QR_ASSIGN_OR_RETURN(const OutputPaths paths, CheckArguments(a, sets, settings));
  if (paths.model == "-") SendReportsToStderr();
  QR_ASSIGN_OR_RETURN(Model read, Model::Load(a.model));
  Model& model = Keep(std::move(read));
  if (!a.bisect.empty()) {
    return BisectByCommand(model, a.bisect,
                           [&](Model& some, std::optional<int64_t> stop_after, Observer* observer) {
                             Arguments part = a;
                             part.stop_after = stop_after;
                             part.quiet = true;
                             return Apply(some, sets, part, settings, nullptr, observer);
                           });
  }
  std::optional<Model> before;
  if (!a.verify.empty() || !a.html.empty()) {
    QR_ASSIGN_OR_RETURN(before, model.Clone());
  }
  Progress progress;
  RunRecorder recorder;
  Promised promised;
  QR_ASSIGN_OR_RETURN(const Report report,
                      ApplyWatched(a, sets, settings, model, progress, recorder, promised));
  Enclosed enclosed;
  if (!a.verify.empty()) {
    QR_ASSIGN_OR_RETURN(const VerifyReport compared,
                        Compare(*before, model, sets, report, promised, a));
    enclosed.verify = compared.Json();
    if (compared.verdict == Verdict::kDiverged) {  // nothing is written
      if (a.json == "-") Print(ReportJson(report, a.model, "", {}, enclosed.verify));
      return kExitFindings;
    }
  }
  QR_RETURN_IF_ERROR(CheckSideFiles(report.files, paths.model, sets));
  if (!a.html.empty()) {
    const std::string after = paths.model.empty() || paths.in_place ? "rewritten" : paths.model;
    QR_ASSIGN_OR_RETURN(enclosed.page, RunPage(*before, model, recorder, report, sets,
                                               {.before = a.model, .after = after}));
  }
  QR_RETURN_IF_ERROR(Write(model, paths, report, a, enclosed, progress, told));
  return a.check && report.changed ? kExitFindings : kExitOk;
}

// With --json an error is data, too, in the place of the report. A file (--json=FILE) is only
// written beside a result.
int FailWith(const Status& status, const Arguments& a, bool told) {
  return FailAs(a.json == "-" && !told, status, a.model);
}

}  // namespace

int RunRewrite(int argc, char** argv) {
  Arguments arguments;
  CLI::App app(
      "qrewrite --rules RULES [--set NAME=VALUE] MODEL [-o FILE]\n"
      "Rewrites an ONNX model by rules that are data.",
      "qrewrite");
  AddOptions(app, arguments);
  if (argc == 1) {
    Note(app.help());
    return kExitUsage;
  }
  if (const auto code = Parse(app, argc, argv)) return *code;
  if (arguments.json == "/dev/stdout" || arguments.json == "/dev/fd/1") arguments.json = "-";
  if (const std::string fault = Fault(arguments); !fault.empty()) return UsageError(app, fault);
  bool told = false;
  Result<Shapes> shapes = ParseShapes(arguments.shape_texts);
  if (!shapes.ok()) return FailWith(shapes.status(), arguments, told);
  arguments.shapes = *std::move(shapes);
  const Result<int> code = RewriteModel(arguments, told);
  return code.ok() ? *code : FailWith(code.status(), arguments, told);
}

}  // namespace qrewrite::cli
