// Graph: writes an ONNX graph on the wire, a field at a time, for models that are large and regular.
// It knows nothing of the engine: what it writes is what any exporter could have written.
//
//   Graph g;
//   std::string x = g.Input(kFloat, {1, 8});
//   std::string y = g.Node("Relu", {x});
//   g.Output(y, kFloat, {1, 8});
//   std::string model = Model(g, 17);
//
// Values are called v1, v2, ... unless a name is given.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace scaling {

// TensorProto.DataType
inline constexpr int kFloat = 1, kUint8 = 2, kInt8 = 3, kInt32 = 6, kInt64 = 7, kString = 8,
                     kBool = 9, kFloat16 = 10;

// Fields of one protobuf message, in order of the calls.
class Message {
 public:
  Message& Int(int field, int64_t value);
  Message& Real(int field, float value);
  Message& Text(int field, std::string_view bytes);  // also of a message within
  const std::string& bytes() const { return bytes_; }

 private:
  void Varint(uint64_t value);
  std::string bytes_;
};

class Graph;

// An AttributeProto.
struct Attribute {
  Attribute(std::string_view name, int64_t value);
  Attribute(std::string_view name, int value) : Attribute(name, int64_t{value}) {}
  Attribute(std::string_view name, const char* value);
  Attribute(std::string_view name, const std::vector<int64_t>& values);
  Attribute(std::string_view name, const Graph& body);
  std::string bytes;
};

class Graph {
 public:
  explicit Graph(std::string prefix = "v") : prefix_(std::move(prefix)) {}

  std::string Input(int dtype, const std::vector<int64_t>& dims);
  void Output(const std::string& name, int dtype, const std::vector<int64_t>& dims);
  // Elements as they lie in memory.
  std::string Raw(int dtype, const std::vector<int64_t>& dims, std::string_view bytes);
  std::string Floats(const std::vector<int64_t>& dims, const std::vector<float>& values);
  std::string Ints(const std::vector<int64_t>& values);  // int64, rank 1
  std::string Scalar(float value) { return Floats({}, {value}); }
  std::string Byte(int dtype, int value);             // a scalar of an 8 bit type
  std::string Texts(int64_t count, int64_t letters);  // strings, rank 1

  // `op` may have its domain in front: com.microsoft.QGemm.
  std::string Node(std::string_view op, const std::vector<std::string>& inputs,
                   const std::vector<Attribute>& attributes = {});
  std::vector<std::string> Nodes(std::string_view op, const std::vector<std::string>& inputs,
                                 const std::vector<Attribute>& attributes, int64_t outputs);

  void Claim(const std::string& name, int dtype, const std::vector<int64_t>& dims);  // value_info

  Message fields() const;  // of a GraphProto
  const std::vector<std::string>& nodes() const { return nodes_; }

 private:
  std::string Fresh();
  void Value(int field, const std::string& name, int dtype, const std::vector<int64_t>& dims);

  std::string prefix_;
  int64_t count_ = 0;
  std::vector<std::string> nodes_;
  Message fields_;  // all but the nodes
};

// A FunctionProto of domain `local`.
std::string Function(const Graph& body, const std::string& name,
                     const std::vector<std::string>& inputs,
                     const std::vector<std::string>& outputs);

// A ModelProto that imports ai.onnx at `opset` and every domain that nodes of these families have;
// `more`: fields of it that the families add.
std::string Model(const Graph& graph, int opset, const Message& more = {});

}  // namespace scaling
