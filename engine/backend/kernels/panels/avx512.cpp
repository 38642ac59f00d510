// SPDX-License-Identifier: Apache-2.0
// Why: the form of the kernel of panels for processors with AVX-512. Compiled for them (engine/CMakeLists.txt).
#if defined(__x86_64__)
#include "engine/backend/kernels/vectors/avx512.h"
#include "engine/backend/kernels/panels/multiply.h"

namespace kinglet::engine::kernels::panels {

constexpr Form kAvx512 = form_of<Avx512, 12, 2>();

}  // namespace kinglet::engine::kernels::panels
#endif
