// SPDX-License-Identifier: Apache-2.0
// Why: the form of the kernel of float depthwise layers for processors with AVX-512. Compiled for them
// (engine/CMakeLists.txt).
#if defined(__x86_64__)
#include "engine/backend/kernels/vectors/avx512.h"
#include "engine/backend/kernels/depthwise/walk.h"

namespace kinglet::engine::kernels::depthwise {

constexpr Form<float> kAvx512 = form_of<Avx512, 7>();

}  // namespace kinglet::engine::kernels::depthwise
#endif
