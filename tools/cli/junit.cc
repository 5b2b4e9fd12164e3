#include "tools/cli/junit.h"

#include <algorithm>

#include <fmt/format.h>

namespace qrewrite::cli {
namespace {

// Text and attribute values; control characters have no place in XML.
std::string Escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      default:
        if (static_cast<unsigned char>(c) >= 0x20 || c == '\n' || c == '\t') out += c;
    }
  }
  return out;
}

}  // namespace

std::string JUnitXml(const std::vector<std::pair<std::string, std::vector<TestResult>>>& suites) {
  std::string xml = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n";
  for (const auto& [name, results] : suites) {
    const auto failures = std::ranges::count(results, false, &TestResult::passed);
    xml += fmt::format("  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\">\n", Escaped(name),
                       results.size(), failures);
    for (const TestResult& r : results) {
      const std::string owner = r.rule.empty() ? name : name + "." + r.rule;
      xml += fmt::format("    <testcase classname=\"{}\" name=\"{}\" file=\"{}\" line=\"{}\"",
                         Escaped(owner), Escaped(r.test), Escaped(r.file), r.line);
      if (r.passed) {
        xml += "/>\n";
        continue;
      }
      const std::string first = r.message.substr(0, r.message.find('\n'));
      xml += fmt::format(">\n      <failure message=\"{}\">{}</failure>\n    </testcase>\n",
                         Escaped(first), Escaped(r.message));
    }
    xml += "  </testsuite>\n";
  }
  return xml + "</testsuites>\n";
}

}  // namespace qrewrite::cli
