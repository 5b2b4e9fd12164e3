#include "tools/cli/debug_tables.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include <fmt/format.h>

#include "engine/base/lines.h"
#include "tools/cli/terminal.h"

namespace qrewrite::cli {
namespace {

// A line of a table. Without a number it is the status.
struct Line {
  std::optional<double> db;
  std::string_view status;
  std::string name;
  bool breaks = false;  // worse than any number
};

std::string Painted(const Line& line) {
  const std::string text =
      line.db ? fmt::format("{:9.2f}", *line.db) : fmt::format("{:>9}", line.status);
  if (line.breaks) return Painted(Colour::kRed, text);
  if (!line.db) return Painted(Colour::kDim, text);
  const Colour colour = *line.db < 20   ? Colour::kRed
                        : *line.db < 40 ? Colour::kYellow
                                        : Colour::kGreen;
  return Painted(colour, text);
}

std::string_view StatusWord(const Sqnr& sqnr) {
  return sqnr.status == SqnrStatus::kNoReference || sqnr.status == SqnrStatus::kOk
             ? "n/a"
             : Name(sqnr.status);
}

Line LineOf(const Sqnr& sqnr, std::string name) {
  return {sqnr.db, StatusWord(sqnr), std::move(name), sqnr.breaks};
}

std::string Summary(const std::vector<Line>& lines) {
  std::vector<double> values;
  for (const Line& line : lines) {
    if (line.db && std::isfinite(*line.db)) values.push_back(*line.db);
  }
  if (values.empty()) return "(count = 0)\n";
  const auto n = static_cast<double>(values.size());
  double mean = 0, squares = 0;
  for (const double v : values) mean += v / n;
  for (const double v : values) squares += (v - mean) * (v - mean) / n;
  const auto [min, max] = std::minmax_element(values.begin(), values.end());
  return fmt::format("(count = {}, mean = {:.2f}, std = {:.2f}, min = {:.2f}, max = {:.2f})\n",
                     values.size(), mean, std::sqrt(squares), *min, *max);
}

// Lines without a number come last, but for what breaks.
std::vector<Line> WorstFirst(std::vector<Line> lines) {
  const auto rank = [](const Line& line) {
    return line.db.value_or(line.breaks ? -INFINITY : INFINITY);
  };
  std::ranges::stable_sort(lines, {}, rank);
  return lines;
}

std::string Table(std::string_view title, const std::vector<Line>& lines, size_t top) {
  std::string text =
      fmt::format("{}\n  {:>3}  {:>9}  name\n", Painted(Colour::kBold, title), "#", "SQNR (dB)");
  for (size_t i = 0; i < std::min(top, lines.size()); ++i) {
    text += fmt::format("  {:>3}  {}  {}\n", i + 1, Painted(lines[i]), lines[i].name);
  }
  return text;
}

template <class Rows, class Get>
std::vector<Line> LinesOf(const Rows& rows, Get get) {
  std::vector<Line> lines;
  for (const auto& row : rows) lines.push_back(get(row));
  return lines;
}

std::string Worst(std::string_view what, std::vector<Line> lines, size_t top) {
  const auto is_empty = [](const Line& line) { return !line.db && line.status == "n/a"; };
  if (std::ranges::all_of(lines, is_empty)) return "";
  const std::string summary = Summary(lines);
  return "\n" + Table(fmt::format("Worst {} SQNR", what), WorstFirst(std::move(lines)), top) +
         summary;
}

// The worst channel, if it is much worse than the whole.
std::string Channel(const Sqnr& sqnr) {
  if (!sqnr.min_channel || !sqnr.db || *sqnr.min_channel >= *sqnr.db - 3) return "";
  return fmt::format("  channel {}: {:.2f}", sqnr.worst_channel, *sqnr.min_channel);
}

std::string WeightName(const DebugWeight& w) {
  std::string name = w.name + Channel(w.sqnr);
  if (w.sqnr.zeroed_channels > 0)
    name += fmt::format("  zeroed channels: {}", w.sqnr.zeroed_channels);
  if (w.folded) name += "  (folded)";
  return name;
}

std::string ActivationName(const DebugActivation& a) {
  return a.left_out ? fmt::format("{}  (behind {})", a.name, a.absorbed) : a.name;
}

std::string Originators(const DebugReport& report, size_t top) {
  std::vector<const DebugActivation*> rows;
  for (const DebugActivation& a : report.activations) {
    if (a.kind == "originator") rows.push_back(&a);
  }
  if (rows.empty()) return "";
  const auto rank = [](const DebugActivation* a) {
    return std::pair(a->Breaks(), a->RankedDrop());
  };
  std::ranges::stable_sort(rows, std::greater(), rank);
  std::string text =
      fmt::format("\n{}\n  {:>3}  {:>9}  name\n",
                  Painted(Colour::kBold, "Originators, ranked by drop"), "#", "drop (dB)");
  for (size_t i = 0; i < std::min(top, rows.size()); ++i) {
    const DebugActivation& a = *rows[i];
    const std::string drop =
        a.drop_db ? fmt::format("{:9.2f}", *a.drop_db) : fmt::format("{:>9}", "n/a");
    text += fmt::format("  {:>3}  {}  {}  {}\n", i + 1, drop, a.name, a.op);
  }
  return text;
}

std::string QuotedList(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) {
    text += text.empty() ? "\"" : ", \"";
    for (const char c : name)
      text += c == '"' || c == '\\' ? std::string("\\") + c : std::string(1, c);
    text += "\"";
  }
  return "[" + text + "]";
}

// As one word of a shell.
std::string ShellQuoted(const std::string& text) {
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

std::string GainText(const DebugGain& gain) {
  if (gain.lossless) return "all: the outputs are those of the float model";
  return gain.db ? fmt::format("{:.2f} dB", *gain.db) : "";
}

std::string Suggestions(const DebugReport& report) {
  if (report.suggestions.empty()) return "";
  std::string text = fmt::format("\n{}\n", Painted(Colour::kBold, "To leave in float"));
  std::vector<std::string> nodes, quantized;
  for (const DebugSuggestion& s : report.suggestions) {
    const std::string gained = GainText(s.gained);
    text += fmt::format("  {}{}\n", s.name, gained.empty() ? "" : "  gains " + gained);
    nodes.insert(nodes.end(), s.nodes.begin(), s.nodes.end());
    quantized.insert(quantized.end(), s.quantized_nodes.begin(), s.quantized_nodes.end());
  }
  if (const std::string gained = GainText(report.all_gained); !gained.empty())
    text += fmt::format("  together they gain {}\n", gained);
  // Stored weights stay as they are, dequantized: where nothing else is quantized strip_qdq changes nothing.
  const bool weights_alone =
      std::ranges::all_of(report.activations, &std::string::empty, &DebugActivation::quantized);
  if (weights_alone) {
    return text + fmt::format("  nodes_to_exclude={} when the weights are quantized anew\n",
                              QuotedList(nodes));
  }
  text += fmt::format("  quantize_static(..., nodes_to_exclude={})\n", QuotedList(nodes));
  std::string rules;
  for (const std::string& name : report.form_rules) rules += fmt::format("--rules {} ", name);
  text += fmt::format("  qrewrite {}--rules strip_qdq --set {} MODEL\n", rules,
                      ShellQuoted("nodes=" + NodePattern(quantized)));
  return text;
}

}  // namespace

std::string DebugTables(const DebugReport& report, size_t top) {
  std::string text = fmt::format("{} of {}; {}; {}\n", Plural(report.num_samples, "sample"),
                                 report.samples, report.evaluator, report.Matched());
  for (const std::string& note : report.notes) text += fmt::format("note: {}\n", note);
  text += "\n" +
          Table("Outputs cumulative SQNR",
                LinesOf(report.outputs, [](const auto& o) { return LineOf(o.cumulative, o.name); }),
                SIZE_MAX);
  text += Worst(
      "local",
      LinesOf(report.activations, [](const auto& a) { return LineOf(a.local, ActivationName(a)); }),
      top);
  text += Worst(
      "cumulative",
      LinesOf(report.activations, [](const auto& a) { return LineOf(a.cumulative, a.name); }), top);
  if (report.isolated) {
    text += Worst(
        "operator",
        LinesOf(report.activations,
                [](const auto& a) { return LineOf(a.isolated, a.name + Channel(a.isolated)); }),
        top);
  }
  text += Worst(
      "weight",
      LinesOf(report.weights, [](const auto& w) { return LineOf(w.sqnr, WeightName(w)); }), top);
  return text + Originators(report, top) + Suggestions(report);
}

}  // namespace qrewrite::cli
