// The onnx library's schemas of operators, made one by one. Its own registry makes all of them, of
// every version, when it is first asked: a third of a run on a small model.
#pragma once

#include <cstdint>
#include <string>

namespace onnx {
class OpSchema;
}

namespace qrewrite {

// The schema of an operator as version `version` of its domain has it; null if the library knows
// none. Schemas live as long as the process. Threads may ask at the same time.
const onnx::OpSchema* FindSchema(const std::string& domain, const std::string& op, int64_t version);

}  // namespace qrewrite
