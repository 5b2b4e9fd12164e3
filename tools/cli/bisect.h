// The first rewrite after which a command fails: `--bisect 'CMD {}'`.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "qrewrite/model.h"
#include "qrewrite/observer.h"
#include "qrewrite/rewrite.h"
#include "qrewrite/status.h"

namespace qrewrite::cli {

// Rewrites a model, ending after so many rewrites; the observer may be null.
using RewriteSome = std::function<Result<Report>(Model& model, std::optional<int64_t> stop_after,
                                                 Observer* observer)>;

// Runs `command`, with `{}` for the path of a model, on states of the run by halves: it succeeds (0) on a
// good one, 125 says that it cannot tell. Prints what it found. The exit code: kExitFindings if a rewrite
// is to blame. kUsage: the command fails on the model as it is, or cannot be run.
Result<int> BisectByCommand(const Model& model, const std::string& command,
                            const RewriteSome& rewrite);

}  // namespace qrewrite::cli
