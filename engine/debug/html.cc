// The report as a page that needs nothing else: one picture of the errors along the graph, and tables.
#include <algorithm>
#include <cmath>
#include <iterator>

#include <fmt/format.h>

#include "engine/base/lines.h"
#include "engine/page/page.h"
#include "qrewrite/debug.h"

namespace qrewrite {
namespace {

const char* ClassOf(const std::optional<double>& db) {
  if (!db) return "none";
  return *db < 20 ? "bad" : *db < 40 ? "fair" : "good";
}

std::string Cell(const Sqnr& sqnr) {
  const std::string text =
      sqnr.db ? fmt::format("{:.1f}", *sqnr.db) : std::string(Name(sqnr.status));
  // A channel that the whole hides, and that makes an originator.
  const bool hidden = sqnr.db && sqnr.min_channel && *sqnr.db >= 30 && *sqnr.min_channel < 30;
  const std::string channel = hidden ? fmt::format(" <small>channel {}: {:.1f}</small>",
                                                   sqnr.worst_channel, *sqnr.min_channel)
                                     : "";
  return fmt::format("<td class=\"n {}\">{}{}</td>", ClassOf(sqnr.db), text, channel);
}
std::string Cell(const std::optional<double>& number) {
  if (!number) return "<td class=\"n none\"></td>";
  return fmt::format("<td class=\"n\">{:.1f}</td>", *number);
}
// The same of an SQNR.
std::string Decibels(const std::optional<double>& db) {
  return fmt::format("<td class=\"n {}\">{}</td>", ClassOf(db),
                     db ? fmt::format("{:.1f}", *db) : "");
}
std::string Cell(std::string_view text) { return fmt::format("<td>{}</td>", HtmlText(text)); }

// --- the picture

struct Series {
  const char* name;
  const char* style;  // its class in debug.css
  const Sqnr DebugActivation::*value;
};
constexpr Series kSeries[] = {{"local", "local", &DebugActivation::local},
                              {"cumulative", "cumulative", &DebugActivation::cumulative},
                              {"operator alone", "alone", &DebugActivation::isolated}};

class Chart {
 public:
  explicit Chart(const std::vector<DebugActivation>& rows) : rows_(rows) {
    for (const DebugActivation& row : rows) {
      for (const Series& series : kSeries) {
        const std::optional<double>& db = (row.*series.value).db;
        if (db && std::isfinite(*db)) low_ = std::min(low_, *db), high_ = std::max(high_, *db);
      }
    }
    low_ = std::floor(low_ / 10) * 10;
    high_ = std::min(std::ceil(high_ / 10) * 10, 120.0);  // beyond, nothing is lost
  }

  std::string Svg() const {
    std::string svg = fmt::format(
        "<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"SQNR along the graph\">\n", kWidth,
        kHeight);
    const double step = high_ - low_ > 80 ? 20 : 10;
    for (double db = low_; db <= high_; db += step) {
      svg += fmt::format(
          "<line x1=\"{0}\" x2=\"{1}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\" class=\"grid\"/>"
          "<text x=\"4\" y=\"{3:.1f}\">{4:.0f} dB</text>\n",
          kLeft, kWidth - kRight, Y(db), Y(db) + 4, db);
    }
    for (const Series& series : kSeries) svg += Line(series);
    return svg + Names() + "</svg>\n";
  }

 private:
  static constexpr int kWidth = 1040, kHeight = 340, kLeft = 56, kRight = 12, kTop = 12,
                       kBottom = 28;

  double X(size_t i) const {
    const double n = std::max<double>(1, static_cast<double>(rows_.size()) - 1);
    return kLeft + static_cast<double>(i) / n * (kWidth - kLeft - kRight);
  }
  double Y(double db) const {
    const double share = (std::min(db, high_) - low_) / std::max(high_ - low_, 1.0);
    return kHeight - kBottom - share * (kHeight - kTop - kBottom);
  }

  // Below the points, if there is room for them.
  std::string Names() const {
    constexpr size_t kMostNames = 12, kMostLetters = 14;
    if (rows_.size() > kMostNames) {
      return fmt::format("<text x=\"{}\" y=\"{}\">quantized values, producers first</text>", kLeft,
                         kHeight - 6);
    }
    std::string names;
    for (size_t i = 0; i < rows_.size(); ++i) {
      const std::string& name = rows_[i].name;
      size_t from = name.size() - std::min(name.size(), kMostLetters);
      while (from < name.size() && (name[from] & 0xC0) == 0x80) ++from;  // a whole letter first
      const char* const anchor = i == 0 ? "start" : i + 1 == rows_.size() ? "end" : "middle";
      names +=
          fmt::format("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"{}\">{}</text>", X(i), kHeight - 6,
                      anchor, HtmlText((from > 0 ? ".." : "") + name.substr(from)));
    }
    return names;
  }

  // A line where neighbours have numbers, and a point for each number.
  std::string Line(const Series& series) const {
    std::string path, points;
    bool pen_down = false;
    for (size_t i = 0; i < rows_.size(); ++i) {
      const std::optional<double>& db = (rows_[i].*series.value).db;
      if (!db || !std::isfinite(*db)) {
        pen_down = false;
        continue;
      }
      path += fmt::format("{}{:.1f} {:.1f}", pen_down ? "L" : "M", X(i), Y(*db));
      pen_down = true;
      points += fmt::format(
          "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" class=\"{}\"><title>{}: {} {:.1f} "
          "dB</title></circle>",
          X(i), Y(*db), series.style, HtmlText(rows_[i].name), series.name, *db);
    }
    if (path.empty()) return "";
    return fmt::format("<path d=\"{}\" class=\"{}\"/>{}\n", path, series.style, points);
  }

