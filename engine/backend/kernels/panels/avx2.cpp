// SPDX-License-Identifier: Apache-2.0
// Why: the form of the kernel of panels for processors with AVX2 and FMA. Compiled for them (engine/CMakeLists.txt).
#if defined(__x86_64__)
#include "engine/backend/kernels/vectors/avx2.h"
#include "engine/backend/kernels/panels/multiply.h"

namespace kinglet::engine::kernels::panels {

constexpr Form kAvx2 = form_of<Avx2, 6, 2>();

}  // namespace kinglet::engine::kernels::panels
#endif
