// SPDX-License-Identifier: Apache-2.0
// Why: what a family does alike for floats and for quantised numbers: its own file has it, and qlinear.cpp uses it too.
#pragma once

#include <cstdint>
#include <optional>

#include "engine/ops/common.h"

namespace kinglet::engine::ops {

// --- pool.cpp --------------------------------------------------------------------------------------------------------

// The shape of a pool over input 0, after checks of its attributes; nothing when the input's shape is not known.
[[nodiscard]] Result<std::optional<Shape>> pool_output(const InferContext& context);

// y = the average of x (f32, [N,C,D1..Dn]) over the windows; y has the shape that pool_output gave.
void average_pool(const Attributes& attributes, const Tensor& x, Tensor& y);

// --- concat.cpp ------------------------------------------------------------------------------------------------------

// The shape of input `index` behind `joined` on the attribute axis; the first one is taken as it is, and one that is
// not known yet changes nothing. An error: they do not fit.
[[nodiscard]] Result<void> join_shapes(InferContext& context, std::size_t index, std::int64_t default_axis,
                                       std::optional<Shape>& joined);

}  // namespace kinglet::engine::ops
