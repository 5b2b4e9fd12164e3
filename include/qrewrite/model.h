// Model: an ONNX model in memory, ready to be rewritten (qrewrite/rewrite.h) and saved.
//
// Loading maps the file and copies no weights; the file must not be changed while the Model lives
// (Save replaces files, it does not change them). Saving a model that no rewrite changed writes the
// bytes that were read.
//
// A rewrite that fails leaves the model between two states. It is then poisoned: it can be
// neither rewritten nor saved, and each attempt says why.
//
// Thread-safety: a Model is used by one thread at a time.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "qrewrite/status.h"

namespace qrewrite {

// A file that a rule set asked for, beside the model.
struct SideFile {
  std::string path;
  std::string bytes;
};

struct SaveOptions {
  // Where tensors of at least `external_threshold` bytes go.
  enum class External {
    kAuto,    // into a file beside the model if the source had external data or 2 GB are exceeded
    kNever,   // inside; an error if the model would pass 2 GB
    kAlways,  // into `<file name>.data` beside the model
  };
  External external = External::kAuto;
  uint64_t external_threshold = 1024;
  std::vector<SideFile> side_files;  // files that appear with the model, or not at all
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

class Model {
 public:
  // kIo: the file cannot be read; kInvalidModel: it is no valid model. Messages name the culprit.
  static Result<Model> Load(const std::string& path);
  // A serialized ModelProto. External data is looked for in `folder`; without one it is an error.
  static Result<Model> Parse(std::string bytes, const std::string& folder = "");

  Model(Model&&) noexcept;
  Model& operator=(Model&&) noexcept;
  ~Model();

  // Files appear under their names only when they are complete; after an error nothing is left
  // behind.
  Status Save(const std::string& path, const SaveOptions& options = {});
  Result<std::string> Serialize();  // kLimit beyond 2 GB

  // The text form that rule files and tests use. kUsage: a bad regular expression, no such node.
  Result<std::string> Text(const TextOptions& options = {}) const;
  ModelStats Stats() const;

  bool changed() const;          // by a rewrite since it was read
  const Status& poison() const;  // ok, or the error that made it unusable

  struct Impl;  // engine/api/model_impl.h
  Impl& impl() { return *impl_; }

 private:
  explicit Model(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Writes files that a rewrite asked for, without a model; all of them or none.
Status WriteSideFiles(const std::vector<SideFile>& files);

}  // namespace qrewrite
