// SPDX-License-Identifier: Apache-2.0
#include "engine/backend/kernels/kernel.h"

#include <array>

#include "engine/backend/kernels/rows.h"

namespace kinglet::engine::kernels {
namespace {

constexpr std::array kRows{
#define KINGLET_KERNEL(file, variable) &variable,
#include "engine/backend/kernels/kernels.def"
#undef KINGLET_KERNEL
};

}  // namespace

std::span<const KernelRow* const> all_kernels() { return kRows; }

}  // namespace kinglet::engine::kernels
