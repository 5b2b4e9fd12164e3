// ModelFile: an ONNX model as a Graph plus everything of the file that a Graph does not hold, so
// that writing loses nothing: unknown fields, metadata, doc strings, training info, quantization
// annotations, device configurations, functions.
//
// Reading maps the file. Nodes are kept as slices of it and copied verbatim when they did not
// change; weights are views of the mapping (or of external data files) and are never copied on
// load. The file must not be cut short while the model lives; replacing it (rename) is safe.
//
// Tensors of an element type newer than this program, and sparse ones, are values without tensor:
// they are carried, not looked into.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "engine/graph/graph.h"
#include "qrewrite/status.h"

namespace qrewrite {

struct ReadOptions {
  // Folder that external data paths are relative to; they must stay inside it. Empty: external
  // data is an error.
  std::string external_folder;
};

struct WriteOptions {
  // Where tensors of at least `external_threshold` bytes go.
  enum class External {
    kAuto,   // outside if the source had external data or the model would pass 2 GB, else inside
    kNever,  // inside; an error if the model would pass 2 GB
    kAlways,
  };
  External external = External::kAuto;
  uint64_t external_threshold = 1024;
};

class ModelFile {
 public:
  // Errors name the culprit: file, node, tensor. kIo: cannot be read; kInvalidModel: malformed.
  static Result<std::unique_ptr<ModelFile>> Read(const std::string& path);
  // A serialized ModelProto; the model shares `bytes`.
  static Result<std::unique_ptr<ModelFile>> Parse(std::shared_ptr<const std::string> bytes,
                                                  const ReadOptions& options = {});
  virtual ~ModelFile() = default;

  virtual Graph& graph() = 0;
  virtual const Graph& graph() const = 0;
  // Bytes of the model file as it was read (without external data).
  virtual std::string_view source_bytes() const = 0;
  virtual bool has_external_data() const = 0;

  // Writes the model with the present state of graph(). Nodes of each body are put in canonical
  // topological order if the graph changed; an unchanged model is written byte for byte, and its
  // data files are copied along if the output is in another folder (and no other file has their
  // names). Lazy tensors are computed one at a time. Files appear under their names only when
  // complete; on error nothing is left behind. External data goes to `<file name>.data` beside the
  // model. Writing over the model's own file is fine; over one of its data files is kUsage.
  // REQUIRES: names are unique where they must be (the rewriter sees to it).
  virtual Status Write(const std::string& path, const WriteOptions& options = {}) = 0;
  // The same as bytes with all data inside; kLimit if that would pass 2 GB.
  virtual Result<std::string> Serialize() = 0;
};

}  // namespace qrewrite
