// SPDX-License-Identifier: Apache-2.0
// Why: the form of the SiLU kernel for processors with AVX2 and FMA. Compiled for them (engine/CMakeLists.txt).
#if defined(__x86_64__)
#include "engine/backend/kernels/vectors/avx2.h"
#include "engine/backend/kernels/silu/form.h"
#include "engine/backend/kernels/silu/numbers.h"

namespace kinglet::engine::kernels::silu {

void run_avx2(const float* from, float* to, std::size_t count) { run<Avx2>(from, to, count); }

}  // namespace kinglet::engine::kernels::silu
#endif
