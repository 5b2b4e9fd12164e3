// What is named beside the nodes: initializers that an annotation or the training information speaks of, and operands in
// what a node says of devices.
#include <set>
#include <string>
#include <unordered_set>

#include <onnx/onnx_pb.h>

#include "engine/onnx_io/planner.h"
#include "engine/onnx_io/wire.h"

namespace qrewrite {
namespace {

using onnx::GraphProto;
using onnx::ModelProto;
using onnx::NodeDeviceConfigurationProto;
using onnx::NodeProto;
using onnx::ShardingSpecProto;
using onnx::TrainingInfoProto;
using KeyValue = onnx::StringStringEntryProto;
using Names = std::set<std::string, std::less<>>;

template <class F>
void EachMessage(std::string_view message, int number, F f) {
  WireReader fields(message);
  while (const WireField* field = fields.Next()) {
    if (field->IsBytes(number)) f(field->bytes);
  }
}

void AddInputs(std::string_view graph, Names& names) {
  EachMessage(graph, GraphProto::kNodeFieldNumber, [&](std::string_view node) {
    EachMessage(node, NodeProto::kInputFieldNumber,
                [&](std::string_view input) { names.emplace(input); });
  });
}

// What the graphs of training read, and the initializers that they are to set.
void AddTraining(std::string_view training, Names& names) {
  EachMessage(training, TrainingInfoProto::kInitializationFieldNumber,
              [&](std::string_view graph) { AddInputs(graph, names); });
  EachMessage(training, TrainingInfoProto::kAlgorithmFieldNumber,
              [&](std::string_view graph) { AddInputs(graph, names); });
  for (const int bindings : {TrainingInfoProto::kInitializationBindingFieldNumber,
                             TrainingInfoProto::kUpdateBindingFieldNumber}) {
    EachMessage(training, bindings, [&](std::string_view binding) {
      names.emplace(FindBytes(binding, KeyValue::kKeyFieldNumber));
    });
  }
}

}  // namespace

// Initializers that no node reads any more and that something else speaks of stay, unless they lie in a data file of the
// source or another value has their name now.
void Planner::FindNamed() {
  Names names;
  std::unordered_set<ValueId> annotated;  // parameters of annotations that hold
  for (const ModelField& field : source_.fields) {
    if (field.number == ModelProto::kTrainingInfoFieldNumber)
      AddTraining(ContentOf(field.field), names);
  }
  for (const BodySource& body : source_.bodies) {
    for (const AnnotationRecord& record : body.annotations) {
      if (!record.values[0].valid() || !IsPresent(record.values[0])) continue;
      for (size_t i = 1; i < record.values.size(); ++i) {
        if (record.values[i].valid() && !IsPresent(record.values[i]))
          annotated.insert(record.values[i]);
      }
    }
  }
  if (names.empty() && annotated.empty()) return;
  std::unordered_set<std::string_view> taken;
  for (size_t i = 0; i < graph_.num_values(); ++i) {
    if (graph_.alive(ValueId(i))) taken.insert(graph_.name(ValueId(i)));
  }
  for (const BodySource& body : source_.bodies) {
    for (const TensorRecord& record : body.initializers) {
      if (IsPresent(record.value) || record.external) continue;
      const std::string_view name = TensorName(ContentOf(record.field));
      const bool named = annotated.contains(record.value) || names.contains(name);
      if (named && !taken.contains(name)) named_.insert(record.value);
    }
  }
}

// As onnx_ir does it: a way to split a value goes with the value.
std::string Planner::Devices(NodeId n, std::string_view original) const {
  const auto has = [&](std::string_view name) {
    for (size_t i = 0; i < graph_.num_inputs(n); ++i) {
      if (graph_.input(n, i).valid() && graph_.name(graph_.input(n, i)) == name) return true;
    }
    for (size_t i = 0; i < graph_.num_outputs(n); ++i) {
      if (graph_.output(n, i).valid() && graph_.name(graph_.output(n, i)) == name) return true;
    }
    return false;
  };
  std::string text;
  EachMessage(original, NodeProto::kDeviceConfigurationsFieldNumber, [&](std::string_view devices) {
    std::string kept;
    WireReader fields(devices);
    while (const WireField* f = fields.Next()) {
      const bool of_value = f->IsBytes(NodeDeviceConfigurationProto::kShardingSpecFieldNumber);
      if (!of_value || has(FindBytes(f->bytes, ShardingSpecProto::kTensorNameFieldNumber)))
        kept += f->whole;
    }
    PutBytes(text, NodeProto::kDeviceConfigurationsFieldNumber, kept);
  });
  return text;
}

}  // namespace qrewrite
