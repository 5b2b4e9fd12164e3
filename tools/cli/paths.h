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

// Writes model and side files: all of them or none. kUsage if a side file would replace the input.
Status SaveModel(Model& model, const OutputPaths& paths, const std::string& input,
                 std::vector<SideFile> files);

// Do both paths lead to one existing file?
bool SameFile(const std::string& a, const std::string& b);

}  // namespace qrewrite::cli
