// Models for the tests of onnx_io: written in ONNX's own text form, changed as message objects.
#pragma once

#include <doctest/doctest.h>
#include <onnx/defs/parser.h>
#include <onnx/onnx_pb.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/onnx_io/model_file.h"
#include "tests/support/temp_folder.h"

namespace qrewrite {

inline onnx::ModelProto ModelOf(const std::string& text) {
  onnx::ModelProto model;
  const auto status = onnx::OnnxParser::Parse(model, text.c_str());
  REQUIRE_MESSAGE(status.IsOK(), status.ErrorMessage());
  return model;
}

// `graph` is the text of a graph: "g (float[N] x) => (float[N] y) { y = Relu(x) }".
inline onnx::ModelProto GraphModel(const std::string& graph) {
  return ModelOf("<ir_version: 8, opset_import: [\"\" : 17]>\n" + graph);
}

inline Result<std::unique_ptr<ModelFile>> TryParse(const std::string& bytes,
                                                   const std::string& folder = "") {
  const auto owner = std::make_shared<const std::string>(bytes);
  return ModelFile::Parse({*owner, owner}, {.external_folder = folder, .external_data = nullptr});
}

inline std::unique_ptr<ModelFile> Parse(const onnx::ModelProto& model) {
  auto file = TryParse(model.SerializeAsString());
  REQUIRE_MESSAGE(file.ok(), file.status().message());
  return *std::move(file);
}

// What reading this model says; "" if it can be read.
inline std::string Fault(const std::string& bytes) {
  const auto file = TryParse(bytes);
  return file.ok() ? "" : file.status().message();
}
inline std::string Fault(const onnx::ModelProto& model) { return Fault(model.SerializeAsString()); }

inline bool Contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

inline onnx::ModelProto Written(ModelFile& file) {
  const auto bytes = file.Serialize();
  REQUIRE_MESSAGE(bytes.ok(), bytes.status().message());
  onnx::ModelProto model;
  REQUIRE(model.ParseFromString(*bytes));
  return model;
}

// The value with this name in any body.
inline ValueId ValueNamed(const Graph& graph, std::string_view name) {
  for (size_t i = 0; i < graph.num_values(); ++i) {
    if (graph.alive(ValueId(i)) && graph.name(ValueId(i)) == name) return ValueId(i);
  }
  return ValueId();
}

inline NodeId NodeOf(const Graph& graph, std::string_view output) {
  return graph.producer(ValueNamed(graph, output));
}

inline onnx::TensorProto* AddTensor(onnx::ModelProto& model, const std::string& name, int dtype,
                                    const std::vector<int64_t>& dims, const std::string& raw) {
  onnx::TensorProto* tensor = model.mutable_graph()->add_initializer();
  tensor->set_name(name);
  tensor->set_data_type(dtype);
  for (const int64_t dim : dims) tensor->add_dims(dim);
  tensor->set_raw_data(raw);
  return tensor;
}

// Moves the data of a tensor to `location`.
inline void MakeExternal(onnx::TensorProto* tensor, const std::string& location, uint64_t offset,
                         uint64_t length) {
  const auto add = [tensor](const std::string& key, const std::string& value) {
    auto* entry = tensor->add_external_data();
    entry->set_key(key);
    entry->set_value(value);
  };
  tensor->clear_raw_data();
  tensor->set_data_location(onnx::TensorProto::EXTERNAL);
  add("location", location);
  add("offset", std::to_string(offset));
  add("length", std::to_string(length));
}

}  // namespace qrewrite
