#include "qrewrite/model.h"

#include <utility>

#include <fmt/format.h>

#include "engine/api/model_impl.h"
#include "engine/onnx_io/output_set.h"

namespace qrewrite {
namespace {

Status AddSideFiles(const std::vector<SideFile>& files, OutputSet& set) {
  for (const SideFile& file : files) {
    // Folders that the path names and that are missing are made.
    const std::string root = file.path.starts_with('/') ? "" : ".";
    QR_ASSIGN_OR_RETURN(OutputFile * out,
                        set.Add(root, root.empty() ? file.path : "./" + file.path));
    QR_RETURN_IF_ERROR(out->Write(file.bytes));
  }
  return {};
}

}  // namespace

Status Model::Impl::Usable() const {
  if (poison.ok()) return {};
  std::vector<Diagnostic> diagnostics = poison.diagnostics();
  diagnostics.insert(diagnostics.begin(),
                     {.severity = Severity::kError,
                      .message = "the model cannot be used: an earlier rewrite failed half-way"});
  return {StatusCode::kInvalidModel, std::move(diagnostics)};
}

Model::Model(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Model::Model(Model&&) noexcept = default;
Model& Model::operator=(Model&&) noexcept = default;
Model::~Model() = default;

Result<Model> Model::Load(const std::string& path) {
  auto impl = std::make_unique<Impl>();
  QR_ASSIGN_OR_RETURN(impl->file, ModelFile::Read(path));
  return Model(std::move(impl));
}

Result<Model> Model::Parse(std::string bytes, const std::string& folder) {
  auto impl = std::make_unique<Impl>();
  QR_ASSIGN_OR_RETURN(impl->file,
                      ModelFile::Parse(std::make_shared<const std::string>(std::move(bytes)),
                                       {.external_folder = folder}));
  return Model(std::move(impl));
}

Status Model::Save(const std::string& path, const SaveOptions& options) {
  QR_RETURN_IF_ERROR(impl_->Usable());
  WriteOptions write{.external_threshold = options.external_threshold};
  switch (options.external) {
    case SaveOptions::External::kAuto: write.external = WriteOptions::External::kAuto; break;
    case SaveOptions::External::kNever: write.external = WriteOptions::External::kNever; break;
    case SaveOptions::External::kAlways: write.external = WriteOptions::External::kAlways; break;
  }
  // The side files are complete before the model is written and appear after it.
  OutputSet files;
  QR_RETURN_IF_ERROR(AddSideFiles(options.side_files, files));
  QR_RETURN_IF_ERROR(files.Finish());
  QR_RETURN_IF_ERROR(impl_->file->Write(path, write));
  return files.Commit();
}

Result<std::string> Model::Serialize() {
  QR_RETURN_IF_ERROR(impl_->Usable());
  return impl_->file->Serialize();
}

Result<std::string> Model::Text(const TextOptions& options) const {
  return ModelText(std::as_const(*impl_->file).graph(), options);
}

bool Model::changed() const { return std::as_const(*impl_->file).graph().changed(); }
const Status& Model::poison() const { return impl_->poison; }

Status WriteSideFiles(const std::vector<SideFile>& files) {
  OutputSet set;
  QR_RETURN_IF_ERROR(AddSideFiles(files, set));
  return set.Commit();
}

int64_t InitializerBytes(const Graph& graph) {
  uint64_t bytes = 0;
  for (size_t i = 0; i < graph.num_values(); ++i) {
    const ValueId v(i);
    const Tensor* tensor = graph.alive(v) ? graph.constant(v) : nullptr;
    if (tensor == nullptr) continue;
    if (!tensor->is_string()) {
      bytes += tensor->byte_size();
    } else if (!tensor->is_lazy()) {
      for (const std::string& s : tensor->strings()) bytes += s.size();
    }
  }
  return static_cast<int64_t>(bytes);
}

ModelStats Model::Stats() const {
  const Graph& graph = std::as_const(*impl_->file).graph();
  ModelStats stats{.ir_version = graph.ir_version,
                   .opset = graph.opset(),
                   .inputs = 0,
                   .initializer_bytes = InitializerBytes(graph),
                   .file_bytes = static_cast<int64_t>(impl_->file->source_bytes().size()),
                   .external_data = impl_->file->has_external_data()};
  for (size_t i = 0; i < graph.num_nodes(); ++i) {
    const NodeId n(i);
    if (!graph.alive(n)) continue;
    ++stats.nodes;
    ++stats.ops[graph.op_name(graph.op(n)).text()];
  }
  for (size_t b = 0; b < graph.num_bodies(); ++b) {
    const Body& body = graph.body(BodyId(b));
    stats.subgraphs += body.alive && body.kind == BodyKind::kSubgraph;
    stats.functions += body.alive && body.kind == BodyKind::kFunction;
  }
  const Body& main = graph.body(graph.main());
  stats.outputs = static_cast<int64_t>(main.outputs.size());
  for (const ValueId v : main.inputs) stats.inputs += graph.constant(v) == nullptr;
  for (size_t i = 0; i < graph.num_values(); ++i) {
    const ValueId v(i);
    stats.initializers += graph.alive(v) && graph.constant(v) != nullptr;
  }
  return stats;
}

}  // namespace qrewrite
