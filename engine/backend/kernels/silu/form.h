// SPDX-License-Identifier: Apache-2.0
// Why: what the SiLU kernel (silu_f32.cpp) leaves to a processor: numbers in a row. A form is compiled for its
// processor alone, so that its file takes no code from elsewhere that others might get to run.
#pragma once

#include <cstddef>

namespace kinglet::engine::kernels::silu {

// Writes x / (1 + exp(-x)) of each of `count` numbers; `to` may be `from`. Reads up to 64 bytes behind them.
using Form = void (*)(const float* from, float* to, std::size_t count);

void run_scalar(const float* from, float* to, std::size_t count);
#if defined(__x86_64__)
void run_avx2(const float* from, float* to, std::size_t count);
void run_avx512(const float* from, float* to, std::size_t count);
#elif defined(__aarch64__)
void run_neon(const float* from, float* to, std::size_t count);
#endif

}  // namespace kinglet::engine::kernels::silu
