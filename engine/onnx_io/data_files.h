// Data files of our own: `<model>.data` and `<model>.<n>.data` beside the model file `<model>`. A data
// file is never written anew, because the model that is there needs it until the new one is: new
// data goes under a new name, and the old file goes afterwards.
#pragma once

#include <string>
#include <vector>

#include "engine/onnx_io/output_file.h"
#include "engine/onnx_io/paths.h"

namespace qrewrite {

// The first such name of the model at `model` that is free in its folder.
std::string FreeDataFile(const std::string& model);

// A data file of that model that has just the bytes of `file`, which is finished; "" if none has.
std::string SameDataFile(const std::string& model, const OutputFile& file);

// Paths of the data files of that model that the present model file uses and that nobody will need
// when it is replaced by one that uses `kept`: no other *.onnx of the folder mentions them (none is
// told if those are too large to be looked into), and they are not among `needed`.
std::vector<std::string> ObsoleteDataFiles(const std::string& model, const std::string& kept,
                                           const std::vector<FileId>& needed);

}  // namespace qrewrite
