#include "tools/cli/paths.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include <sys/stat.h>

#include <fmt/format.h>

#include "engine/base/diagnostics.h"

namespace qrewrite::cli {
namespace {

namespace fs = std::filesystem;

// "a/model.onnx" and `ezkl` -> "a/model.ezkl.onnx".
std::string DefaultOutput(const std::string& input, const std::vector<Rules>& sets) {
  fs::path path(input);
  const std::string ending = path.extension() == ".onnx" ? ".onnx" : "";
  std::string name = ending.empty() ? path.filename().string() : path.stem().string();
  for (const Rules& rules : sets) name += "." + rules.name();
  return path.replace_filename(name + ".onnx").string();
}

Status NotOver(const std::string& output, std::string_view what, const std::string& protected_file,
               std::string_view is) {
  if (!SameFile(output, protected_file)) return {};
  return {StatusCode::kUsage, fmt::format("{} `{}` is {}", what, Printable(output, 1000), is)};
}

}  // namespace

bool SameFile(const std::string& a, const std::string& b) {
  struct stat first = {}, second = {};
  return stat(a.c_str(), &first) == 0 && stat(b.c_str(), &second) == 0 &&
         first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

Status NotOverRules(const std::string& path, std::string_view what,
                    const std::vector<Rules>& sets) {
  for (const Rules& rules : sets) {
    for (const std::string& file : rules.files()) {
      QR_RETURN_IF_ERROR(NotOver(path, what, file, "a rule file"));
    }
  }
  return {};
}

// Asked of what writes files and knows what was read; it is stopped before it writes.
Status NotOverInputs(const std::string& path, const Model& model) {
  std::error_code unused;
  if (!fs::is_regular_file(path, unused)) return {};  // as all that is read; a pipe opens once
  SaveOptions options;
  options.side_files = {{path, ""}};
  options.before_commit = [](const std::vector<std::string>&) {
    return Status(StatusCode::kCancelled, "");
  };
  const Status status = model.SaveSideFiles(options);
  return status.code() == StatusCode::kUsage ? status : Status();
}

Status CheckReports(const std::vector<ReportFile>& reports, const std::string& input,
                    const std::string& output, const std::vector<Rules>& sets) {
  for (size_t i = 0; i < reports.size(); ++i) {
    const auto& [option, path] = reports[i];
    if (path.empty() || path == "-") continue;
    QR_RETURN_IF_ERROR(NotOver(path, option, input, "the model itself"));
    QR_RETURN_IF_ERROR(NotOverRules(path, option, sets));
    const auto is_one = [&, path = path](const std::string& other) {
      return path == other || SameFile(path, other);
    };
    if (is_one(output)) {
      return {StatusCode::kUsage, fmt::format("the output and {} are one file", option)};
    }
    for (size_t k = 0; k < i; ++k) {
      if (!is_one(reports[k].path)) continue;
      return {StatusCode::kUsage, fmt::format("{} and {} are one file", reports[k].option, option)};
    }
  }
  return {};
}

Result<OutputPaths> ChooseOutput(const std::string& input, const std::string& output, bool in_place,
                                 bool check, const std::vector<Rules>& sets) {
  OutputPaths paths{.in_place = in_place};
  if (check) return paths;
  if (in_place) {
    paths.model = input;
    return paths;
  }
  paths.model = output.empty() ? DefaultOutput(input, sets) : output;
  if (paths.model == "/dev/stdout" || paths.model == "/dev/fd/1") paths.model = "-";
  if (paths.model == "-") return paths;
  constexpr std::string_view kOutput = "the output";
  QR_RETURN_IF_ERROR(
      NotOver(paths.model, kOutput, input, "the model itself; --in-place replaces it"));
  QR_RETURN_IF_ERROR(NotOverRules(paths.model, kOutput, sets));
  return paths;
}

Status CheckSideFiles(const std::vector<SideFile>& files, const std::string& model,
                      const std::vector<Rules>& sets) {
  for (const SideFile& file : files) {
    const fs::path folder = file.beside_model ? fs::path(model).parent_path() : fs::path();
    QR_RETURN_IF_ERROR(NotOverRules((folder / file.path).string(), "the file", sets));
  }
  return {};
}

Status WriteToStdout(const Model& model) {
  QR_ASSIGN_OR_RETURN(const std::string bytes, model.Serialize());
  errno = 0;
  if (std::fwrite(bytes.data(), 1, bytes.size(), stdout) == bytes.size() &&
      std::fflush(stdout) == 0) {
    return {};
  }
  if (errno == EPIPE) return {StatusCode::kIo, std::vector<Diagnostic>()};
  return {StatusCode::kIo,
          fmt::format("cannot write to standard output: {}", std::strerror(errno))};
}

}  // namespace qrewrite::cli
