// SPDX-License-Identifier: Apache-2.0
// Why: the forms of the kernel of depthwise layers that any processor has: the twins of the others.
#include "engine/backend/kernels/vectors/scalar.h"
#include "engine/backend/kernels/depthwise/walk.h"
#include "engine/backend/kernels/vectors/scalar_half.h"

namespace kinglet::engine::kernels::depthwise {

constexpr Form<float> kScalar = form_of<Scalar, 4>();
constexpr Form<Half> kScalarHalf = form_of<ScalarHalf, 4>();

}  // namespace kinglet::engine::kernels::depthwise
