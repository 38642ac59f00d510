// SPDX-License-Identifier: Apache-2.0
// Why: the form of the kernel of float depthwise layers that any processor has: the twin of the others.
#include "engine/backend/kernels/vectors/scalar.h"
#include "engine/backend/kernels/depthwise/walk.h"

namespace kinglet::engine::kernels::depthwise {

constexpr Form kScalar = form_of<Scalar, 4>();

}  // namespace kinglet::engine::kernels::depthwise
