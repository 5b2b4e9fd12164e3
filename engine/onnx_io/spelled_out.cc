#include "engine/onnx_io/spelled_out.h"

#include <algorithm>
#include <exception>
#include <limits>
#include <set>
#include <variant>

#include <onnx/defs/schema.h>

#include "engine/onnx_io/attribute_proto.h"
#include "engine/onnx_io/schemas.h"

namespace qrewrite {
namespace {

constexpr int kIrVersion = 10;  // local functions are of version 8 and later

void FillType(const TypeInfo& type, onnx::TypeProto* proto) {
  auto* const tensor = proto->mutable_tensor_type();
  tensor->set_elem_type(static_cast<int32_t>(type.dtype));
  for (const Dim dim : type.dims) tensor->mutable_shape()->add_dim()->set_dim_value(dim.size());
  if (type.dims.empty()) tensor->mutable_shape();
}

bool FillNode(const CalledOperator& call, const onnx::OpSchema& schema, onnx::NodeProto* node) {
  node->set_op_type(call.op);
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    node->add_input(call.inputs[i] ? "i" + std::to_string(i) : "");
  }
  for (size_t i = 0; i < call.outputs.size(); ++i) {
    node->add_output(call.outputs[i] ? "o" + std::to_string(i) : "");
  }
  for (const Attribute& a : call.attributes) {
    const auto* tensor = std::get_if<Tensor>(&a.value);
    const bool told = !std::holds_alternative<BodyId>(a.value) &&
                      !std::holds_alternative<std::vector<BodyId>>(a.value) &&
                      (tensor == nullptr || !tensor->is_lazy());
    if (!told) return false;
    FillAttribute(a.name, a.value, std::numeric_limits<int64_t>::max(), node->add_attribute());
  }
  // Functions refer to attributes of the call, which has all of them.
  for (const auto& [name, formal] : schema.attributes()) {
    if (formal.default_value.name().empty() || call.attributes.Find(name) != nullptr) continue;
    *node->add_attribute() = formal.default_value;
  }
  return true;
}

// Functions leave out what nobody asks for. False: another output than the last ones.
bool DropOutputs(onnx::FunctionProto* function) {
  std::set<std::string> made(function->input().begin(), function->input().end());
  for (const onnx::NodeProto& node : function->node()) {
    made.insert(node.output().begin(), node.output().end());
  }
  auto* const outputs = function->mutable_output();
  while (!outputs->empty() && !made.contains(*outputs->rbegin())) outputs->RemoveLast();
  return std::ranges::all_of(*outputs, [&](const std::string& o) { return made.contains(o); });
}

// False: the library has no function for the call.
bool FillFunction(const CalledOperator& call, const onnx::OpSchema& schema,
                  const onnx::NodeProto& node, onnx::FunctionProto* function) {
  const auto opset = static_cast<int>(call.opset);
  if (schema.HasContextDependentFunction()) {
    std::vector<onnx::TypeProto> types(call.inputs.size());
    for (size_t i = 0; i < types.size(); ++i) {
      if (call.inputs[i]) FillType(*call.inputs[i], &types[i]);
    }
    const onnx::FunctionBodyBuildContextImpl context(node, types);
    if (!schema.BuildContextDependentFunction(context, *function, opset)) return false;
  } else {
    const onnx::FunctionProto* const known = schema.GetFunction(opset);
    if (known == nullptr) return false;
    *function = *known;
  }
  function->set_domain("");
  function->set_name(call.op);
  return function->node_size() > 0 && DropOutputs(function);
}

}  // namespace

std::optional<std::string> SpelledOut(const CalledOperator& call) {
  const onnx::OpSchema* const schema = FindSchema("", call.op, call.opset);
  if (schema == nullptr) return std::nullopt;
  onnx::ModelProto model;
  model.set_ir_version(kIrVersion);
  auto* const import = model.add_opset_import();
  import->set_domain("");
  import->set_version(call.opset);
  onnx::GraphProto* const graph = model.mutable_graph();
  graph->set_name(call.op);
  if (!FillNode(call, *schema, graph->add_node())) return std::nullopt;
  try {
    if (!FillFunction(call, *schema, graph->node(0), model.add_functions())) return std::nullopt;
  } catch (const std::exception&) {  // what the library says of a call that makes no sense
    return std::nullopt;
  }
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    if (!call.inputs[i]) continue;
    onnx::ValueInfoProto* const input = graph->add_input();
    input->set_name("i" + std::to_string(i));
    FillType(*call.inputs[i], input->mutable_type());
  }
  for (size_t i = 0; i < call.outputs.size(); ++i) {
    if (call.outputs[i]) graph->add_output()->set_name("o" + std::to_string(i));
  }
  return model.SerializeAsString();
}

}  // namespace qrewrite
