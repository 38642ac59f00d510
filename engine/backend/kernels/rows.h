// SPDX-License-Identifier: Apache-2.0
// Why: declares every row of kernels.def, so that a kernel's file may define it as a constant that others see.
#pragma once

#include "engine/backend/kernels/kernel.h"

namespace kinglet::engine::kernels {

#define KINGLET_KERNEL(file, variable) extern const KernelRow variable;
#include "engine/backend/kernels/kernels.def"
#undef KINGLET_KERNEL

}  // namespace kinglet::engine::kernels
