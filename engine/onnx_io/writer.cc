#include "engine/onnx_io/writer.h"

#include <optional>
#include <utility>

#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "engine/onnx_io/output_set.h"
#include "engine/onnx_io/planner.h"
#include "engine/onnx_io/rope.h"

namespace qrewrite {
namespace {

struct FileId {
  dev_t device = 0;
  ino_t inode = 0;
  friend bool operator==(const FileId&, const FileId&) = default;
};

std::optional<FileId> IdOf(const std::string& path) {
  struct stat info = {};
  if (stat(path.c_str(), &info) != 0) return std::nullopt;
  return FileId{info.st_dev, info.st_ino};
}

std::optional<FileId> IdOf(const MappedFile& file) {
  struct stat info = {};
  if (file.descriptor() < 0 || fstat(file.descriptor(), &info) != 0) return std::nullopt;
  return FileId{info.st_dev, info.st_ino};
}

bool IsSame(const std::optional<FileId>& a, const std::optional<FileId>& b) {
  return a.has_value() && b.has_value() && *a == *b;
}

Status TooLarge(uint64_t size) {
  return {StatusCode::kLimit, fmt::format("the model would have {} bytes; a model without external "
                                          "data cannot have more than 2 GB",
                                          size)};
}

}  // namespace

// The input's data files must survive, whatever the output is called.
Status Writer::CheckTarget(const std::string& path) const {
  if (tensors_.external == nullptr) return {};
  for (const auto& [location, file] : tensors_.external->files()) {
    if (!IsSame(IdOf(path), IdOf(*file))) continue;
    return {StatusCode::kUsage,
            fmt::format("writing `{}` would overwrite a data file of the input model", path)};
  }
  return {};
}

Status Writer::Write(const std::string& path, const WriteOptions& options) {
  using External = WriteOptions::External;
  QR_RETURN_IF_ERROR(CheckTarget(path));
  const bool alone = IsSpecialFile(path);  // a pipe has no folder for a data file
  if (alone && options.external == External::kAlways) {
    return {StatusCode::kUsage,
            fmt::format("`{}` is no regular file: there is no place for external "
                        "data beside it",
                        path)};
  }
  const bool inside = alone || options.external == External::kNever;
  const bool may_copy = source_.has_external ? options.external == External::kAuto && !alone
                                             : options.external != External::kAlways;
  if (!graph_.changed() && may_copy) {
    QR_ASSIGN_OR_RETURN(const bool written, WriteCopy(path));
    if (written) return {};
  }
  const bool outside = !inside && (options.external == External::kAlways || source_.has_external);
  return WritePlan(path, outside ? DataFileFor(path) : "", options.external_threshold,
                   /*retry_outside=*/!inside && !outside);
}

// Data files keep their names, so a file that is there already must hold the same.
Result<bool> Writer::CanCopyDataTo(const std::string& folder, const std::string& path) const {
  for (const auto& [location, file] : tensors_.external->files()) {
    const std::string target = fmt::format("{}/{}", folder, location);
    if (location == FileNameOf(path)) return false;
    if (access(target.c_str(), F_OK) != 0) continue;
    const auto there = MappedFile::OpenRegular(target);
    if (!there.ok() || (*there)->bytes() != file->bytes()) return false;
  }
  return true;
}

Result<bool> Writer::WriteCopy(const std::string& path) {
  OutputSet files;
  const std::string folder = FolderOf(path);
  if (source_.has_external && !IsSame(IdOf(folder), IdOf(tensors_.external->folder()))) {
    QR_ASSIGN_OR_RETURN(const bool possible, CanCopyDataTo(folder, path));
    if (!possible) return false;
    for (const auto& [location, file] : tensors_.external->files()) {
      const std::string target = fmt::format("{}/{}", folder, location);
      if (access(target.c_str(), F_OK) == 0) continue;
      QR_ASSIGN_OR_RETURN(OutputFile* const out, files.Add(folder, target));
      AddInputs(*out);
      QR_RETURN_IF_ERROR(out->Write(file->bytes()));
    }
  }
  QR_ASSIGN_OR_RETURN(OutputFile* const out, files.Add(folder, path));
  AddInputs(*out);
  QR_RETURN_IF_ERROR(out->Write(source_.bytes));
  QR_RETURN_IF_ERROR(files.Commit());
  return true;
}

// `<file name>.data`, unless that is the input model, or a data file of it.
std::string Writer::DataFileFor(const std::string& path) const {
  const bool in_place = file_ != nullptr && IsSame(IdOf(path), IdOf(*file_));
  std::string name = FileNameOf(path) + ".data";
  if (in_place) return name;
  const auto is_taken = [&] {
    const std::optional<FileId> there = IdOf(FolderOf(path) + "/" + name);
    if (file_ != nullptr && IsSame(there, IdOf(*file_))) return true;
    if (tensors_.external == nullptr) return false;
    for (const auto& [location, file] : tensors_.external->files()) {
      if (IsSame(there, IdOf(*file))) return true;
    }
    return false;
  };
  for (int i = 2; is_taken(); ++i) name = fmt::format("{}.{}.data", FileNameOf(path), i);
  return name;
}

Status Writer::WritePlan(const std::string& path, const std::string& data_file, uint64_t threshold,
                         bool retry_outside) {
  Planner planner(graph_, source_, tensors_,
                  {.data_file = data_file, .external_threshold = threshold});
  QR_ASSIGN_OR_RETURN(const Rope rope, planner.PlanModel());
  if (rope.size() > kMaxModelBytes) {
    if (!retry_outside) return TooLarge(rope.size());
    return WritePlan(path, DataFileFor(path), threshold, /*retry_outside=*/false);
  }
  OutputSet files;
  const std::string folder = FolderOf(path);
  if (!planner.data().empty()) {
    QR_ASSIGN_OR_RETURN(OutputFile* const out, files.Add(folder, folder + "/" + data_file));
    AddInputs(*out);
    for (const DataItem& item : planner.data()) {
      QR_RETURN_IF_ERROR(out->WriteZeros(item.offset - out->size()));
      QR_RETURN_IF_ERROR(
          WriteTensorBytes(item.tensor, [&](std::string_view bytes) { return out->Write(bytes); }));
    }
  }
  QR_ASSIGN_OR_RETURN(OutputFile* const out, files.Add(folder, path));
  AddInputs(*out);
  QR_RETURN_IF_ERROR(rope.WriteTo([&](std::string_view bytes) { return out->Write(bytes); }));
  return files.Commit();
}

void Writer::AddInputs(OutputFile& out) const {
  if (file_ != nullptr) out.AddInput(file_);
  if (tensors_.external == nullptr) return;
  for (const auto& [location, file] : tensors_.external->files()) out.AddInput(file);
}

Result<std::string> Writer::Serialize() {
  if (!graph_.changed() && !source_.has_external) return std::string(source_.bytes);
  Planner planner(graph_, source_, tensors_, {});
  QR_ASSIGN_OR_RETURN(const Rope rope, planner.PlanModel());
  if (rope.size() > kMaxModelBytes) return TooLarge(rope.size());
  std::string out;
  out.reserve(rope.size());
  QR_RETURN_IF_ERROR(rope.WriteTo([&](std::string_view bytes) {
    out += bytes;
    return Status();
  }));
  return out;
}

}  // namespace qrewrite
