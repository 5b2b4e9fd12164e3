// qrewrite --rules R model.onnx: applies rule sets to a model and writes the result.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "engine/base/diagnostics.h"
#include "qrewrite/qrewrite.h"
#include "tools/cli/arguments.h"
#include "tools/cli/commands.h"
#include "tools/cli/exit_codes.h"
#include "tools/cli/paths.h"
#include "tools/cli/settings.h"
#include "tools/cli/terminal.h"

namespace qrewrite::cli {
namespace {

struct Arguments {
  std::vector<std::string> rules;
  std::vector<std::string> set;
  std::string model, output, json;
  bool in_place = false, check = false, allow_partial = false, strict = false, verify = false;
  bool quiet = false;
  int64_t max_rewrites = 0;
};

void AddOptions(CLI::App& app, Arguments& a) {
  app.add_option("--rules", a.rules, "rule file, or name of a shipped rule set; may be repeated")
      ->allow_extra_args(false)
      ->type_name("RULES");
  app.add_option("model", a.model, "the ONNX model")->type_name("MODEL");
  app.add_option("-o,--output", a.output,
                 "where the result goes; default: MODEL.<ruleset>.onnx; `-`: standard output")
      ->type_name("FILE");
  app.add_option("--set", a.set, "a parameter of the rule sets; may be repeated")
      ->allow_extra_args(false)
      ->type_name("NAME=VALUE");
  app.add_flag("--in-place", a.in_place, "replace the model");
  app.add_flag("--check", a.check, "write nothing; exit code 1 if anything would change");
  app.add_flag("--json{-}", a.json, "the report as JSON, instead of the table or into --json=FILE");
  app.add_flag("--allow-partial", a.allow_partial, "what a rule refuses is a warning");
  app.add_flag("--strict", a.strict, "warnings are errors");
  app.add_flag("--verify", a.verify, "check the graph after every rewrite");
  app.add_option("--max-rewrites", a.max_rewrites, "limit of a phase; default: by the model's size")
      ->type_name("N")
      ->check(CheckCount);
  app.add_flag("-q,--quiet", a.quiet, "no report; warnings and errors only");
  std::string footer = "Commands:\n";
  for (const Command& c : Commands())
    footer += fmt::format("  qrewrite {:<10}{}\n", c.name, c.summary);
  footer +=
      "\nExit codes: 0 done, 1 --check: would change, 2 usage, 3 refused by a rule, 4 bad rule "
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
  if (a.strict && a.allow_partial) return "--strict and --allow-partial exclude each other";
  if ((a.output == "-" || a.output == "/dev/stdout") && a.json == "-")
    return "the model and the report cannot both go to standard output";
  return "";
}

Result<Report> Apply(Model& model, const std::vector<Rules>& sets, const Arguments& a,
                     const Settings& settings) {
  Report total;
  for (const Rules& rules : sets) {
    RewriteOptions options{.allow_partial = a.allow_partial,
                           .verify = a.verify,
                           .max_rewrites = a.max_rewrites,
                           .strict = a.strict};
    for (const auto& setting : settings) {
      if (rules.HasParam(setting.first)) options.set.insert(setting);
    }
    QR_ASSIGN_OR_RETURN(Report report, Rewrite(model, rules, options));
    if (total.sets.empty()) {
      total = std::move(report);
    } else {
      total.Add(report);
    }
  }
  return total;
}

std::string JsonText(const Report& report, const Arguments& a, const std::string& output) {
  auto json = nlohmann::ordered_json::parse(report.Json());
  json["input"] = a.model;
  if (!a.check) json["output"] = output;
  return json.dump(2, ' ', true, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

void PrintReport(const Report& report, const Arguments& a, const std::string& output) {
  for (const RewriteWarning& warning : report.warnings) {
    PrintDiagnostic({.severity = Severity::kWarning, .message = warning.Text()});
  }
  if (a.json == "-") return Print(JsonText(report, a, output));
  if (a.quiet) return;
  std::string text = report.Text();
  if (a.check) {
    text += report.changed ? "; would change" : "";
  } else {
    text += fmt::format("; wrote {}", output == "-" ? "standard output" : Printable(output, 1000));
  }
  Print(text + "\n");
}

int RewriteModel(const Arguments& a) {
  Result<Settings> settings = ParseSettings(a.set);
  if (!settings.ok()) return Fail(settings.status());
  std::vector<Rules> sets;
  int failed = kExitOk;
  for (const std::string& path : a.rules) {
    Result<Rules> rules = Rules::Load(path);
    if (rules.ok())
      sets.push_back(*std::move(rules));
    else
      failed = Fail(rules.status());
  }
  if (failed != kExitOk) return failed;
  if (const Status status = CheckSettings(sets, *settings); !status.ok()) return Fail(status);

  Result<OutputPaths> paths = ChooseOutput(a.model, a.output, a.in_place, a.check, a.json, sets);
  if (!paths.ok()) return Fail(paths.status());
  if (paths->model == "-") SendReportsToStderr();
  Result<Model> model = Model::Load(a.model);
  if (!model.ok()) return Fail(model.status());
  Result<Report> report = Apply(*model, sets, a, *settings);
  if (!report.ok()) return Fail(report.status());
  if (!a.check) {
    std::vector<SideFile> files = report->files;
    if (!a.json.empty() && a.json != "-")
      files.push_back({a.json, JsonText(*report, a, paths->model)});
    const Status saved = SaveModel(*model, *paths, a.model, std::move(files));
    if (!saved.ok()) return Fail(saved);
  } else if (!a.json.empty() && a.json != "-") {
    const Status written = WriteSideFiles({{a.json, JsonText(*report, a, "")}});
    if (!written.ok()) return Fail(written);
  }
  PrintReport(*report, a, paths->model);
  return a.check && report->changed ? kExitFindings : kExitOk;
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
  if (const std::string fault = Fault(arguments); !fault.empty()) return UsageError(app, fault);
  return RewriteModel(arguments);
}

}  // namespace qrewrite::cli
