// What the tests of engine/expr share: kinds of texts, parsing by kind, trees as s-expressions.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "engine/expr/parser.h"

namespace qrewrite {

enum class Kind { kBody, kCase, kExpr, kGraph, kHead };

struct Text {
  Kind kind;
  std::string_view text;
};

struct Fault {
  Kind kind;
  std::string_view text, messages;
};

// Texts of the corpus begin with a newline if they have several lines.
inline std::string_view Trimmed(std::string_view text) {
  while (text.starts_with('\n')) text.remove_prefix(1);
  while (text.ends_with('\n')) text.remove_suffix(1);
  return text;
}

// Parses and prints; heads of definitions print nothing.
inline std::string ParseAndPrint(Kind kind, std::string_view text, DiagnosticSink& sink) {
  const SourceText source("t", std::string(text));
  const Snippet snippet = WholeText(source);
  switch (kind) {
    case Kind::kBody: return Print(ParseBody(snippet, sink));
    case Kind::kGraph: return Print(ParseGraphText(snippet, sink));
    case Kind::kCase: return Print(ParseCaseLine(snippet, sink));
    case Kind::kHead: ParseDefinitionHead(snippet, sink); return "";
    case Kind::kExpr: {
      const ExprPtr expr = ParseExpr(snippet, sink);
      return expr ? Print(*expr) : "";
    }
  }
  return "";
}

// All messages, a newline between them.
inline std::string Rendered(const DiagnosticSink& sink) {
  std::string out;
  for (const Diagnostic& d : sink.diagnostics()) out += (out.empty() ? "" : "\n") + Render(d);
  return out;
}

}  // namespace qrewrite
