#include "engine/onnx_io/model_file.h"

#include <utility>

#include "engine/base/diagnostics.h"
#include "engine/onnx_io/external_data.h"
#include "engine/onnx_io/mapped_file.h"
#include "engine/onnx_io/output_set.h"
#include "engine/onnx_io/paths.h"
#include "engine/onnx_io/reader.h"
#include "engine/onnx_io/source.h"
#include "engine/onnx_io/writer.h"

namespace qrewrite {
namespace {

// The same status with the file in front of every message that has no place yet.
Status InFile(const Status& status, const std::string& path) {
  if (status.ok() || path.empty()) return status;
  std::vector<Diagnostic> diagnostics = status.diagnostics();
  for (Diagnostic& d : diagnostics) {
    if (d.span.file.empty()) d.span.file = Printable(path, 1000);
  }
  return {status.code(), std::move(diagnostics)};
}

class OnnxModelFile : public ModelFile {
 public:
  OnnxModelFile(std::string path, std::shared_ptr<const MappedFile> file,
                std::shared_ptr<const void> owner, ExternalData external)
      : path_(std::move(path)),
        file_(std::move(file)),
        external_(std::move(external)),
        tensors_{std::move(owner), &external_} {}

  OnnxModelFile(const OnnxModelFile& other)
      : ModelFile(other),
        path_(other.path_),
        file_(other.file_),
        external_(other.external_),
        tensors_{other.tensors_.owner, &external_},
        graph_(other.graph_),
        source_(other.source_) {}
  OnnxModelFile& operator=(const OnnxModelFile&) = delete;

  std::unique_ptr<ModelFile> Clone() const override {
    return std::make_unique<OnnxModelFile>(*this);
  }

  Status Load(std::string_view bytes) {
    return InFile(ReadModel(bytes, tensors_, graph_, source_), path_);
  }

  Graph& graph() override { return graph_; }
  const Graph& graph() const override { return graph_; }
  std::string_view source_bytes() const override { return source_.bytes; }
  bool has_external_data() const override { return source_.has_external; }
  std::map<ValueId, std::string_view> Carried() const override {
    std::map<ValueId, std::string_view> carried;
    for (const BodySource& body : source_.bodies) {
      for (const SparseRecord& r : body.sparse) carried[r.value] = r.field;
      for (const TensorRecord& r : body.initializers) {
        if (r.carried) carried[r.value] = r.field;
      }
    }
    return carried;
  }

  Status Write(const std::string& path, const WriteOptions& options,
               OutputSet& files) const override {
    const Status status = writer().Write(path, options, files);
    // Other faults are about the file that is written, and name it.
    return status.code() == StatusCode::kInvalidModel ? InFile(status, path_) : status;
  }
  Status Serialize(const MemoryData* data, const MemoryModel& to) const override {
    return InFile(writer().Serialize(data, to), path_);
  }

  void Protect(OutputSet& files) const override {
    if (file_ != nullptr) files.Protect(IdOf(*file_), "the input model", /*but_model=*/true);
    for (const auto& [location, file] : external_.files()) {
      files.Protect(IdOf(*file), "a data file of the input model");
    }
  }
  Status CheckUnchanged() const override {
    if (file_ != nullptr) QR_RETURN_IF_ERROR(file_->CheckUnchanged());
    for (const auto& [location, file] : external_.files()) {
      QR_RETURN_IF_ERROR(file->CheckUnchanged());
    }
    return {};
  }

 private:
  Writer writer() const { return {graph_, source_, tensors_, file_}; }

  std::string path_;  // empty: from bytes
  std::shared_ptr<const MappedFile> file_;
  ExternalData external_;
  TensorSource tensors_;
  Graph graph_;
  ModelSource source_;
};

}  // namespace

Result<std::unique_ptr<ModelFile>> ModelFile::Read(const std::string& path) {
  QR_ASSIGN_OR_RETURN(std::shared_ptr<const MappedFile> file, MappedFile::Open(path));
  const std::string_view bytes = file->bytes();
  auto model = std::make_unique<OnnxModelFile>(path, file, file, ExternalData(FolderOf(path)));
  QR_RETURN_IF_ERROR(model->Load(bytes));
  return std::unique_ptr<ModelFile>(std::move(model));
}

Result<std::unique_ptr<ModelFile>> ModelFile::Parse(SharedBytes bytes, const ReadOptions& options) {
  auto model =
      std::make_unique<OnnxModelFile>("", nullptr, std::move(bytes.owner),
                                      ExternalData(options.external_folder, options.external_data));
  QR_RETURN_IF_ERROR(model->Load(bytes.view));
  return std::unique_ptr<ModelFile>(std::move(model));
}

Result<std::string> ModelFile::Serialize(const MemoryData* data) const {
  std::string out;
  const auto begin = [&](uint64_t size) {
    out.reserve(size);
    return Status();
  };
  const auto write = [&](std::string_view chunk) {
    out += chunk;
    return Status();
  };
  QR_RETURN_IF_ERROR(Serialize(data, {.begin = begin, .write = write}));
  return out;
}

Status ModelFile::Write(const std::string& path, const WriteOptions& options) const {
  OutputSet files;
  Protect(files);
  QR_RETURN_IF_ERROR(Write(path, options, files));
  QR_RETURN_IF_ERROR(CheckUnchanged());
  return files.Commit();
}

}  // namespace qrewrite
