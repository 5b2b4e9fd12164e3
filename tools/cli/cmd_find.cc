// qrewrite find MODEL: where a pattern, or the rules of a rule set, match a model; nothing is rewritten.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

#include "engine/api/constant.h"
#include "engine/base/diagnostics.h"
#include "engine/expr/parser.h"
#include "engine/text/tensor_text.h"
#include "qrewrite/match.h"
#include "tools/cli/arguments.h"
#include "tools/cli/commands.h"
#include "tools/cli/exit_codes.h"
#include "tools/cli/nodes_json.h"
#include "tools/cli/report_json.h"
#include "tools/cli/settings.h"
#include "tools/cli/terminal.h"

namespace qrewrite::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kShownElements = 8;

struct Arguments {
  std::string model, pattern, rules;
  std::vector<std::string> where, names, set;
  size_t most = 1000;
  bool json = false, report = false;
};

void AddOptions(CLI::App& app, Arguments& a) {
  app.add_option("model", a.model, "the ONNX model")->type_name("MODEL");
  app.add_option("-e,--pattern", a.pattern,
                 "what to find, as `match:` of a rule has it: 'y = Relu(Conv(x, w, _?))'")
      ->type_name("PATTERN");
  AddList(app, "--where", a.where, "with -e: a condition, as `where:` has it; may be repeated")
      ->type_name("CONDITION");
  app.add_option("--rules", a.rules, "the patterns of a rule set instead")->type_name("RULES");
  AddList(app, "--rule", a.names, "with --rules: of this rule alone; may be repeated")
      ->type_name("NAME");
  AddList(app, "--set", a.set, "with --rules: a parameter of the rule set; may be repeated")
      ->type_name("NAME=VALUE");
  app.add_flag("--conditions", a.report,
               "matches that conditions exclude, too, with what each of them says");
  app.add_option("--max", a.most, "at most so many matches; default 1000")
      ->type_name("N")
      ->check(CheckCount);
  app.add_flag("--json", a.json, "as JSON");
  app.footer("Exit codes: 0 something was found, 1 nothing was; others as in docs/exit_codes.md");
}

std::string Fault(const Arguments& a) {
  if (a.model.empty()) return "a model is needed";
  if (a.pattern.empty() == a.rules.empty()) return "a pattern (-e) or --rules is needed, not both";
  if (!a.rules.empty() && !a.where.empty()) return "--where goes with -e";
  if (a.rules.empty() && !(a.names.empty() && a.set.empty()))
    return "--rule and --set go with --rules";
  return "";
}

