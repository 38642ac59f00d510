// SPDX-License-Identifier: Apache-2.0
// Why: the shape and the exact sums of a convolution, for floats and for quantised numbers alike.
//   x [N,C,D1..Dn], w [M,C/group,k1..kn]  ->  [N,M,E1..En]
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "engine/ops/common.h"

namespace kinglet::engine::ops {

// The output's shape for the inputs `x` and `w`, after checks of group, kernel_shape and the window; nothing when a
// shape is not known.
[[nodiscard]] Result<std::optional<Shape>> conv_output(const InferContext& context, std::size_t x, std::size_t w);

struct Numbers {
  const Shape& shape;
  std::span<const float> values;
};
// plane index n * M + m, channel m, sums of the plane. Sums of whole numbers below 2^53 are exact.
using PlaneDone = std::function<void(std::int64_t plane, std::int64_t channel, std::span<const double> sums)>;

// Attributes and shapes as conv_output has checked them; padding counts as 0.
void convolve(const Attributes& attributes, const Numbers& x, const Numbers& w, const Shape& y, const PlaneDone& done);

}  // namespace kinglet::engine::ops
