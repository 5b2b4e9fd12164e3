#include "onnx_writer.h"

#include <cstring>

namespace scaling {

void Message::Varint(uint64_t value) {
  for (; value >= 0x80; value >>= 7) bytes_.push_back(static_cast<char>(value | 0x80));
  bytes_.push_back(static_cast<char>(value));
}

Message& Message::Int(int field, int64_t value) {
  Varint(static_cast<uint64_t>(field) << 3);
  Varint(static_cast<uint64_t>(value));
  return *this;
}

Message& Message::Real(int field, float value) {
  Varint(static_cast<uint64_t>(field) << 3 | 5);
  bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  return *this;
}

Message& Message::Text(int field, std::string_view bytes) {
  Varint(static_cast<uint64_t>(field) << 3 | 2);
  Varint(bytes.size());
  bytes_.append(bytes);
  return *this;
}

// AttributeProto: name 1, i 3, s 4, g 6, ints 8, type 20 (INT 2, STRING 3, GRAPH 5, INTS 7).
Attribute::Attribute(std::string_view name, int64_t value)
    : bytes(Message().Text(1, name).Int(3, value).Int(20, 2).bytes()) {}

Attribute::Attribute(std::string_view name, const char* value)
    : bytes(Message().Text(1, name).Text(4, value).Int(20, 3).bytes()) {}

Attribute::Attribute(std::string_view name, const std::vector<int64_t>& values) {
  Message message;
  message.Text(1, name);
  for (const int64_t value : values) message.Int(8, value);
  bytes = message.Int(20, 7).bytes();
}

Attribute::Attribute(std::string_view name, const Graph& body)
    : bytes(Message()
                .Text(1, name)
                .Text(6, Message(body.fields()).Text(2, "body").bytes())
                .Int(20, 5)
                .bytes()) {}

Message Graph::fields() const {
  Message all(fields_);
  for (const std::string& node : nodes_) all.Text(1, node);
  return all;
}

std::string Graph::Fresh() { return prefix_ + std::to_string(++count_); }

void Graph::Value(int field, const std::string& name, int dtype, const std::vector<int64_t>& dims) {
  Message shape;
  for (const int64_t dim : dims) shape.Text(1, Message().Int(1, dim).bytes());
  const Message tensor = Message().Int(1, dtype).Text(2, shape.bytes());
  fields_.Text(field,
               Message().Text(1, name).Text(2, Message().Text(1, tensor.bytes()).bytes()).bytes());
}

std::string Graph::Input(int dtype, const std::vector<int64_t>& dims) {
  std::string name = Fresh();
  Value(11, name, dtype, dims);
  return name;
}

void Graph::Output(const std::string& name, int dtype, const std::vector<int64_t>& dims) {
  Value(12, name, dtype, dims);
}

std::string Graph::Raw(int dtype, const std::vector<int64_t>& dims, std::string_view bytes) {
  std::string name = Fresh();
  Message tensor;
  for (const int64_t dim : dims) tensor.Int(1, dim);
  fields_.Text(5, tensor.Int(2, dtype).Text(8, name).Text(9, bytes).bytes());
  return name;
}

std::string Graph::Floats(const std::vector<int64_t>& dims, const std::vector<float>& values) {
  return Raw(kFloat, dims,
             {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)});
}

std::string Graph::Ints(const std::vector<int64_t>& values) {
  return Raw(kInt64, {static_cast<int64_t>(values.size())},
             {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(int64_t)});
}

std::string Graph::Byte(int dtype, int value) {
  return Raw(dtype, {}, std::string(1, static_cast<char>(value)));
}

// TensorProto: dims 1, data_type 2, string_data 6, name 8.
std::string Graph::Texts(int64_t count, int64_t letters) {
  std::string name = Fresh();
  Message tensor;
  tensor.Int(1, count).Int(2, kString).Text(8, name);
  for (int64_t i = 0; i < count; ++i) {
    std::string text = std::to_string(i);
    text.resize(static_cast<size_t>(letters), 's');
    tensor.Text(6, text);
  }
  fields_.Text(5, tensor.bytes());
  return name;
}

std::vector<std::string> Graph::Nodes(std::string_view op, const std::vector<std::string>& inputs,
                                      const std::vector<Attribute>& attributes, int64_t outputs) {
  std::vector<std::string> made;
  for (int64_t i = 0; i < outputs; ++i) made.push_back(Fresh());
  Message node;
  for (const std::string& input : inputs) node.Text(1, input);
  for (const std::string& output : made) node.Text(2, output);
  const size_t dot = op.rfind('.');
  node.Text(4, dot == op.npos ? op : op.substr(dot + 1));
  for (const Attribute& attribute : attributes) node.Text(5, attribute.bytes);
  if (dot != op.npos) node.Text(7, op.substr(0, dot));
  nodes_.push_back(node.bytes());
  return made;
}

std::string Graph::Node(std::string_view op, const std::vector<std::string>& inputs,
                        const std::vector<Attribute>& attributes) {
  return Nodes(op, inputs, attributes, 1)[0];
}

void Graph::Claim(const std::string& name, int dtype, const std::vector<int64_t>& dims) {
  Value(13, name, dtype, dims);
}

// FunctionProto: name 1, input 4, output 5, node 7, opset_import 9, domain 10. The nodes of a graph are
// its field 1; a function has no initializers.
std::string Function(const Graph& body, const std::string& name,
                     const std::vector<std::string>& inputs,
                     const std::vector<std::string>& outputs) {
  Message function;
  function.Text(1, name);
  for (const std::string& input : inputs) function.Text(4, input);
  for (const std::string& output : outputs) function.Text(5, output);
  for (const std::string& node : body.nodes()) function.Text(7, node);
  for (const char* domain : {"", "local"}) {
    function.Text(9, Message().Text(1, domain).Int(2, *domain == 0 ? 17 : 1).bytes());
  }
  return function.Text(10, "local").bytes();
}

std::string Model(const Graph& graph, int opset, const Message& more) {
  Message model(more);
  model.Int(1, 8).Text(7, Message(graph.fields()).Text(2, "graph").bytes());
  model.Text(8, Message().Int(2, opset).bytes());
  for (const char* domain : {"com.microsoft", "qonnx.custom_op.general", "acme", "local"}) {
    model.Text(8, Message().Text(1, domain).Int(2, 1).bytes());
  }
  return model.bytes();
}

}  // namespace scaling
