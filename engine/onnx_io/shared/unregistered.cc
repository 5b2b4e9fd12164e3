// Of the shared library alone. It carries an onnx of its own, hidden, but shares libprotobuf with the
// program that loads it. There each .proto file may be registered once: a program that has onnx, too,
// would end when it starts. This is what generated code calls to register its file, resolved here in
// place of protobuf's. Nothing in this library asks messages for their descriptors.
#include <google/protobuf/generated_message_reflection.h>

namespace google::protobuf::internal {

AddDescriptorsRunner::AddDescriptorsRunner(const DescriptorTable* /*table*/) {}

}  // namespace google::protobuf::internal
