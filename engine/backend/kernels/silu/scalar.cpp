// SPDX-License-Identifier: Apache-2.0
// Why: the form of the SiLU kernel that any processor has: the twin of the others.
#include "engine/backend/kernels/vectors/scalar.h"
#include "engine/backend/kernels/silu/form.h"
#include "engine/backend/kernels/silu/numbers.h"

namespace kinglet::engine::kernels::silu {

void run_scalar(const float* from, float* to, std::size_t count) { run<Scalar>(from, to, count); }

}  // namespace kinglet::engine::kernels::silu
