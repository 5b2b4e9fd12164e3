// Sizes for what a model leaves open: nothing in the file says which ones it can be run with, so some are tried.
#pragma once

#include <string>
#include <vector>

#include "engine/verify/inputs.h"
#include "qrewrite/evaluator.h"

namespace qrewrite {

// The first sizes among `preferred`, and then among those that are always tried, small ones first, with which
// `session` runs the first `samples` samples of `maker` to results that are not one number all over; else the first with
// which it runs. What would have some million elements is left out. If it does not run at all: why not with the
// smallest, and a hint that lists what was tried.
Result<InputMaker::Sizes> ChooseSizes(const InputMaker& maker, Session& session, int samples,
                                      const std::vector<InputMaker::Sizes>& preferred = {});

// "2 and 3"; "2 or 3": all are equal; "64 and 96, the first 1".
std::string Text(const InputMaker::Sizes& sizes);

}  // namespace qrewrite
