// The report of a verification for pages, reviews and CI systems.
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/base/diagnostics.h"
#include "engine/page/page.h"
#include "engine/verify/report_text.h"
#include "qrewrite/verify.h"

namespace qrewrite {
namespace {

constexpr const char* kColumns[] = {"output",  "verdict",    "SQNR (dB)",  "cosine",
                                    "max abs", "max rel",    "max ulp",    "unequal",
                                    "argmax",  "noise (dB)", "worst place"};

std::string DecibelCell(double db) {
  if (std::isinf(db)) return db > 0 ? "identical" : "no signal";
  return fmt::format("{:.1f}", db);
}

// One output, by kColumns. What other shapes leave without a meaning is empty.
std::vector<std::string> Cells(const OutputComparison& o) {
  std::vector<std::string> cells{Printable(o.name), std::string(Name(o.verdict))};
  cells.resize(std::size(kColumns));
  if (o.other_shape) return cells;
  if (o.not_numbers == 0) cells[2] = DecibelCell(o.sqnr_db);
  cells[3] = fmt::format("{:.6g}", o.cosine);
  cells[4] = fmt::format("{:.3g}", o.max_abs);
  cells[5] = fmt::format("{:.3g}", o.max_rel);
  if (o.max_ulp) cells[6] = fmt::format("{:.0f}", *o.max_ulp);
  cells[7] = fmt::format("{}/{}", o.unequal, o.elements);
  if (o.rows > 0) cells[8] = fmt::format("{}/{}", o.same_argmax, o.rows);
  if (o.noise_db) cells[9] = DecibelCell(*o.noise_db);
  if (o.unequal > 0)
    cells[10] = fmt::format("[{}] of sample {}: {:.9g} and {:.9g}", fmt::join(o.worst_index, ", "),
                            o.worst_sample, o.worst_a, o.worst_b);
  return cells;
}

// A cell of a table in Markdown: nothing in a name is markup.
std::string Plain(const std::string& text) {
  std::string plain;
  for (const char c : text) {
    if (std::string_view("|*_`<>[]\\#~&").find(c) != std::string_view::npos) plain += '\\';
    plain += c;
  }
  return plain;
}

const char* ClassOf(Verdict verdict) {
  if (verdict == Verdict::kDiverged) return "bad";
  return verdict == Verdict::kInconclusive ? "fair" : "good";
}

}  // namespace

std::string VerifyReport::Markdown() const {
  std::string text =
      fmt::format("**{}**\n\n| {} |\n|{}\n", Plain(Conclusion(*this)), fmt::join(kColumns, " | "),
                  "---|---|---:|---:|---:|---:|---:|---:|---:|---:|---|");
  for (const OutputComparison& o : outputs) {
    text += "|";
    for (const std::string& cell : Cells(o)) text += fmt::format(" {} |", Plain(cell));
    text += "\n";
  }
  text += "\n";
  for (const OutputComparison& o : outputs) {
    if (!o.why.empty()) text += fmt::format("- {}: {}\n", Plain(Printable(o.name)), Plain(o.why));
  }
  for (const std::string& note : notes) text += fmt::format("- {}\n", Plain(Printable(note, 1000)));
  return text;
}

std::string VerifyReport::Html() const {
  std::string page = fmt::format(
      "<main>\n<div><h1>Do two models compute the same?</h1>\n<p class=\"{}\"><b>{}</b></p>\n",
      ClassOf(verdict), HtmlText(Conclusion(*this)));
  for (const std::string& note : notes)
    page += fmt::format("<p class=\"soft\">{}</p>\n", HtmlText(note));
  page += "</div>\n<section class=\"card\"><table><thead><tr>";
  for (size_t i = 0; i < std::size(kColumns); ++i)
    page += fmt::format("<th{}>{}</th>", i >= 2 && i < 10 ? " class=\"n\"" : "", kColumns[i]);
  page += "</tr></thead><tbody>\n";
  for (const OutputComparison& o : outputs) {
    const std::vector<std::string> cells = Cells(o);
    page += "<tr>";
    for (size_t i = 0; i < cells.size(); ++i) {
      const std::string style = i == 1 ? ClassOf(o.verdict) : i >= 2 && i < 10 ? "n" : "";
      page += fmt::format("<td class=\"{}\">{}</td>", style, HtmlText(cells[i]));
    }
    page += "</tr>\n";
    if (!o.why.empty())
      page += fmt::format("<tr><td></td><td colspan=\"{}\">{}</td></tr>\n", cells.size() - 1,
                          HtmlText(o.why));
  }
  return HtmlPage({.title = "qrewrite verify",
                   .styles = {"base.css", "debug.css"},
                   .scripts = {},
                   .body = page + "</tbody></table></section>\n</main>\n"});
}

std::string VerifyReport::JUnit() const {
  size_t failures = 0, errors = 0;
  std::string cases;
  const auto text = [](const std::string& t) { return HtmlText(Printable(t, 1000)); };
  for (const OutputComparison& o : outputs) {
    cases += fmt::format("  <testcase classname=\"qrewrite.verify\" name=\"{}\">\n", text(o.name));
    failures += o.verdict == Verdict::kDiverged;
    errors += o.verdict == Verdict::kInconclusive;
    const char* const fault = o.verdict == Verdict::kDiverged       ? "failure"
                              : o.verdict == Verdict::kInconclusive ? "error"
                                                                    : nullptr;
    if (fault != nullptr)
      cases += fmt::format("    <{0} type=\"{1}\" message=\"{2}\"/>\n", fault, Name(o.verdict),
                           text(o.why));
    std::string numbers;
    const std::vector<std::string> cells = Cells(o);
    for (size_t i = 1; i < cells.size(); ++i)
      if (!cells[i].empty()) numbers += fmt::format("{}: {}\n", kColumns[i], HtmlText(cells[i]));
    cases += fmt::format("    <system-out>{}</system-out>\n  </testcase>\n", numbers);
  }
  if (outputs.empty()) {
    ++errors;
    cases =
        "  <testcase classname=\"qrewrite.verify\" name=\"outputs\">\n    <error "
        "type=\"INCONCLUSIVE\" "
        "message=\"the models have no outputs\"/>\n  </testcase>\n";
  }
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"qrewrite verify\" "
      "tests=\"{}\" "
      "failures=\"{}\" errors=\"{}\">\n{}  <system-out>{}</system-out>\n</testsuite>\n",
      std::max<size_t>(outputs.size(), 1), failures, errors, cases, text(Conclusion(*this)));
}

}  // namespace qrewrite
