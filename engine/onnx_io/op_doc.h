// What the onnx library says about an operator in words, for people.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace qrewrite {

struct OperatorDoc {
  std::string text;
  std::map<std::string, std::string> inputs, outputs, attributes;  // by name
};

// Nothing if the library has no such operator at that version of the domain ("" for ai.onnx).
std::optional<OperatorDoc> FindOperatorDoc(const std::string& domain, const std::string& op,
                                           int64_t version);

}  // namespace qrewrite
