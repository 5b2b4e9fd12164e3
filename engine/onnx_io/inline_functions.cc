#include "engine/onnx_io/inline_functions.h"

#include <exception>

#include <fmt/format.h>
#include <onnx/inliner/inliner.h>
#include <onnx/onnx_pb.h>

namespace qrewrite {

Result<std::string> InlineFunctions(const std::string& model) {
  onnx::ModelProto proto;
  if (!proto.ParseFromString(model)) {
    return Status(StatusCode::kInvalidModel, "the model cannot be read");
  }
  try {
    onnx::inliner::InlineLocalFunctions(proto);
  } catch (const std::exception& error) {
    return Status(StatusCode::kInvalidModel,
                  fmt::format("its functions cannot be put in place: {}", error.what()));
  }
  return proto.SerializeAsString();
}

}  // namespace qrewrite
