#include "tools/cli/trace.h"

#include <cerrno>
#include <cstring>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "engine/base/diagnostics.h"
#include "tools/cli/nodes_json.h"

namespace qrewrite::cli {
namespace {

using Json = nlohmann::ordered_json;

}  // namespace

Result<std::unique_ptr<TraceWriter>> TraceWriter::Open(const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "w");
  if (file == nullptr) {
    return Status(StatusCode::kIo, fmt::format("{} cannot be written: {}", Printable(path, 1000),
                                               std::strerror(errno)));
  }
  return std::unique_ptr<TraceWriter>(new TraceWriter(path, file));
}

Observer::Answer TraceWriter::OnPhase(const PhaseEvent& event) {
  if (!event.ends) phase_ = event.phase;
  return Answer::kContinue;
}

bool TraceWriter::WantsText(std::string_view /*rule*/) { return true; }

Observer::Answer TraceWriter::OnFiring(const FiringEvent& event) {
  Json bindings = Json::object();
  for (const BindingText& b : event.bindings) bindings[b.name] = b.text;
  // A rule that refuses or warns changes nothing and has no number.
  const Json line = {{"number", event.number > 0 ? ++number_ : 0},
                     {"set", event.set},
                     {"phase", phase_},
                     {"rule", event.rule},
                     {"file", event.file},
                     {"line", event.line},
                     {"matched", NodesJson(event.matched)},
                     {"created", NodesJson(event.created)},
                     {"bindings", std::move(bindings)},
                     {"before", event.before},
                     {"after", event.after}};
  // Names of a model may be any bytes.
  const std::string text =
      line.dump(-1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace);
  std::fwrite(text.data(), 1, text.size(), file_.get());
  std::fputc('\n', file_.get());
  return Answer::kContinue;
}

Status TraceWriter::Close() {
  const bool bad = std::ferror(file_.get()) != 0 || std::fflush(file_.get()) != 0;
  file_.reset();
  if (!bad) return {};
  return {StatusCode::kIo, fmt::format("{} cannot be written", Printable(path_, 1000))};
}

}  // namespace qrewrite::cli
