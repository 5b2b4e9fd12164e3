// Diagnostic: one thing that is wrong, where it is, and what to do about it.
//
// Every message a person sees about a rule file or a model is a Diagnostic. Render() gives the text
// form that the command prints:
//
//   rules/fuse.yaml:6:1: error[QR0102]: unknown key `wehre`
//    6 | wehre: rank(x) == 4
//      | ^^^^^ did you mean `where`?
#pragma once

#include <string>
#include <vector>

namespace qrewrite {

enum class Severity { kError, kWarning, kNote };

// A range on one line of a text. Lines and columns count from 1; 0 means "not known". Columns count
// UTF-8 code points. `end_column` is one past the last column.
struct SourceSpan {
  std::string file;
  int line = 0;
  int column = 0;
  int end_column = 0;
  std::string line_text;  // the source line itself, without its newline
};

struct Diagnostic {
  Severity severity = Severity::kError;
  std::string code;     // "QR0102"; docs/errors.md lists them
  SourceSpan span;      // may be empty (a fault of the model has no place in a text)
  std::string message;  // names the culprit: key, rule, node, tensor
  std::string hint;     // printed behind the caret: "did you mean `where`?"
  std::vector<std::string> notes;
};

// The text shown above, without a trailing newline. Control characters of names are escaped.
std::string Render(const Diagnostic& diagnostic);

}  // namespace qrewrite
