// SPDX-License-Identifier: Apache-2.0
// Why: the form of the Winograd kernel for processors with AVX-512. Compiled for them (engine/CMakeLists.txt).
#if defined(__x86_64__)
#include "engine/backend/kernels/vectors/avx512.h"
#include "engine/backend/kernels/winograd/transforms.h"

namespace kinglet::engine::kernels::winograd {

constexpr Form<float> kAvx512 = form_of<Avx512, 12>();

}  // namespace kinglet::engine::kernels::winograd
#endif
