// SPDX-License-Identifier: Apache-2.0
// Why: the form of the Winograd kernel for processors with AVX2 and FMA. Compiled for them (engine/CMakeLists.txt).
#if defined(__x86_64__)
#include "engine/backend/kernels/vectors/avx2.h"
#include "engine/backend/kernels/winograd/transforms.h"

namespace kinglet::engine::kernels::winograd {

constexpr Form<float> kAvx2{.lanes = Avx2::kLanes,
                            .tiles = 6,
                            .two = kTransforms<Avx2, kTwo>,
                            .four = kTransforms<Avx2, kFour>,
                            .strided_two = kTransforms<Avx2, kStridedTwo>,
                            .multiply = {{multiply<Avx2, 1, 1>, multiply<Avx2, 2, 1>, multiply<Avx2, 3, 1>,
                                          multiply<Avx2, 4, 1>, multiply<Avx2, 5, 1>, multiply<Avx2, 6, 1>},
                                         {multiply<Avx2, 1, 2>, multiply<Avx2, 2, 2>, multiply<Avx2, 3, 2>,
                                          multiply<Avx2, 4, 2>, multiply<Avx2, 5, 2>, multiply<Avx2, 6, 2>}}};

}  // namespace kinglet::engine::kernels::winograd
#endif
