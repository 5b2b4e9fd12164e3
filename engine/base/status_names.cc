#include "engine/base/status_names.h"

namespace qrewrite {

std::string_view Name(StatusCode code) {
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
  return "";
}

std::string_view Name(Severity severity) {
  switch (severity) {
    case Severity::kError: return "error";
    case Severity::kWarning: return "warning";
    case Severity::kNote: return "note";
  }
  return "";
}

}  // namespace qrewrite
