// The convolution that spreads: ConvTranspose.
#pragma once

#include "engine/fold/kernel.h"

namespace qrewrite::fold {

void RegisterTransposed(KernelRegistry& registry);

}  // namespace qrewrite::fold
