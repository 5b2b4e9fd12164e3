// LSTM and GRU, of whole models alone (KernelRegistry::Evaluation()).
#pragma once

#include "engine/fold/kernel.h"

namespace qrewrite::fold {

void RegisterRecurrent(KernelRegistry& registry);

}  // namespace qrewrite::fold
