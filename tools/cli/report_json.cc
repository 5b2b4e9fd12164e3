#include "tools/cli/report_json.h"

#include <nlohmann/json.hpp>

#include "qrewrite/version.h"
#include "tools/cli/exit_codes.h"

namespace qrewrite::cli {
namespace {

using Json = nlohmann::ordered_json;

// Names may be any bytes.
std::string Dump(const Json& json) {
  return json.dump(2, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace) + "\n";
}

const char* Word(StatusCode code) {
  switch (code) {
    case StatusCode::kOk: return "ok";
    case StatusCode::kUsage: return "usage";
    case StatusCode::kIo: return "io";
    case StatusCode::kInvalidModel: return "invalid_model";
    case StatusCode::kInvalidRules: return "invalid_rules";
    case StatusCode::kRefused: return "refused";
    case StatusCode::kLimit: return "limit";
    case StatusCode::kUnsupported: return "unsupported";
    case StatusCode::kCancelled: return "cancelled";
    case StatusCode::kCallback: return "callback";
  }
  return "unknown";
}

Json DiagnosticJson(const Diagnostic& diagnostic) {
  Json json = Json::object();
  if (!diagnostic.code.empty()) json["code"] = diagnostic.code;
  json["message"] = diagnostic.message;
  if (!diagnostic.hint.empty()) json["hint"] = diagnostic.hint;
  if (!diagnostic.notes.empty()) json["notes"] = diagnostic.notes;
  if (!diagnostic.span.file.empty()) {
    json["file"] = diagnostic.span.file;
    json["line"] = diagnostic.span.line;
    json["column"] = diagnostic.span.column;
  }
  return json;
}

}  // namespace

std::string ReportJson(const Report& report, const std::string& input, const std::string& output,
                       const std::vector<std::string>& files) {
  Json json = Json::parse(report.Json());
  json["input"] = input;
  if (!output.empty()) json["output"] = output;
  json["files"] = files;
  return Dump(json);
}

std::string ErrorJson(const Status& status, const std::string& input) {
  Json json = Json::object();
  json["qrewrite"] = std::string(Version());
  json["input"] = input;
  json["error"] = Word(status.code());
  json["exit_code"] = static_cast<int>(ExitCodeOf(status.code()));
  json["errors"] = Json::array();
  for (const Diagnostic& diagnostic : status.diagnostics()) {
    json["errors"].push_back(DiagnosticJson(diagnostic));
  }
  return Dump(json);
}

}  // namespace qrewrite::cli
