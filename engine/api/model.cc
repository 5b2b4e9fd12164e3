#include "qrewrite/model.h"

#include <utility>

#include <fmt/format.h>

#include "engine/api/constant.h"
#include "engine/api/model_impl.h"
#include "engine/base/callback.h"
#include "engine/base/diagnostics.h"
#include "engine/onnx_io/external_data.h"
#include "engine/onnx_io/output_set.h"
#include "engine/onnx_io/paths.h"

namespace qrewrite {
namespace {

using Part = OutputSet::Part;

// `folder`: of the model; "." without one.
Status AddSideFiles(const std::vector<SideFile>& files, const std::string& folder, Part part,
                    OutputSet& set) {
  for (const SideFile& file : files) {
    const std::string path = file.beside_model ? Joined(folder, file.path) : file.path;
    QR_ASSIGN_OR_RETURN(OutputFile* const out, set.Add(path, part));
    QR_RETURN_IF_ERROR(out->Write(file.bytes));
  }
  return {};
}

Status Commit(const Model::Impl& model, const std::string& folder, const SaveOptions& options,
              OutputSet& files) {
  QR_RETURN_IF_ERROR(files.Finish());
  QR_RETURN_IF_ERROR(model.file->CheckUnchanged());
  if (options.report) {
    QR_ASSIGN_OR_RETURN(
        const std::vector<SideFile> last,
        CallHost("the function for the report", [&] { return options.report(files.paths()); }));
    QR_RETURN_IF_ERROR(AddSideFiles(last, folder, Part::kReport, files));
    QR_RETURN_IF_ERROR(files.Finish());
  }
  if (options.before_commit) {
    QR_RETURN_IF_ERROR(CallHost("the function before the commit",
                                [&] { return options.before_commit(files.paths()); }));
  }
  return files.Commit();
}

// A host's callback, whose exceptions are errors.
std::function<Status(uint64_t, uint64_t)> ToldAs(
    const std::function<void(uint64_t, uint64_t)>& progress) {
  if (!progress) return {};
  return [&progress](uint64_t done, uint64_t total) {
    return CallHost("the function for progress", [&] {
      progress(done, total);
      return Status();
    });
  };
}

WriteOptions::External ToWriteOption(SaveOptions::External external) {
  switch (external) {
    case SaveOptions::External::kAuto: return WriteOptions::External::kAuto;
    case SaveOptions::External::kNever: return WriteOptions::External::kNever;
    case SaveOptions::External::kAlways: return WriteOptions::External::kAlways;
  }
  return WriteOptions::External::kAuto;
}

}  // namespace

ModelValue ToModelValue(const Graph& graph, ValueId v) {
  const TypeInfo& type = graph.declared(v);
  ModelValue value{.name = std::string(graph.name(v)),
                   .dtype = type.is_tensor ? static_cast<int>(type.dtype) : 0,
                   .has_shape = type.has_rank,
                   .dims = {}};
  for (const Dim dim : type.dims) value.dims.push_back(dim.known() ? dim.size() : -1);
  return value;
}

void Model::Impl::Protect(OutputSet& files) const {
  file->Protect(files);
  for (const std::string& path : read) files.Protect(IdOf(path), "a file that was read");
}

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
  return Parse(Bytes::Own(std::move(bytes)), {.external_data = nullptr, .folder = folder});
}

Result<Model> Model::Parse(Bytes bytes, const ParseOptions& options) {
  ReadOptions read{.external_folder = options.folder, .external_data = nullptr};
  if (options.external_data) {
    read.external_data = [ask = options.external_data](
                             const std::string& location) -> Result<std::optional<SharedBytes>> {
      QR_ASSIGN_OR_RETURN(std::optional<Bytes> found, CallHost("the function for external data",
                                                               [&] { return ask(location); }));
      if (!found) return std::optional<SharedBytes>();
      return std::optional(SharedBytes{found->view, std::move(found->owner)});
    };
  }
  auto impl = std::make_unique<Impl>();
  QR_ASSIGN_OR_RETURN(impl->file, ModelFile::Parse({bytes.view, std::move(bytes.owner)}, read));
  return Model(std::move(impl));
}

Result<Model> Model::Clone() const {
  QR_RETURN_IF_ERROR(impl_->Usable());
  auto impl = std::make_unique<Impl>();
  impl->file = impl_->file->Clone();
  impl->read = impl_->read;
  return Model(std::move(impl));
}

std::vector<NamedConstant> Model::Constants() const {
  const Graph& graph = std::as_const(*impl_->file).graph();
  std::vector<NamedConstant> constants;
  for (const ValueId v : graph.body(graph.main()).constants) {
    const Tensor* tensor = graph.alive(v) ? graph.constant(v) : nullptr;
    if (tensor != nullptr) constants.push_back({std::string(graph.name(v)), ToConstant(*tensor)});
  }
  return constants;
}

