#include "tools/cli/report_json.h"

#include <nlohmann/json.hpp>

#include "engine/base/status_names.h"
#include "qrewrite/version.h"
#include "tools/cli/exit_codes.h"
#include "tools/cli/terminal.h"

namespace qrewrite::cli {
namespace {

using Json = nlohmann::ordered_json;

// Names may be any bytes.
std::string Dump(const Json& json) {
  return json.dump(2, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace) + "\n";
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

std::string ErrorJson(const Status& status, const std::string& input) {
  Json json = Json::object();
  json["qrewrite"] = std::string(Version());
  json["input"] = input;
  json["error"] = Name(status.code());
  json["exit_code"] = static_cast<int>(ExitCodeOf(status.code()));
  json["errors"] = Json::array();
  for (const Diagnostic& diagnostic : status.diagnostics()) {
    json["errors"].push_back(DiagnosticJson(diagnostic));
  }
  return Dump(json);
}

}  // namespace

std::string ReportJson(const Report& report, const std::string& input, const std::string& output,
                       const std::vector<std::string>& files, const std::string& verify) {
  Json json = Json::parse(report.Json());
  json["input"] = input;
  if (!output.empty()) json["output"] = output;
  json["files"] = files;
  if (!verify.empty()) json["verify"] = Json::parse(verify);
  return Dump(json);
}

int FailAs(bool json, const Status& status, const std::string& input) {
  if (json) Print(ErrorJson(status, input));
  return Fail(status);
}

}  // namespace qrewrite::cli
