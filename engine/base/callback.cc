#include "engine/base/callback.h"

#include <exception>
#include <new>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "engine/base/terminal_text.h"

namespace qrewrite {
Status ThrownStatus(std::string_view what) {
  const auto because = [&](std::string_view why) {
    return Status(StatusCode::kCallback, fmt::format("{} threw an exception{}{}", what,
                                                     why.empty() ? "" : ": ", Said(why, 1000)));
  };
  try {
    throw;
  } catch (const std::exception& e) {
    return because(e.what());
  } catch (...) {
    return because("");
  }
}

Status WithNote(const Status& fault, std::string note) {
  std::vector<Diagnostic> diagnostics = fault.diagnostics();
  diagnostics.front().notes.push_back(std::move(note));
  return {fault.code(), std::move(diagnostics)};
}

}  // namespace qrewrite