// The lines of a text, each behind `margin` spaces, as a block scalar of YAML has them.
std::string Indented(std::string_view text, size_t margin, size_t& lines) {
  std::string out;
  for (size_t begin = 0; begin <= text.size(); ++lines) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    out += fmt::format("{:{}}{}\n", "", margin, text.substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
}

// A rule set of the one pattern. Faults are shown in the texts of the command line.
Result<Rules> RulesOfPattern(const Arguments& a) {
  struct Part {
    std::string_view option;
    size_t first, margin;  // its first line, how far it is indented
  };
  std::string file =
      "qrewrite: 1\nname: find\nrules:\n  - name: pattern\n    warn: found\n    match: |2\n";
  size_t lines = 7;
  std::vector<Part> parts = {{"-e", lines, 6}};
  file += Indented(a.pattern, 6, lines);
  if (!a.where.empty()) {
    file += "    where:\n";
    ++lines;
  }
  for (const std::string& condition : a.where) {
    file += "      - |2\n";
    parts.push_back({"--where", ++lines, 8});
    file += Indented(condition, 8, lines);
  }
  Result<Rules> rules = Rules::Parse("-e", file, {.tests = false});
  if (rules.ok()) return rules;
  std::vector<Diagnostic> faults = rules.status().diagnostics();
  for (Diagnostic& fault : faults) {
    SourceSpan& span = fault.span;
    const auto part = std::find_if(parts.rbegin(), parts.rend(), [&](const Part& p) {
      return static_cast<int>(p.first) <= span.line;
    });
    if (part == parts.rend()) continue;
    const int margin = static_cast<int>(part->margin);
    span.file = part->option;
    span.line -= static_cast<int>(part->first) - 1;
    span.column = std::max(span.column - margin, 1);
    span.end_column = std::max(span.end_column - margin, 1);
    span.line_text.erase(0, std::min(span.line_text.size(), part->margin));
  }
  return Status(rules.status().code(), std::move(faults));
}

// --- a binding in words

std::string NodeText(const NodeView& node) {
  const std::string_view name =
      !node.name.empty() || node.outputs.empty() ? node.name : node.outputs[0];
  return fmt::format("{} `{}`", Printable(node.op), Printable(std::string(name)));
}

std::string NodesText(const std::vector<NodeView>& nodes) {
  std::string text;
  for (const NodeView& node : nodes) text += (text.empty() ? "" : ", ") + NodeText(node);
  return text;
}

// Numbers of the language and of attributes have no type worth telling: 3, [1, 1].
std::string PlainText(const Tensor& tensor) {
  const bool whole = tensor.dtype() == DType::kInt64;
  const bool plain = (whole || tensor.dtype() == DType::kDouble) && tensor.rank() <= 1;
  if (!plain || tensor.size() > kShownElements) return "";
  const Result<std::vector<double>> values = ToDoubles(tensor);
  if (!values.ok()) return "";
  const std::string text = whole ? fmt::format("{}", fmt::join(tensor.as<int64_t>(), ", "))
                                 : fmt::format("{}", fmt::join(*values, ", "));
  return tensor.rank() == 0 ? text : "[" + text + "]";
}

std::string ConstantText(const Constant& constant, bool typed) {
  const Result<ConstTensor> plain = constant.Read();
  if (!plain.ok()) {
    const Result<std::vector<std::string>> strings = constant.ReadStrings();
    return strings.ok() ? fmt::format("{} strings", strings->size()) : "?";
  }
  const Result<Tensor> tensor = FromPlain(*plain);
  if (!tensor.ok()) return "?";
  const std::string text = typed ? "" : PlainText(*tensor);
  return text.empty() ? qrewrite::Print(*TypedLiteral(*tensor, kShownElements)) : text;
}

std::string Words(const Binding& b) {
  switch (b.kind) {
    case Binding::Kind::kAbsent: return "absent";
    case Binding::Kind::kValue: {
      const std::string name = fmt::format("`{}`", Printable(b.text));
      return b.constant ? fmt::format("{} = {}", name, ConstantText(*b.constant, /*typed=*/true))
                        : name;
    }
    case Binding::Kind::kConstant: return ConstantText(*b.constant, /*typed=*/false);
    case Binding::Kind::kText: return fmt::format("'{}'", Printable(b.text));
    case Binding::Kind::kType: return b.text;
    case Binding::Kind::kSymbol: return Printable(b.text);
    case Binding::Kind::kNode:
    case Binding::Kind::kChain: return b.nodes.empty() ? "no step" : NodesText(b.nodes);
    case Binding::Kind::kGraph: return fmt::format("graph `{}`", Printable(b.text));
    case Binding::Kind::kUnknown: return "unknown: " + b.text;
    case Binding::Kind::kAttributes:
    case Binding::Kind::kList: break;
  }
  std::string items;
  for (const Binding& item : b.items) {
    items += items.empty() ? "" : ", ";
    items +=
        item.name.empty() ? Words(item) : fmt::format("{}={}", Printable(item.name), Words(item));
  }
  return b.kind == Binding::Kind::kList ? "[" + items + "]" : "<" + items + ">";
}

void Tell(const Matches& found, bool by_rule) {
  for (const RuleMatch& match : found.matches) {
    Print(fmt::format("{}{}\n", by_rule ? fmt::format("{}/{}: ", match.set, match.rule) : "",
                      NodesText(match.nodes)));
    for (const Binding& b : match.bindings) Print(fmt::format("  {} = {}\n", b.name, Words(b)));
    for (const MatchCondition& c : match.conditions) {
      Print(fmt::format("  {:<7}  {}{}\n", Name(c.outcome), c.text,
                        c.why.empty() ? "" : ": " + c.why));
    }
  }
  const size_t count = found.matches.size();
  Print(fmt::format("{} match{}{}\n", count, count == 1 ? "" : "es",
                    found.more ? ", and more (--max)" : ""));
}

// --- as JSON

Json ConstantJson(const Constant& constant) {
  Json json = {{"dtype", Info(static_cast<DType>(constant.dtype())).text_name},
               {"shape", constant.dims()}};
  const Result<ConstTensor> plain = constant.Read();
  const Result<Tensor> tensor = plain.ok() ? FromPlain(*plain) : Result<Tensor>(plain.status());
  if (!tensor.ok() || tensor->size() > kShownElements) return json;
  if (const auto whole = IsFloat(tensor->dtype())
                             ? Result<std::vector<int64_t>>(Status(StatusCode::kUnsupported, ""))
                             : ToInt64s(*tensor);
      whole.ok()) {
    json["values"] = *whole;
  } else if (const auto values = ToDoubles(*tensor); values.ok()) {
    json["values"] = *values;
  }
  return json;
}

Json BindingJson(const Binding& b) {
  Json json = {{"kind", Name(b.kind)}};
  if (!b.text.empty()) json[b.kind == Binding::Kind::kValue ? "name" : "text"] = b.text;
  if (b.constant) json["constant"] = ConstantJson(*b.constant);
  if (!b.nodes.empty()) json["nodes"] = NodesJson(b.nodes);
  if (b.kind == Binding::Kind::kAttributes) {
    json["items"] = Json::object();
    for (const Binding& item : b.items) json["items"][item.name] = BindingJson(item);
  } else if (b.kind == Binding::Kind::kList) {
    json["items"] = Json::array();
    for (const Binding& item : b.items) json["items"].push_back(BindingJson(item));
  }
  return json;
}

std::string AsJson(const Matches& found) {
  Json json = {{"matches", Json::array()}, {"more", found.more}};
  for (const RuleMatch& match : found.matches) {
    Json one = {{"set", match.set},
                {"rule", match.rule},
                {"nodes", NodesJson(match.nodes)},
                {"bindings", Json::object()}};
    for (const Binding& b : match.bindings) one["bindings"][b.name] = BindingJson(b);
    for (const MatchCondition& c : match.conditions) {
      one["conditions"].push_back({{"text", c.text}, {"outcome", Name(c.outcome)}, {"why", c.why}});
    }
    json["matches"].push_back(std::move(one));
  }
  return json.dump(2, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace) + "\n";
}

Result<int> Find(const Arguments& a) {
  QR_ASSIGN_OR_RETURN(const Settings settings, ParseSettings(a.set));
  QR_ASSIGN_OR_RETURN(const Rules rules,
                      a.rules.empty() ? RulesOfPattern(a) : Rules::Load(a.rules, {.tests = false}));
  QR_RETURN_IF_ERROR(CheckSettings({rules}, settings));
  QR_ASSIGN_OR_RETURN(const Model model, Model::Load(a.model));
  using Conditions = MatchOptions::Conditions;
  QR_ASSIGN_OR_RETURN(const Matches found,
                      Match(model, rules,
                            {.set = settings,
                             .rules = a.names,
                             .conditions = a.report ? Conditions::kReport : Conditions::kRequire,
                             .max_matches = a.most}));
  if (a.json) {
    Print(AsJson(found));
  } else {
    Tell(found, !a.rules.empty());
  }
  return found.matches.empty() ? kExitFindings : kExitOk;
}

}  // namespace

int RunFind(int argc, char** argv) {
  Arguments a;
  CLI::App app(
      "qrewrite find MODEL -e PATTERN\nPrints where a pattern, or the rules of a rule set, match. "
      "Nothing is rewritten.",
      "qrewrite find");
  AddOptions(app, a);
  if (const auto code = Parse(app, argc, argv)) return *code;
  if (const std::string fault = Fault(a); !fault.empty()) return UsageError(app, fault);
  const Result<int> code = Find(a);
  return code.ok() ? *code : FailAs(a.json, code.status(), a.model);
}

}  // namespace qrewrite::cli
