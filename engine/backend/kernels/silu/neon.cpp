// SPDX-License-Identifier: Apache-2.0
// Why: the form of the SiLU kernel for ARM's 64-bit processors, which all have these vectors.
#if defined(__aarch64__)
#include "engine/backend/kernels/vectors/neon.h"
#include "engine/backend/kernels/silu/form.h"
#include "engine/backend/kernels/silu/numbers.h"

namespace kinglet::engine::kernels::silu {

void run_neon(const float* from, float* to, std::size_t count) { run<Neon>(from, to, count); }

}  // namespace kinglet::engine::kernels::silu
#endif
