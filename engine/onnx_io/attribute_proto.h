// An attribute as the onnx library's message, for what asks that library. The writer copies bytes instead.
#pragma once

#include <string>

#include <onnx/onnx_pb.h>

#include "engine/tensor/attribute.h"

namespace qrewrite {

// Tensors beyond this many elements are data, which inference never looks into.
inline constexpr int64_t kMostInferredElements = 4096;

// `tensor` is in memory if its data is wanted.
void FillTensor(const Tensor& tensor, bool with_data, onnx::TensorProto* proto);

// Tensors of more than `most_elements`, and those that are not computed yet, have a type and sizes alone; graphs and
// opaque kinds stay empty.
void FillAttribute(const std::string& name, const AttrValue& value, int64_t most_elements,
                   onnx::AttributeProto* proto);

}  // namespace qrewrite
