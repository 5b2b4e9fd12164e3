// Writer: a model to a file with its data files, or to bytes. See ModelFile::Write for the
// contract.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/graph/graph.h"
#include "engine/onnx_io/external_data.h"
#include "engine/onnx_io/mapped_file.h"
#include "engine/onnx_io/model_file.h"
#include "engine/onnx_io/output_set.h"
#include "engine/onnx_io/planner.h"
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

  Status Write(const std::string& path, const WriteOptions& options, OutputSet& files) const;
  Status Serialize(const MemoryData* data, const MemoryModel& to) const;

 private:
  // Bytes on their way into files, which `options` may want to be told.
  struct Meter {
    const WriteOptions& options;
    uint64_t total = 0, done = 0;
    Status Write(OutputFile& out, std::string_view bytes);
  };

  bool CanCopy(const std::string& target, const WriteOptions& options) const;
  Status WriteCopy(const std::string& path, const WriteOptions& options, OutputSet& files) const;
  Status WriteOutside(const std::string& path, const WriteOptions& options, OutputSet& files) const;
  // The model file; `data_file` is the one beside it that it uses, or "".
  Status WriteModel(const std::string& path, const Rope& rope, const std::string& data_file,
                    Meter& meter, OutputSet& files) const;
  void AddInputs(OutputFile& out) const;
  std::vector<FileId> DataOfInput() const;

  const Graph& graph_;
  const ModelSource& source_;
  const TensorSource& tensors_;
  std::shared_ptr<const MappedFile> file_;
};

// Protobuf refuses messages of 2 GiB and more.
inline constexpr uint64_t kMaxModelBytes = (uint64_t{1} << 31) - (uint64_t{1} << 16);

}  // namespace qrewrite