  const std::vector<DebugActivation>& rows_;
  double low_ = 0, high_ = 50;
};

std::string Key() {
  std::string key = "<p class=\"key\">";
  for (const Series& series : kSeries) {
    key += fmt::format("<span><i class=\"{}\"></i>{}</span>", series.style, series.name);
  }
  return key + "</p>\n";
}

// What the words of the chart and the tables mean.
constexpr std::string_view kLegend =
    "<p class=\"soft\">Signal to noise in decibels, more is better; below 20 red, below 40 yellow. "
    "<b>local</b>: what its own quantizer rounds away. <b>cumulative</b>: the difference from the "
    "float model at this place. <b>alone</b>: what the operator does with the float model's "
    "inputs. <b>drop</b>: what is lost behind the worst of its inputs. An <b>originator</b> is to "
    "blame; an <b>amplifier</b> makes it worse; an <b>inheritor</b> passes it on.</p>\n";

// --- tables

void Table(std::string& page, const char* title, std::string_view columns,
           const std::vector<std::string>& rows) {
  if (rows.empty()) return;
  page += fmt::format("<section class=\"card\"><h2>{}</h2>\n<table><thead><tr>", title);
  while (!columns.empty()) {
    const size_t end = std::min(columns.find('|'), columns.size());
    const bool number = columns.starts_with('>');
    page += fmt::format("<th{}>{}</th>", number ? " class=\"n\"" : "",
                        columns.substr(number, end - number));
    columns.remove_prefix(std::min(end + 1, columns.size()));
  }
  page += "</tr></thead><tbody>\n";
  for (const std::string& row : rows) page += "<tr>" + row + "</tr>\n";
  page += "</tbody></table></section>\n";
}

std::vector<std::string> OutputRows(const DebugReport& report) {
  std::vector<std::string> rows;
  for (const DebugOutput& o : report.outputs) rows.push_back(Cell(o.name) + Cell(o.cumulative));
  return rows;
}

std::string Kind(const std::string& kind) {
  const char* const style = kind == "originator" ? "bad" : kind == "amplifier" ? "fair" : "";
  return fmt::format("<td class=\"{}\">{}</td>", style, HtmlText(kind));
}

std::vector<std::string> ActivationRows(const DebugReport& report) {
  std::vector<std::string> rows;
  for (const DebugActivation& a : report.activations) {
    rows.push_back(Cell(a.name) + Cell(a.op) + Cell(a.local) + Cell(a.cumulative) +
                   Cell(a.isolated) + Cell(a.drop_db) + Cell(a.saturation_percent) + Kind(a.kind) +
                   Cell(a.absorbed));
  }
  return rows;
}

std::vector<std::string> WeightRows(const DebugReport& report) {
  std::vector<std::string> rows;
  for (const DebugWeight& w : report.weights) {
    rows.push_back(Cell(w.folded ? w.name + " (folded)" : w.name) + Cell(w.type) + Cell(w.sqnr) +
                   Decibels(w.sqnr.min_channel) + Decibels(w.sqnr.median_channel) +
                   fmt::format("<td class=\"n\">{}</td>", w.sqnr.zeroed_channels));
  }
  return rows;
}

std::vector<std::string> SuggestionRows(const DebugReport& report) {
  std::vector<std::string> rows;
  for (const DebugSuggestion& s : report.suggestions) {
    std::string nodes;
    for (const std::string& node : s.nodes) nodes += (nodes.empty() ? "" : ", ") + node;
    rows.push_back(Cell(s.name) + Cell(nodes) +
                   (s.gained.lossless ? "<td class=\"n\">all</td>" : Cell(s.gained.db)));
  }
  return rows;
}

}  // namespace

std::string DebugReport::Html() const {
  std::string page = fmt::format(
      "<main>\n<div><h1>Where the quantized model loses precision</h1>\n"
      "<p class=\"soft\">{} of {}; {}; {}</p>\n",
      Plural(num_samples, "sample"), HtmlText(samples), HtmlText(evaluator), Matched());
  for (const std::string& note : notes) {
    page += fmt::format("<p class=\"soft\">{}</p>\n", HtmlText(note));
  }
  page += "</div>\n<section class=\"card\">" + Key() + Chart(activations).Svg();
  page += fmt::format("{}</section>\n", kLegend);
  Table(page, "Outputs", "output|>SQNR (dB)", OutputRows(*this));
  Table(page, "What to leave in float", "value|nodes|>gained (dB)", SuggestionRows(*this));
  Table(page, "Activations",
        "value|operator|>local|>cumulative|>alone|>drop|>saturated %|class|absorbed",
        ActivationRows(*this));
  Table(page, "Weights", "weight|type|>SQNR (dB)|>worst channel|>median channel|>zeroed channels",
        WeightRows(*this));
  return HtmlPage({.title = "qrewrite debug",
                   .styles = {"base.css", "debug.css"},
                   .scripts = {},
                   .body = page + "</main>\n"});
}

}  // namespace qrewrite
