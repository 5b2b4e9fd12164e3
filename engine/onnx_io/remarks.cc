#include "engine/onnx_io/remarks.h"

#include <utility>

#include <fmt/format.h>

#include "engine/onnx_io/wire.h"

namespace qrewrite {
namespace {

constexpr int kMaxDepth = 100;  // of graphs in graphs

// Fields of the messages of onnx.proto.
namespace model {
constexpr int kGraph = 7, kTraining = 20, kFunction = 25;
}
namespace graph {
constexpr int kNode = 1, kInitializer = 5, kInput = 11, kOutput = 12, kValue = 13, kAnnotation = 14,
              kSparse = 15, kMetadata = 16;
}
namespace function {
constexpr int kNode = 7, kDoc = 8, kName = 1, kMetadata = 14;
}
namespace node {
constexpr int kOutput = 2, kAttribute = 5, kDoc = 6, kMetadata = 9;
}
namespace attribute {
constexpr int kGraph = 6, kGraphs = 11;
}
namespace value {
constexpr int kName = 1, kDoc = 3, kMetadata = 4;
}
namespace tensor {
constexpr int kName = 8, kDoc = 12, kMetadata = 16;
}
namespace annotation {
constexpr int kName = 1, kParameters = 2;
}
constexpr int kKey = 1, kText = 2;  // StringStringEntryProto
constexpr int kSparseValues = 1;    // SparseTensorProto

std::string Digest(std::string_view bytes) {
  uint64_t hash = 14695981039346656037u;  // FNV-1a
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return fmt::format("{} bytes, {:016x}", bytes.size(), hash);
}

// "key=text, ..." of the entries in field `number`.
std::string Entries(std::string_view message, int number) {
  std::string all;
  WireReader reader(message);
  while (const WireField* field = reader.Next()) {
    if (!field->IsBytes(number)) continue;
    all += fmt::format("{}{}={}", all.empty() ? "" : ", ", FindBytes(field->bytes, kKey),
                       FindBytes(field->bytes, kText));
  }
  return all;
}

class Collector {
 public:
  Remarks Take() { return std::move(remarks_); }

  void Model(std::string_view bytes) {
    std::string training;
    WireReader reader(bytes);
    while (const WireField* field = reader.Next()) {
      if (field->IsBytes(model::kGraph)) Graph(field->bytes, 0);
      if (field->IsBytes(model::kFunction)) Function(field->bytes);
      if (field->IsBytes(model::kTraining)) training += field->bytes;
    }
    if (!training.empty()) Add("training information", "", Digest(training));
  }

 private:
  void Add(std::string_view kind, std::string_view owner, std::string text) {
    if (!text.empty()) remarks_[{std::string(kind), std::string(owner)}] = std::move(text);
  }

  void Function(std::string_view bytes) {
    const std::string_view name = FindBytes(bytes, function::kName);
    Add("function doc string", name, std::string(FindBytes(bytes, function::kDoc)));
    Add("function metadata", name, Entries(bytes, function::kMetadata));
    WireReader reader(bytes);
    while (const WireField* field = reader.Next()) {
      if (field->IsBytes(function::kNode)) Node(field->bytes, 0);
    }
  }

  void Graph(std::string_view bytes, int depth) {
    if (depth > kMaxDepth) return;
    WireReader reader(bytes);
    while (const WireField* field = reader.Next()) {
      if (field->type != WireType::kBytes) continue;
      switch (field->number) {
        case graph::kNode: Node(field->bytes, depth); break;
        case graph::kInput:
        case graph::kOutput:
        case graph::kValue:
          Of("value", field->bytes, value::kName, value::kDoc, value::kMetadata);
          break;
        case graph::kInitializer:
          Of("initializer", field->bytes, tensor::kName, tensor::kDoc, tensor::kMetadata);
          break;
        case graph::kAnnotation:
          Add("quantization annotation", FindBytes(field->bytes, annotation::kName),
              Entries(field->bytes, annotation::kParameters));
          break;
        case graph::kSparse:
          Add("sparse initializer",
              FindBytes(FindBytes(field->bytes, kSparseValues), tensor::kName),
              Digest(field->bytes));
          break;
        default: break;
      }
    }
    if (depth == 0) Add("graph metadata", "", Entries(bytes, graph::kMetadata));
  }

  void Of(const char* what, std::string_view bytes, int name, int doc, int metadata) {
    const std::string_view owner = FindBytes(bytes, name);
    Add(fmt::format("doc string of {}", what), owner, std::string(FindBytes(bytes, doc)));
    Add(fmt::format("metadata of {}", what), owner, Entries(bytes, metadata));
  }

  void Node(std::string_view bytes, int depth) {
    std::string_view owner;
    bool first = true;
    WireReader reader(bytes);
    while (const WireField* field = reader.Next()) {
      if (field->IsBytes(node::kOutput) && std::exchange(first, false)) owner = field->bytes;
      if (field->IsBytes(node::kAttribute)) Attribute(field->bytes, depth);
    }
    Add("doc string of node", owner, std::string(FindBytes(bytes, node::kDoc)));
    Add("metadata of node", owner, Entries(bytes, node::kMetadata));
  }

  void Attribute(std::string_view bytes, int depth) {
    WireReader reader(bytes);
    while (const WireField* field = reader.Next()) {
      if (field->IsBytes(attribute::kGraph) || field->IsBytes(attribute::kGraphs)) {
        Graph(field->bytes, depth + 1);
      }
    }
  }

  Remarks remarks_;
};

}  // namespace

Remarks RemarksOf(std::string_view model) {
  Collector collector;
  collector.Model(model);
  return collector.Take();
}

}  // namespace qrewrite
