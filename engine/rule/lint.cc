#include "engine/rule/loader.h"

namespace qrewrite {

std::vector<Diagnostic> Lint(const RuleSet&) { return {}; }

}  // namespace qrewrite