std::optional<Constant> Model::FindConstant(const std::string& name) const {
  const Graph& graph = std::as_const(*impl_->file).graph();
  for (const ValueId v : graph.body(graph.main()).constants) {
    const Tensor* tensor = graph.alive(v) ? graph.constant(v) : nullptr;
    if (tensor != nullptr && graph.name(v) == name) return ToConstant(*tensor);
  }
  return std::nullopt;
}

Status Model::Save(const std::string& path, const SaveOptions& options) const {
  QR_RETURN_IF_ERROR(impl_->Usable());
  OutputSet files;
  impl_->Protect(files);
  const std::string folder = FolderOf(BehindLinks(path));
  QR_RETURN_IF_ERROR(AddSideFiles(options.side_files, folder, Part::kBeside, files));
  const WriteOptions write{.external = ToWriteOption(options.external),
                           .external_threshold = options.external_threshold,
                           .progress = ToldAs(options.progress)};
  QR_RETURN_IF_ERROR(impl_->file->Write(path, write, files));
  return Commit(*impl_, folder, options, files);
}

Status Model::SaveSideFiles(const SaveOptions& options) const {
  OutputSet files;
  impl_->Protect(files);
  QR_RETURN_IF_ERROR(AddSideFiles(options.side_files, ".", Part::kBeside, files));
  return Commit(*impl_, ".", options, files);
}

Result<std::string> Model::Serialize() const {
  QR_RETURN_IF_ERROR(impl_->Usable());
  return std::as_const(*impl_->file).Serialize();
}

Status Model::Serialize(const std::function<Status(uint64_t)>& begin,
                        const std::function<Status(std::string_view)>& write,
                        uint64_t limit) const {
  QR_RETURN_IF_ERROR(impl_->Usable());
  constexpr std::string_view kWho = "the writer of a model";
  const MemoryModel to{
      .begin = [&](uint64_t size) { return CallHost(kWho, [&] { return begin(size); }); },
      .write = [&](std::string_view chunk) { return CallHost(kWho, [&] { return write(chunk); }); },
      .limit = limit};
  return std::as_const(*impl_->file).Serialize(nullptr, to);
}

Result<std::string> Model::Serialize(const std::string& location, uint64_t threshold,
                                     const std::function<Status(std::string_view)>& write) const {
  QR_RETURN_IF_ERROR(impl_->Usable());
  if (location.empty()) return Status(StatusCode::kUsage, "external data needs a location");
  if (const std::string name = FileNameOf(location); name.empty() || name == ".") {
    return Status(StatusCode::kUsage, fmt::format("external data cannot be at `{}`: it is a folder",
                                                  Printable(location)));
  }
  if (!StaysInFolder(location)) {
    return Status(
        StatusCode::kUsage,
        fmt::format("external data cannot be at `{}`: a model reads what is inside of its "
                    "folder",
                    Printable(location)));
  }
  const MemoryData data{
      .location = location, .threshold = threshold, .write = [&](std::string_view chunk) {
        return CallHost("the writer of external data", [&] { return write(chunk); });
      }};
  return std::as_const(*impl_->file).Serialize(&data);
}

Result<std::string> Model::Text(const TextOptions& options) const {
  return ModelText(std::as_const(*impl_->file).graph(), options);
}

bool Model::changed() const { return std::as_const(*impl_->file).graph().changed(); }
const Status& Model::poison() const { return impl_->poison; }

ModelStats Model::Stats() const {
  const Graph& graph = std::as_const(*impl_->file).graph();
  ModelStats stats{.ir_version = graph.ir_version,
                   .opset = graph.opset(),
                   .inputs = 0,
                   .initializer_bytes = static_cast<int64_t>(graph.constant_bytes()),
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
  for (const ValueId v : graph.inputs()) stats.inputs += graph.constant(v) == nullptr;
  for (size_t i = 0; i < graph.num_values(); ++i) {
    const ValueId v(i);
    stats.initializers += graph.alive(v) && graph.constant(v) != nullptr;
  }
  return stats;
}

std::vector<ModelValue> Model::Inputs() const {
  const Graph& graph = std::as_const(*impl_->file).graph();
  std::vector<ModelValue> values;
  for (const ValueId v : graph.inputs()) {
    if (graph.constant(v) == nullptr) values.push_back(ToModelValue(graph, v));
  }
  return values;
}

std::vector<ModelValue> Model::Outputs() const {
  const Graph& graph = std::as_const(*impl_->file).graph();
  std::vector<ModelValue> values;
  for (size_t i = 0; i < graph.body(graph.main()).outputs.size(); ++i) {
    values.push_back(ToModelValue(graph, graph.output(graph.main(), i)));
  }
  return values;
}

}  // namespace qrewrite
