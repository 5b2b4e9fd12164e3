#include "engine/base/callback.h"

#include <exception>
#include <new>

#include <fmt/format.h>

#include "engine/base/diagnostics.h"

namespace qrewrite {
namespace {

// What an exception says is no name in quotes: its own quotes stay as they are.
std::string Said(std::string_view why) {
  std::string out;
  const std::string printable = Printable(why, 1000);
  for (size_t i = 0; i < printable.size(); ++i) {
    const bool escaped = printable[i] == '\\' && i + 1 < printable.size() &&
                         (printable[i + 1] == '`' || printable[i + 1] == '\\');
    if (escaped) ++i;
    out += printable[i];
  }
  return out;
}

}  // namespace

Status ThrownStatus(std::string_view what) {
  const auto because = [&](std::string_view why) {
    return Status(StatusCode::kCallback, fmt::format("{} threw an exception{}{}", what,
                                                     why.empty() ? "" : ": ", Said(why)));
  };
  try {
    throw;
  } catch (const std::exception& e) {
    return because(e.what());
  } catch (...) {
    return because("");
  }
}

}  // namespace qrewrite
