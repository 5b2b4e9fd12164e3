#include "engine/onnx_io/writer.h"

#include <utility>

#include <fmt/format.h>

#include "engine/base/diagnostics.h"
#include "engine/onnx_io/data_files.h"
#include "engine/onnx_io/paths.h"
#include "engine/onnx_io/rope.h"

namespace qrewrite {
namespace {

using Part = OutputSet::Part;

Status CheckSize(uint64_t size) {
  if (size <= kMaxModelBytes) return {};
  return {StatusCode::kLimit, fmt::format("the model would have {} bytes; a model without external "
                                          "data cannot have more than 2 GB",
                                          size)};
}

Status CheckLimit(uint64_t size, uint64_t limit) {
  if (size <= limit) return {};
  return {StatusCode::kLimit,
          fmt::format("the model would have {} bytes, and {} are the limit", size, limit)};
}

// Calls `write` with the data of the items and the gaps between them.
Status WriteItems(const std::vector<DataItem>& items, FunctionRef<Status(std::string_view)> write) {
  uint64_t size = 0;
  for (const DataItem& item : items) {
    const std::string gap(item.offset - size, '\0');
    if (!gap.empty()) QR_RETURN_IF_ERROR(write(gap));
    QR_RETURN_IF_ERROR(WriteTensorBytes(item.tensor, write));
    size = item.offset + item.tensor.byte_size();
  }
  return {};
}

}  // namespace

// The file that is there may be copied if its data files are beside the copy, too: files are never
// made under names that the model chose.
bool Writer::CanCopy(const std::string& target, const WriteOptions& options) const {
  using External = WriteOptions::External;
  if (graph_.changed()) return false;
  if (!source_.has_external) return options.external != External::kAlways;
  return options.external == External::kAuto && !IsSpecialFile(target) &&
         !tensors_.external->uses_memory() &&
         IsSame(IdOf(FolderOf(target)), IdOf(tensors_.external->folder()));
}

Status Writer::Write(const std::string& path, const WriteOptions& options, OutputSet& files) const {
  using External = WriteOptions::External;
  const bool alone = IsSpecialFile(path);  // a pipe has no folder for a data file
  if (alone && options.external == External::kAlways) {
    return {StatusCode::kUsage,
            fmt::format("`{}` is no regular file: there is no place for external data beside it",
                        Printable(path, 1000))};
  }
  if (CanCopy(BehindLinks(path), options)) return WriteCopy(path, options, files);
  const bool may_go_outside = !alone && options.external != External::kNever;
  if (may_go_outside && (options.external == External::kAlways || source_.has_external)) {
    return WriteOutside(path, options, files);
  }
  Planner planner(graph_, source_, tensors_, {});
  QR_ASSIGN_OR_RETURN(const Rope rope, planner.PlanModel());
  if (rope.size() > kMaxModelBytes && may_go_outside) {
    return WriteOutside(path, options, files);
  }
  Meter meter{options, rope.size()};
  return WriteModel(path, rope, "", meter, files);
}

Status Writer::Meter::Write(OutputFile& out, std::string_view bytes) {
  if (!options.progress) return out.Write(bytes);
  // A tensor may be most of the file.
  constexpr size_t kPart = size_t{16} << 20;
  do {
    const std::string_view part = bytes.substr(0, kPart);
    QR_RETURN_IF_ERROR(out.Write(part));
    bytes.remove_prefix(part.size());
    done += part.size();
    QR_RETURN_IF_ERROR(options.progress(done, total));
  } while (!bytes.empty());
  return {};
}

Status Writer::WriteCopy(const std::string& path, const WriteOptions& options,
                         OutputSet& files) const {
  QR_ASSIGN_OR_RETURN(OutputFile* const out, files.Add(path, Part::kModel));
  AddInputs(*out);
  for (std::string& old : ObsoleteDataFiles(BehindLinks(path), "", DataOfInput())) {
    files.RemoveAfterwards(std::move(old));
  }
  Meter meter{options, source_.bytes.size()};
  return meter.Write(*out, source_.bytes);
}

// The data first: what it is called depends on what is there.
Status Writer::WriteOutside(const std::string& path, const WriteOptions& options,
                            OutputSet& files) const {
  const uint64_t threshold = options.external_threshold;
  const std::string target = BehindLinks(path);
  const std::string name = FreeDataFile(target);
  Planner planner(graph_, source_, tensors_, {.data_file = name, .external_threshold = threshold});
  QR_ASSIGN_OR_RETURN(const Rope rope, planner.PlanModel());
  const std::vector<DataItem>& items = planner.data();
  Meter meter{options, rope.size()};
  if (items.empty()) return WriteModel(path, rope, "", meter, files);
  meter.total += items.back().offset + items.back().tensor.byte_size();
  QR_ASSIGN_OR_RETURN(OutputFile* const data,
                      files.Add(Joined(FolderOf(target), name), Part::kData, target));
  AddInputs(*data);
  QR_RETURN_IF_ERROR(
      WriteItems(items, [&](std::string_view bytes) { return meter.Write(*data, bytes); }));
  QR_RETURN_IF_ERROR(data->Finish());
  const std::string same = SameDataFile(target, *data);
  if (same.empty()) return WriteModel(path, rope, name, meter, files);
  files.Drop(data);
  files.Protect(IdOf(Joined(FolderOf(target), same)), "a data file of the output");
  Planner again(graph_, source_, tensors_, {.data_file = same, .external_threshold = threshold});
  QR_ASSIGN_OR_RETURN(const Rope renamed, again.PlanModel());
  return WriteModel(path, renamed, same, meter, files);
}

Status Writer::WriteModel(const std::string& path, const Rope& rope, const std::string& data_file,
                          Meter& meter, OutputSet& files) const {
  QR_RETURN_IF_ERROR(CheckSize(rope.size()));
  QR_ASSIGN_OR_RETURN(OutputFile* const out, files.Add(path, Part::kModel));
  AddInputs(*out);
  QR_RETURN_IF_ERROR(
      rope.WriteTo([&](std::string_view bytes) { return meter.Write(*out, bytes); }));
  const std::string target = BehindLinks(path);
  // In place, the data files of the input go, too, if they are ours.
  const bool in_place = file_ != nullptr && IsSame(IdOf(target), IdOf(*file_));
  const std::vector<FileId> needed = in_place ? std::vector<FileId>() : DataOfInput();
  for (std::string& old : ObsoleteDataFiles(target, data_file, needed)) {
    files.RemoveAfterwards(std::move(old));
  }
  return {};
}

void Writer::AddInputs(OutputFile& out) const {
  if (file_ != nullptr) out.AddInput(file_);
  for (const auto& [location, file] : tensors_.external->files()) out.AddInput(file);
}

std::vector<FileId> Writer::DataOfInput() const {
  std::vector<FileId> ids;
  for (const auto& [location, file] : tensors_.external->files()) {
    if (const std::optional<FileId> id = IdOf(*file)) ids.push_back(*id);
  }
  return ids;
}

Status Writer::Serialize(const MemoryData* data, const MemoryModel& to) const {
  const bool outside = data != nullptr;
  if (!graph_.changed() && !source_.has_external && !outside) {
    if (to.limit != 0) QR_RETURN_IF_ERROR(CheckLimit(source_.bytes.size(), to.limit));
    QR_RETURN_IF_ERROR(to.begin(source_.bytes.size()));
    return to.write(source_.bytes);
  }
  PlanOptions options;
  if (outside) options = {.data_file = data->location, .external_threshold = data->threshold};
  Planner planner(graph_, source_, tensors_, options);
  QR_ASSIGN_OR_RETURN(const Rope rope, planner.PlanModel());
  QR_RETURN_IF_ERROR(to.limit == 0 ? CheckSize(rope.size()) : CheckLimit(rope.size(), to.limit));
  QR_RETURN_IF_ERROR(to.begin(rope.size()));
  QR_RETURN_IF_ERROR(rope.WriteTo(to.write));
  return outside ? WriteItems(planner.data(), data->write) : Status();
}

}  // namespace qrewrite
