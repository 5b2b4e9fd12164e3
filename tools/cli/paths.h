// Where the results of a rewrite go, and what must not be overwritten.
#pragma once

#include <string>
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
// if it, or the file `json`, is the input or a rule file under whatever name (links are followed).
Result<OutputPaths> ChooseOutput(const std::string& input, const std::string& output, bool in_place,
                                 bool check, const std::string& json,
                                 const std::vector<Rules>& sets);

// kUsage if a file that a rule set writes beside `model` would replace a rule file.
Status CheckSideFiles(const std::vector<SideFile>& files, const std::string& model,
                      const std::vector<Rules>& sets);

// Writes the model to standard output. kIo, without a message if nobody reads it.
Status WriteToStdout(const Model& model);

// Do both paths lead to one existing file?
bool SameFile(const std::string& a, const std::string& b);

}  // namespace qrewrite::cli
