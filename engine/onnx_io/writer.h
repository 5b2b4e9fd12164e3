// Writer: a model to a file with its data files, or to bytes. See ModelFile::Write for the
// contract.
#pragma once

#include <memory>
#include <string>

#include "engine/graph/graph.h"
#include "engine/onnx_io/external_data.h"
#include "engine/onnx_io/mapped_file.h"
#include "engine/onnx_io/model_file.h"
#include "engine/onnx_io/output_file.h"
#include "engine/onnx_io/source.h"
#include "engine/onnx_io/tensors.h"
#include "qrewrite/status.h"

namespace qrewrite {

class Writer {
 public:
  // `file`: that the model was read from, or null.
  Writer(const Graph& graph, const ModelSource& source, const TensorSource& tensors,
         std::shared_ptr<const MappedFile> file)
      : graph_(graph), source_(source), tensors_(tensors), file_(std::move(file)) {}

  Status Write(const std::string& path, const WriteOptions& options);
  Result<std::string> Serialize();

 private:
  Status CheckTarget(const std::string& path) const;
  // Writes the source's bytes and its data files. False: a data file cannot stand beside `path`.
  Result<bool> WriteCopy(const std::string& path);
  Result<bool> CanCopyDataTo(const std::string& folder, const std::string& path) const;
  Status WritePlan(const std::string& path, const std::string& data_file, uint64_t threshold,
                   bool retry_outside);
  std::string DataFileFor(const std::string& path) const;
  void AddInputs(OutputFile& out) const;

  const Graph& graph_;
  const ModelSource& source_;
  const TensorSource& tensors_;
  std::shared_ptr<const MappedFile> file_;
};

// Protobuf refuses messages of 2 GiB and more.
inline constexpr uint64_t kMaxModelBytes = (uint64_t{1} << 31) - (uint64_t{1} << 16);

}  // namespace qrewrite
