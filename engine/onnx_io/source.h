// ModelSource: what the file says beyond the Graph, as slices of it, so that the writer can put it
// back.
//
// Tables are indexed by the ids of the Graph: what has no entry was made after reading.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "engine/base/ids.h"
#include "engine/graph/type.h"
#include "engine/tensor/tensor.h"

namespace qrewrite {

// Fields are kept whole (with tag and length): WireField::whole.
using FieldSlice = std::string_view;

struct ValueRecord {  // a ValueInfoProto: input, output or value_info
  ValueId value;
  FieldSlice field;
  uint32_t declared = 0;  // Graph::declared_id(value) after reading
};

struct TensorRecord {  // a TensorProto: initializer
  FieldSlice field;
  ValueId value;
  bool external = false;  // in a data file
  bool carried = false;   // a value without tensor (see ParsedTensor)
};

struct SparseRecord {  // a SparseTensorProto: a value without tensor
  ValueId value;
  FieldSlice field;
};

struct AnnotationRecord {  // a TensorAnnotation
  FieldSlice field;
  // All that it names, in order: the tensor, then its parameters. Not valid: no tensor has the name
  // (FINN puts the name of a data type there).
  std::vector<ValueId> values;
};

struct BodySource {
  std::vector<ValueRecord> inputs, outputs, value_infos;
  std::vector<TensorRecord> initializers;
  std::vector<SparseRecord> sparse;
  std::vector<AnnotationRecord> annotations;
  std::vector<FieldSlice> others;  // every other field, in file order
};

struct ModelField {
  int number = 0;
  FieldSlice field;
  BodyId function;  // of a `functions` field
};

struct ModelSource {
  std::string_view bytes;
  std::vector<ModelField> fields;             // of ModelProto, in file order
  std::vector<FieldSlice> nodes;              // by NodeId
  std::vector<BodySource> bodies;             // by BodyId
  std::unordered_set<NodeId> external_nodes;  // with an attribute whose tensor is in a data file
  // Overloads of functions (IR 10): in the graph `F` of overload `a` is the operator `F:a`, so that
  // it is not mistaken for another. Graph name -> overload.
  std::map<std::string, std::string, std::less<>> overloads;
  // Types of values of functions. Before IR 10 they are in value_info of the main graph, as values of
  // the name "domain::F/x".
  std::vector<ValueRecord> function_values;
  int64_t ir_version = 0;
  bool has_external = false;
  bool has_notes = false;  // a node with a doc string or metadata
};

}  // namespace qrewrite
