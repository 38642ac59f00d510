// SPDX-License-Identifier: Apache-2.0
// Why: the form of the Winograd kernel that any processor has: the twin of the others.
#include "engine/backend/kernels/vectors/scalar.h"
#include "engine/backend/kernels/winograd/transforms.h"

namespace kinglet::engine::kernels::winograd {

constexpr Form kScalar{.lanes = Scalar::kLanes,
                       .tiles = 3,
                       .two = kTransforms<Scalar, 2>,
                       .four = kTransforms<Scalar, 4>,
                       .multiply = {{multiply<Scalar, 1, 1>, multiply<Scalar, 2, 1>, multiply<Scalar, 3, 1>},
                                    {multiply<Scalar, 1, 2>, multiply<Scalar, 2, 2>, multiply<Scalar, 3, 2>}}};

}  // namespace kinglet::engine::kernels::winograd
