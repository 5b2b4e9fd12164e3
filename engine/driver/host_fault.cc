#include "engine/driver/host_fault.h"

#include <fmt/format.h>

#include "engine/base/callback.h"
#include "engine/graph/node_text.h"

namespace qrewrite {

Status HostFault(const Interpreter& in, const Rule& rule, NodeId n) {
  if (in.host_fault().ok()) return {};
  return WithNote(in.host_fault(),
                  fmt::format("rule `{}` at {}", rule.name, NodeText(in.graph(), n)));
}

}  // namespace qrewrite
