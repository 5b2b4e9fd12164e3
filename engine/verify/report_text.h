// Parts that the forms of a report have in common.
#pragma once

#include <string>

#include "qrewrite/verify.h"

namespace qrewrite {

// "EXACT with tolerance exact: 5 samples, seed 0, ONNX Runtime 1.31.1"
std::string Conclusion(const VerifyReport& report);

}  // namespace qrewrite
