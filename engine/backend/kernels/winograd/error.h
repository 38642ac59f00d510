// SPDX-License-Identifier: Apache-2.0
// Why: Winograd's transforms add large numbers to get small ones; how much of an answer that may cost is one rule,
// which decides the size of tiles and is held against float64 by a test (tests/contract/kernels/).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "engine/backend/kernels/winograd/form.h"

namespace kinglet::engine::kernels::winograd {

template <typename Number>
inline constexpr double kRounding = sizeof(Number) == sizeof(Half) ? 0x1p-11 : 0x1p-24;

// The error of any output stays below this, in times of the outputs' root mean square, for numbers without a pattern:
// roundings of `channels` sums, and of the transforms, grow with the root; the transforms of 4x4 and 2x2 outputs
// multiply them (of 4x4, 17 was the most that was seen, in the layers of the test).
template <typename Number>
[[nodiscard]] double relative_error(std::size_t size, std::size_t channels) {
  const auto summed = static_cast<double>(std::min(channels, kMostSummed<Number>));
  const double sums = static_cast<double>(channels) / static_cast<double>(kMostSummed<Number>);
  return kRounding<Number> * (size == 4 ? 20 : 4) * std::sqrt(summed + sums + 24);
}

// That a layer's answer may have. Tiles of 4x4 outputs keep to it up to 1100 channels of floats and 630 of float16; the
// sums of all products, one after the other, that XNNPACK has of float16 lose more from 200 channels on.
template <typename Number>
inline constexpr double kMostError = sizeof(Number) == sizeof(Half) ? 0.085 : 4e-5;

}  // namespace kinglet::engine::kernels::winograd
