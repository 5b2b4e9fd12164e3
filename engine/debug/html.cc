// The report as a page that needs nothing else: one picture of the errors along the graph, and tables.
#include <algorithm>
#include <cmath>
#include <iterator>

#include <fmt/format.h>

#include "qrewrite/debug.h"

namespace qrewrite {
namespace {

constexpr const char* kHead = R"(<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>qrewrite debug</title>
<style>
body{font:14px/1.45 system-ui,sans-serif;margin:2em auto;max-width:1080px;padding:0 1em;color:#1b1f24;background:#fff}
h1{font-size:1.4em}h2{font-size:1.1em;margin-top:2em}table{border-collapse:collapse;width:100%}
th,td{text-align:left;padding:3px 8px;border-bottom:1px solid #e3e6ea;vertical-align:top}
th{background:#f5f6f8}td.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
.bad{color:#b42318}.fair{color:#9a6700}.good{color:#1a7f37}.none{color:#8b949e}
code{font-size:.92em;word-break:break-all}svg{width:100%;height:auto}svg text{font:11px system-ui,sans-serif;fill:#57606a}
.key span{margin-right:1.5em}.key i{display:inline-block;width:1.4em;height:3px;vertical-align:middle;margin-right:.4em}
</style></head><body>
)";

// What a browser shows as this text; control characters and the like are spelt by a replacement sign.
std::string Escaped(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    switch (c) {
      case '&': escaped += "&amp;"; break;
      case '<': escaped += "&lt;"; break;
      case '>': escaped += "&gt;"; break;
      case '"': escaped += "&quot;"; break;
      default:
        if (byte < 0x20 || byte == 0x7f) {
          escaped += "&#xfffd;";
        } else {
          escaped += c;
        }
    }
  }
  return escaped;
}

const char* ClassOf(const std::optional<double>& db) {
  if (!db) return "none";
  return *db < 20 ? "bad" : *db < 40 ? "fair" : "good";
}

std::string Cell(const Sqnr& sqnr) {
  const std::string text =
      sqnr.db ? fmt::format("{:.1f}", *sqnr.db) : std::string(Name(sqnr.status));
  return fmt::format("<td class=\"n {}\">{}</td>", ClassOf(sqnr.db), text);
}
std::string Cell(const std::optional<double>& db) {
  if (!db) return "<td class=\"n none\"></td>";
  return fmt::format("<td class=\"n\">{:.1f}</td>", *db);
}
std::string Cell(std::string_view text) { return fmt::format("<td>{}</td>", Escaped(text)); }

// --- the picture

struct Series {
  const char* name;
  const char* colour;
  const Sqnr DebugActivation::*value;
};
constexpr Series kSeries[] = {{"local", "#2563eb", &DebugActivation::local},
                              {"cumulative", "#c2410c", &DebugActivation::cumulative},
                              {"operator alone", "#15803d", &DebugActivation::isolated}};

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
          "<line x1=\"{0}\" x2=\"{1}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\" stroke=\"#e3e6ea\"/>"
          "<text x=\"4\" y=\"{3:.1f}\">{4:.0f} dB</text>\n",
          kLeft, kWidth - kRight, Y(db), Y(db) + 4, db);
    }
    for (const Series& series : kSeries) svg += Line(series);
    return svg +
           fmt::format("<text x=\"{}\" y=\"{}\">quantized values, producers first</text></svg>\n",
                       kLeft, kHeight - 6);
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
          "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" fill=\"{}\"><title>{}: {} {:.1f} "
          "dB</title></circle>",
          X(i), Y(*db), series.colour, Escaped(rows_[i].name), series.name, *db);
    }
    if (path.empty()) return "";
    return fmt::format("<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.5\"/>{}\n",
                       path, series.colour, points);
  }

  const std::vector<DebugActivation>& rows_;
  double low_ = 0, high_ = 50;
};

std::string Key() {
  std::string key = "<p class=\"key\">";
  for (const Series& series : kSeries) {
    key +=
        fmt::format("<span><i style=\"background:{}\"></i>{}</span>", series.colour, series.name);
  }
  return key + "</p>\n";
}

// --- tables

void Table(std::string& page, const char* title, std::string_view columns,
           const std::vector<std::string>& rows) {
  if (rows.empty()) return;
  page += fmt::format("<h2>{}</h2>\n<table><thead><tr>", title);
  while (!columns.empty()) {
    const size_t end = std::min(columns.find('|'), columns.size());
    page += fmt::format("<th>{}</th>", columns.substr(0, end));
    columns.remove_prefix(std::min(end + 1, columns.size()));
  }
  page += "</tr></thead><tbody>\n";
  for (const std::string& row : rows) page += "<tr>" + row + "</tr>\n";
  page += "</tbody></table>\n";
}

std::vector<std::string> OutputRows(const DebugReport& report) {
  std::vector<std::string> rows;
  for (const DebugOutput& o : report.outputs) rows.push_back(Cell(o.name) + Cell(o.cumulative));
  return rows;
}

std::vector<std::string> ActivationRows(const DebugReport& report) {
  std::vector<std::string> rows;
  for (const DebugActivation& a : report.activations) {
    rows.push_back(Cell(a.name) + Cell(a.op) + Cell(a.local) + Cell(a.cumulative) +
                   Cell(a.isolated) + Cell(a.drop_db) + Cell(a.saturation_percent) + Cell(a.kind) +
                   Cell(a.absorbed));
  }
  return rows;
}

std::vector<std::string> WeightRows(const DebugReport& report) {
  std::vector<std::string> rows;
  for (const DebugWeight& w : report.weights) {
    rows.push_back(Cell(w.name) + Cell(w.type) + Cell(w.sqnr) + Cell(w.sqnr.min_channel) +
                   Cell(w.sqnr.median_channel) +
                   Cell(std::string_view(std::to_string(w.sqnr.zeroed_channels))));
  }
  return rows;
}

std::vector<std::string> SuggestionRows(const DebugReport& report) {
  std::vector<std::string> rows;
  for (const DebugSuggestion& s : report.suggestions) {
    std::string nodes;
    for (const std::string& node : s.nodes) nodes += (nodes.empty() ? "" : ", ") + node;
    rows.push_back(Cell(s.name) + Cell(nodes) + Cell(s.gained_db));
  }
  return rows;
}

}  // namespace

std::string DebugReport::Html() const {
  std::string page = kHead;
  page += fmt::format(
      "<h1>Where the quantized model loses precision</h1>\n<p>{} samples of {}; {}</p>\n",
      num_samples, Escaped(samples), Escaped(evaluator));
  for (const std::string& note : notes) page += fmt::format("<p>{}</p>\n", Escaped(note));
  page += Key() + Chart(activations).Svg();
  Table(page, "Outputs", "output|SQNR (dB)", OutputRows(*this));
  Table(page, "What to leave in float", "value|nodes|gained (dB)", SuggestionRows(*this));
  Table(page, "Activations",
        "value|operator|local|cumulative|alone|drop|saturated %|class|absorbed",
        ActivationRows(*this));
  Table(page, "Weights", "weight|type|SQNR (dB)|worst channel|median channel|zeroed channels",
        WeightRows(*this));
  return page + "</body></html>\n";
}

}  // namespace qrewrite
