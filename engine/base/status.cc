#include "qrewrite/status.h"

namespace qrewrite {

struct Status::Failure {
  StatusCode code;
  std::vector<Diagnostic> diagnostics;
};

Status::Status(StatusCode code, std::string message)
    : Status(code, std::vector{Diagnostic{.message = std::move(message)}}) {}

Status::Status(StatusCode code, std::vector<Diagnostic> diagnostics)
    : failure_(code == StatusCode::kOk ? nullptr : new Failure{code, std::move(diagnostics)}) {}

void Status::Free::operator()(const Failure* failure) const noexcept { delete failure; }

const Status::Failure* Status::Clone(const Failure& failure) { return new Failure(failure); }

StatusCode Status::CodeOf(const Failure& failure) { return failure.code; }

const std::vector<Diagnostic>& Status::diagnostics() const {
  static const std::vector<Diagnostic> kNone;
  return ok() ? kNone : failure_->diagnostics;
}

std::string Status::message() const {
  std::string out;
  for (const Diagnostic& d : diagnostics()) {
    if (!out.empty()) out += '\n';
    out += Render(d);
  }
  return out;
}

}  // namespace qrewrite
