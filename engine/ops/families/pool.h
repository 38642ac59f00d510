// SPDX-License-Identifier: Apache-2.0
// Why: the shape and the numbers of an average over windows, for floats and for quantised numbers alike.
#pragma once

#include "engine/ops/common.h"

namespace kinglet::engine::ops {

// The shape of a pool over input 0, after checks of its attributes; nothing when the input's shape is not known.
[[nodiscard]] Result<std::optional<Shape>> pool_output(const InferContext& context);

// y = the average of x (f32, [N,C,D1..Dn]) over the windows; y has the shape that pool_output gave.
void average_pool(const Attributes& attributes, const Tensor& x, Tensor& y);

}  // namespace kinglet::engine::ops
