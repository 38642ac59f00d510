// SPDX-License-Identifier: Apache-2.0
// Why: the form of the Winograd kernel for ARM's 64-bit processors, which all have these vectors.
#if defined(__aarch64__)
#include "engine/backend/kernels/vectors/neon.h"
#include "engine/backend/kernels/winograd/woven_products.h"

namespace kinglet::engine::kernels::winograd {

constexpr Form<float> kNeon = woven_form<Neon, woven::kNeon>();

}  // namespace kinglet::engine::kernels::winograd
#endif
