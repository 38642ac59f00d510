// SPDX-License-Identifier: Apache-2.0
// Why: the form of the kernel of panels that any processor has: the twin of the others.
#include "engine/backend/kernels/vectors/scalar.h"
#include "engine/backend/kernels/panels/multiply.h"

namespace kinglet::engine::kernels::panels {

constexpr Form kScalar = form_of<Scalar, 3, 2>();

}  // namespace kinglet::engine::kernels::panels
