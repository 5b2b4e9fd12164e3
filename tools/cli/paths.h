// Where the results of a rewrite go, and what must not be overwritten.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "qrewrite/model.h"
#include "qrewrite/rules.h"
#include "qrewrite/status.h"

namespace qrewrite::cli {

struct OutputPaths {
  std::string model;  // "-": standard output; "" with --check
  bool in_place = false;
};

// The output for `input`: `output`, or `input` itself, or "model.<ruleset>.onnx" beside it. kUsage
// if it is the input or a rule file under whatever name (links are followed).
Result<OutputPaths> ChooseOutput(const std::string& input, const std::string& output, bool in_place,
                                 bool check, const std::vector<Rules>& sets);

// A file that tells of a run: "--html" and its path, which is "" if none is asked for.
struct ReportFile {
  std::string option, path;
};
// kUsage if one of them is the input, the output, a rule file, or another of them.
Status CheckReports(const std::vector<ReportFile>& reports, const std::string& input,
                    const std::string& output, const std::vector<Rules>& sets);
Status NotOverRules(const std::string& path, std::string_view what, const std::vector<Rules>& sets);
// kUsage if `path` is a file that the model was read from, its data files included.
Status NotOverInputs(const std::string& path, const Model& model);

// kUsage if a file that a rule set writes beside `model` would replace a rule file.
Status CheckSideFiles(const std::vector<SideFile>& files, const std::string& model,
                      const std::vector<Rules>& sets);

// Writes the model to standard output. kIo, without a message if nobody reads it.
Status WriteToStdout(const Model& model);

// Do both paths lead to one existing file?
bool SameFile(const std::string& a, const std::string& b);

}  // namespace qrewrite::cli
