// ModelProto in and out, for converters that have the onnx library.
//
// Works with any generated class of ONNX's ModelProto, of whatever protobuf version: only templates
// over its serialized form, so that this library shows no protobuf types.
//
//   onnx::ModelProto proto = ...;
//   auto model = qrewrite::FromProto(proto);
//   auto report = qrewrite::Rewrite(*model, *rules);
//   auto status = qrewrite::ToProto(*model, &proto);
#pragma once

#include <string>
#include <utility>

#include "qrewrite/model.h"

namespace qrewrite {

// External data is looked for in `folder`. kLimit: the message passes protobuf's 2 GB.
template <class ModelProto>
Result<Model> FromProto(const ModelProto& proto, const std::string& folder = "") {
  std::string bytes;
  if (!proto.SerializeToString(&bytes)) {
    return Status(StatusCode::kLimit, "the ModelProto cannot be serialized: beyond 2 GB?");
  }
  return Model::Parse(std::move(bytes), folder);
}

template <class ModelProto>
Status ToProto(const Model& model, ModelProto* proto) {
  QR_ASSIGN_OR_RETURN(const std::string bytes, model.Serialize());
  if (!proto->ParseFromString(bytes)) {
    return Status(StatusCode::kInvalidModel, "this ModelProto class cannot parse the model");
  }
  return Status();
}

}  // namespace qrewrite
