// TypeMessages: types of values as messages of onnx, and back, for the functions of the onnx library.
//
// Messages are reused from one node to the next: most functions look at two or three of them.
#pragma once

#include <deque>
#include <string_view>
#include <utility>
#include <vector>

#include <onnx/onnx_pb.h>

#include "engine/graph/graph.h"

namespace qrewrite {

// Messages that are handed out cleared and taken back all at once.
template <class Message>
class MessagePool {
 public:
  Message* Take() {
    Message* message = TakeUsed();
    message->Clear();
    return message;
  }
  // Not cleared: clearing a message frees parts that are about to be made again.
  Message* TakeUsed() {
    if (used_ == messages_.size()) messages_.emplace_back();
    return &messages_[used_++];
  }
  void Reset() { used_ = 0; }

 private:
  std::deque<Message> messages_;
  size_t used_ = 0;
};

class TypeMessages {
 public:
  // Takes all messages back. `graph` must live as long as it is asked.
  void Reset(const Graph& graph);
  // Null: nothing is known. Valid until Reset.
  const onnx::TypeProto* Make(const TypeInfo& type);
  // Names of sizes are those that were made since Reset; others are sizes that nobody knows.
  TypeInfo Read(const onnx::TypeProto& proto) const;
  Dim Read(const onnx::TensorShapeProto::Dimension& dim) const;

 private:
  const Graph* graph_ = nullptr;
  std::vector<std::pair<std::string_view, Dim>> symbols_;
  MessagePool<onnx::TypeProto> messages_;  // that never become another kind
};

}  // namespace qrewrite
