// Model: an ONNX model in memory, ready to be rewritten (qrewrite/rewrite.h) and saved.
//
// Loading maps the file and copies no weights; the file and its data files must not be written to
// while the Model lives (Save replaces files, it does not write to them). Saving a model that no
// rewrite changed writes the bytes that were read, unless its data files are in another folder.
//
// A rewrite that fails leaves the model between two states. It is then poisoned: it can be
// neither rewritten nor saved, and each attempt says why.
//
// Thread-safety: const functions may run at once; Rewrite() needs the Model for itself. A Clone is a
// Model of its own. A Model that was moved from can be assigned to and destroyed, nothing else.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "qrewrite/constant.h"
#include "qrewrite/status.h"

namespace qrewrite {

// Bytes that somebody else holds. `owner` keeps them alive as long as a model needs them; without an
// owner they must outlive the model and the tensors of its rewrites.
struct Bytes {
  std::string_view view;
  std::shared_ptr<const void> owner;

  static Bytes Own(std::string bytes) {  // moved, not copied
    const auto owner = std::make_shared<const std::string>(std::move(bytes));
    return {*owner, owner};
  }
};

// Where the external data of a model in memory is.
struct ParseOptions {
  // Asked once for each location that the model names. nullopt: it may be a file in the folder. What it
  // throws is an error (kCallback), as what any function that is given to a Model throws.
  std::function<std::optional<Bytes>(const std::string& location)> external_data;
  std::string folder;  // ""; there are no files
};

// A file that a rule set asked for, beside the model.
struct SideFile {
  std::string path;
  std::string bytes;
  bool beside_model = false;  // `path` is relative to the folder of the model that is saved
};

struct SaveOptions {
  // Where tensors of at least `external_threshold` bytes go.
  enum class External {
    kAuto,    // into a file beside the model if the source had external data or 2 GB are exceeded
    kNever,   // inside; an error if the model would pass 2 GB
    kAlways,  // into `<file name>.data` beside the model (`<file name>.2.data` if that is taken)
  };
  External external = External::kAuto;
  uint64_t external_threshold = 1024;
  std::vector<SideFile> side_files;  // files that appear with the model, or not at all
  // Makes files that say what is written: gets the paths of all others, the model's first, then that
  // of its data. Its own appear last.
  std::function<Result<std::vector<SideFile>>(const std::vector<std::string>& paths)> report;
  // Called while the model is written: bytes so far, and in all (nearly, if data go outside).
  std::function<void(uint64_t done, uint64_t total)> progress;
  // Called when all files are complete, but have no names yet. After an error none appears.
  std::function<Status(const std::vector<std::string>& paths)> before_commit;
};

struct TextOptions {
  int64_t max_elements = 16;  // larger constants are elided
  bool types = false;         // the type of every value that has one
  bool node_names = false;
  // Part of the graph: nodes whose name or one of whose outputs matches this regular expression
  // (RE2).
  std::string node;
  // Part of the graph: the node of this name (or that makes the value of this name), and what is at
  // most `distance` nodes away.
  std::string around;
  int distance = 2;
};

struct ModelStats {
  int64_t ir_version = 0;
  std::map<std::string, int64_t> opset;  // imports; "" is ai.onnx
  std::map<std::string, int64_t> ops;    // nodes by operator, in all subgraphs and functions
  int64_t nodes = 0;
  int64_t inputs = 0, outputs = 0;  // of the main graph
  int64_t subgraphs = 0, functions = 0;
  int64_t initializers = 0;
  int64_t initializer_bytes = 0;
  int64_t file_bytes = 0;  // as it was read, without external data
  bool external_data = false;
};

struct NamedConstant {
  std::string name;
  Constant value;
};

// An input or output of the main graph, as the file declares it.
struct ModelValue {
  std::string name;
  int dtype = 0;  // ONNX's number; 0: unknown, or no tensor
  bool has_shape = false;
  std::vector<int64_t> dims;  // -1: not fixed
};

class Model {
 public:
  // kIo: the file cannot be read; kInvalidModel: it is no valid model. Messages name the culprit.
  static Result<Model> Load(const std::string& path);
  // A serialized ModelProto. External data is looked for in `folder`; without one it is an error.
  static Result<Model> Parse(std::string bytes, const std::string& folder = "");
  // The same without a copy of model or data: Parse(Bytes{view}, ...), Parse(Bytes::Own(text), ...).
  static Result<Model> Parse(Bytes bytes, const ParseOptions& options = {});

  // A model that is as this one is now; what is done to one does not concern the other. Weights and
  // files are shared, tables are copied. kInvalidModel: this one is poisoned. Who wants to keep the
  // model when a run fails rewrites a clone.
  Result<Model> Clone() const;

  Model(Model&&) noexcept;
  Model& operator=(Model&&) noexcept;
  ~Model();

  // All files appear, complete and on the disk, or none; the model after its data and the side files,
  // so a process that is killed leaves the old model or the new one. Links are followed. kUsage: a
  // file would replace one that the model was read from (the model itself may be replaced), or
  // another of the run. kIo: a file cannot be written, or one that was read has changed meanwhile.
  // Data is never written over: old data of a model that is replaced goes afterwards, if it has a name
  // of ours and no other .onnx file of the folder mentions it.
  Status Save(const std::string& path, const SaveOptions& options = {}) const;
  // The side files alone.
  Status SaveSideFiles(const SaveOptions& options) const;
  // With all data inside; kLimit beyond 2 GB.
  Result<std::string> Serialize() const;
  // The same into memory of the caller: `begin` is told the size, then `write` gets the bytes in order, chunk
  // by chunk. A chunk is valid during the call only. kLimit beyond `limit` bytes; 0: 2 GB. Protobuf reads no
  // message of more, but a caller may take it apart.
  Status Serialize(const std::function<Status(uint64_t size)>& begin,
                   const std::function<Status(std::string_view chunk)>& write,
                   uint64_t limit = 0) const;
  // With the data of tensors of at least `threshold` bytes outside: `write` gets it in order, chunk by
  // chunk. Together the chunks are the file that the model calls `location`. A chunk is valid during
  // the call only. kUsage: `location` is no relative path inside of the model's folder.
  Result<std::string> Serialize(const std::string& location, uint64_t threshold,
                                const std::function<Status(std::string_view chunk)>& write) const;

  // The text form that rule files and tests use. kUsage: a bad regular expression, no such node.
  Result<std::string> Text(const TextOptions& options = {}) const;
  ModelStats Stats() const;
  std::vector<ModelValue> Inputs() const;  // without those that have an initial value
  std::vector<ModelValue> Outputs() const;
  // The initializers of the main graph, as views: see constant.h for how long they are valid.
  std::vector<NamedConstant> Constants() const;
  std::optional<Constant> FindConstant(const std::string& name) const;

  bool changed() const;          // by a rewrite since it was read
  const Status& poison() const;  // ok, or the error that made it unusable

  struct Impl;  // engine/api/model_impl.h
  Impl& impl() { return *impl_; }
  const Impl& impl() const { return *impl_; }

 private:
  explicit Model(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace qrewrite
