// Operators of detectors, samplers and signals, of whole models alone (KernelRegistry::Evaluation()).
#pragma once

#include "engine/fold/kernel.h"

namespace qrewrite::fold {

void RegisterUnpool(KernelRegistry& registry);
void RegisterRegions(KernelRegistry& registry);
void RegisterSampling(KernelRegistry& registry);
void RegisterSignal(KernelRegistry& registry);

}  // namespace qrewrite::fold
