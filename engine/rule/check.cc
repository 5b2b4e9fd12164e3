#include "engine/rule/check.h"

namespace qrewrite {

bool IsPrivateDomain(std::string_view domain) {
  return domain == "qr" || domain.starts_with("qr.");
}

void CheckRuleSet(const CheckInput&, DiagnosticSink&) {}

}  // namespace qrewrite
