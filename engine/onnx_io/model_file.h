// ModelFile: an ONNX model as a Graph plus everything of the file that a Graph does not hold, so
// that writing loses nothing: unknown fields, metadata, doc strings, training info, quantization
// annotations, device configurations, functions.
//
// Reading maps the file. Nodes are kept as slices of it and copied verbatim when they did not
// change; weights are views of the mapping (or of external data files) and are never copied on
// load. The files must not be written to while the model lives; replacing them (rename) is safe.
//
// Tensors of an element type newer than this program, and sparse ones, are values without tensor:
// they are carried, not looked into (sparse ones must make sense: sparse.h).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "engine/graph/graph.h"
#include "engine/onnx_io/external_data.h"
#include "qrewrite/status.h"

namespace qrewrite {

class OutputSet;

struct ReadOptions {
  // Folder that external data paths are relative to; they must stay inside it. Empty: external
  // data is an error.
  std::string external_folder;
  // Asked before the folder; may be null.
  ExternalData::InMemory external_data;
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
  // Bytes so far and in all; an error ends the writing. May be empty.
  std::function<Status(uint64_t done, uint64_t total)> progress = {};
};

// Where Serialize() puts tensors of at least `threshold` bytes: in order into one file, which the
// model calls `location`.
struct MemoryData {
  std::string location;
  uint64_t threshold = 1024;
  std::function<Status(std::string_view)> write;
};

// Where Serialize() puts the model: `begin` is told its size, then `write` gets its bytes in order.
struct MemoryModel {
  std::function<Status(uint64_t size)> begin;
  std::function<Status(std::string_view chunk)> write;
  uint64_t limit = 0;  // kLimit beyond so many bytes; 0: 2 GB
};

class ModelFile {
 public:
  // Errors name the culprit: file, node, tensor. kIo: cannot be read; kInvalidModel: malformed.
  static Result<std::unique_ptr<ModelFile>> Read(const std::string& path);
  // A serialized ModelProto, which is not copied.
  static Result<std::unique_ptr<ModelFile>> Parse(SharedBytes bytes,
                                                  const ReadOptions& options = {});
  virtual ~ModelFile() = default;
  // The same model in its present state; both share the bytes they were read from, nothing that can
  // change.
  virtual std::unique_ptr<ModelFile> Clone() const = 0;

  virtual Graph& graph() = 0;
  virtual const Graph& graph() const = 0;
  // Bytes of the model file as it was read (without external data).
  virtual std::string_view source_bytes() const = 0;
  virtual bool has_external_data() const = 0;
  // The fields, as they were read, of initializers that are values without tensor: see above.
  virtual std::map<ValueId, std::string_view> Carried() const = 0;

  // Adds the model with the present state of graph() to the files of a run, complete. Nodes of each
  // body are put in canonical topological order if the graph changed; an unchanged model is written
  // byte for byte, unless its data files are in another folder. Lazy tensors are computed one at a
  // time. External data goes to a new file beside the model, `<file name>.data` or
  // `<file name>.<n>.data`; one of that name that holds just these bytes is used as it is. Those that
  // the replaced model had under such a name, and that no other model of the folder mentions, go.
  // Writing over the model's own file is fine; over one of its data files is kUsage.
  // REQUIRES: names are unique where they must be (the rewriter sees to it).
  virtual Status Write(const std::string& path, const WriteOptions& options,
                       OutputSet& files) const = 0;
  // The same for a run that writes nothing else.
  Status Write(const std::string& path, const WriteOptions& options = {}) const;
  // No file of the set may replace one that the model was read from, but for the model itself.
  virtual void Protect(OutputSet& files) const = 0;
  // kIo: a file that the model was read from has changed meanwhile.
  virtual Status CheckUnchanged() const = 0;
  // The same as bytes with all data inside, or in `data` if it is not null; kLimit if they would
  // pass 2 GB.
  virtual Status Serialize(const MemoryData* data, const MemoryModel& to) const = 0;
  Result<std::string> Serialize(const MemoryData* data = nullptr) const;
};

}  // namespace qrewrite
