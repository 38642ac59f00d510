// SPDX-License-Identifier: Apache-2.0
// Why: the form of the Winograd kernel of float16 for ARM's processors that compute in it. Compiled for them
// (engine/CMakeLists.txt).
#if defined(__aarch64__)
#include "engine/backend/kernels/vectors/neon_half.h"
#include "engine/backend/kernels/winograd/woven_products.h"

namespace kinglet::engine::kernels::winograd {

constexpr Form<Half> kNeonHalf = woven_form<NeonHalf, woven::kNeonHalf>();

}  // namespace kinglet::engine::kernels::winograd
#endif
