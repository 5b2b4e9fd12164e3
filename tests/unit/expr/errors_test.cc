// Messages, whole: place, code, what was expected, hint.
#include <doctest/doctest.h>

#include <set>

#include "tests/unit/expr/parse_support.h"

namespace qrewrite {
namespace {

const Fault kFaults[] = {
#include "tests/unit/expr/errors.inc"
};

TEST_CASE("Errors: what is said about faulty texts") {
  for (const Fault& fault : kFaults) {
    DiagnosticSink sink;
    ParseAndPrint(fault.kind, fault.text, sink);
    CHECK_EQ(Rendered(sink), Trimmed(fault.messages));
  }
}

TEST_CASE("Errors: every code has an example") {
  std::set<std::string> codes;
  for (const Fault& fault : kFaults) {
    DiagnosticSink sink;
    ParseAndPrint(fault.kind, fault.text, sink);
    for (const Diagnostic& d : sink.diagnostics()) codes.insert(d.code);
  }
  for (int number = 201; number <= 221; ++number) {
    if (number == 215) continue;  // below
    CHECK_MESSAGE(codes.contains(fmt::format("QR0{}", number)), number);
  }
}

std::string FirstMessage(Kind kind, const std::string& text) {
  DiagnosticSink sink;
  ParseAndPrint(kind, text, sink);
  if (sink.diagnostics().empty()) return "";
  return sink.diagnostics()[0].code + " " + sink.diagnostics()[0].message;
}

TEST_CASE("Errors: depth is bounded, length is not") {
  const auto repeat = [](std::string_view text, int count) {
    std::string out;
    for (int i = 0; i < count; ++i) out += text;
    return out;
  };
  const std::string deep = "QR0215 nested too deeply";
  CHECK_EQ(FirstMessage(Kind::kExpr, repeat("(", 100000)), deep);
  CHECK_EQ(FirstMessage(Kind::kExpr, repeat("[", 100000)), deep);
  CHECK_EQ(FirstMessage(Kind::kExpr, repeat("f(", 100000)), deep);
  CHECK_EQ(FirstMessage(Kind::kExpr, repeat("F<a=", 100000)), deep);
  CHECK_EQ(FirstMessage(Kind::kExpr, repeat("not ", 100000)), deep);
  CHECK_EQ(FirstMessage(Kind::kExpr, repeat("-", 100000)), deep);
  CHECK_EQ(FirstMessage(Kind::kExpr, repeat("a ** ", 100000)), deep);
  CHECK_EQ(FirstMessage(Kind::kExpr, repeat("a ?? ", 100000)), deep);
  CHECK_EQ(FirstMessage(Kind::kExpr, repeat("a if b else ", 50000)), deep);
  CHECK_EQ(FirstMessage(Kind::kGraph, repeat("y = If<t={", 100000)), deep);
  const std::string many = "QR0215 too many operators in one statement";
  CHECK_EQ(FirstMessage(Kind::kExpr, repeat("a + ", 100000) + "a"), many);
  CHECK_EQ(FirstMessage(Kind::kExpr, "a" + repeat(".b", 100000)), many);
  CHECK_EQ(FirstMessage(Kind::kExpr, "[" + repeat("1, ", 100000) + "1]"), "");
  CHECK_EQ(FirstMessage(Kind::kBody, repeat("y = F(x)\n", 20000)), "");
  CHECK_EQ(FirstMessage(Kind::kExpr, repeat("(", 60) + "a" + repeat(")", 60)), "");
}

}  // namespace
}  // namespace qrewrite
