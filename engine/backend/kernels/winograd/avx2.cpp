// SPDX-License-Identifier: Apache-2.0
// Why: the form of the Winograd kernel for processors with AVX2 and FMA. Compiled for them (engine/CMakeLists.txt).
#if defined(__x86_64__)
#include "engine/backend/kernels/vectors/avx2.h"
#include "engine/backend/kernels/winograd/transforms.h"

namespace kinglet::engine::kernels::winograd {

constexpr Form<float> kAvx2 = form_of<Avx2, 6>();

}  // namespace kinglet::engine::kernels::winograd
#endif
