// SPDX-License-Identifier: Apache-2.0
// Why: the form of the Winograd kernel for processors with AVX-512. Compiled for them (engine/CMakeLists.txt).
#if defined(__x86_64__)
#include "engine/backend/kernels/vectors/avx512.h"
#include "engine/backend/kernels/winograd/transforms.h"

namespace kinglet::engine::kernels::winograd {

constexpr Form<float> kAvx512{
    .lanes = Avx512::kLanes,
    .tiles = 12,
    .two = kTransforms<Avx512, kTwo>,
    .four = kTransforms<Avx512, kFour>,
    .strided_two = kTransforms<Avx512, kStridedTwo>,
    .multiply = {{multiply<Avx512, 1, 1>, multiply<Avx512, 2, 1>, multiply<Avx512, 3, 1>, multiply<Avx512, 4, 1>,
                  multiply<Avx512, 5, 1>, multiply<Avx512, 6, 1>, multiply<Avx512, 7, 1>, multiply<Avx512, 8, 1>,
                  multiply<Avx512, 9, 1>, multiply<Avx512, 10, 1>, multiply<Avx512, 11, 1>, multiply<Avx512, 12, 1>},
                 {multiply<Avx512, 1, 2>, multiply<Avx512, 2, 2>, multiply<Avx512, 3, 2>, multiply<Avx512, 4, 2>,
                  multiply<Avx512, 5, 2>, multiply<Avx512, 6, 2>, multiply<Avx512, 7, 2>, multiply<Avx512, 8, 2>,
                  multiply<Avx512, 9, 2>, multiply<Avx512, 10, 2>, multiply<Avx512, 11, 2>, multiply<Avx512, 12, 2>}}};

}  // namespace kinglet::engine::kernels::winograd
#endif
