// SPDX-License-Identifier: Apache-2.0
// Why: Winograd's transforms add large numbers to get small ones; how much of an answer that may cost is one rule,
// which decides the size of tiles and is held against float64 by a test (tests/contract/kernels/).
#pragma once

#include <cmath>
#include <cstddef>
#include <limits>

namespace kinglet::engine::kernels::winograd {

// The error of any output stays below this, in times of the outputs' root mean square, for numbers without a pattern:
// roundings of `channels` sums, and of the transforms, grow with the root; the transforms of 4x4 and 2x2 outputs
// multiply them (of 4x4, 15.6 was the most that was seen, in the layers of the test).
[[nodiscard]] inline double relative_error(std::size_t size, std::size_t channels) {
  constexpr double kRounding = std::numeric_limits<float>::epsilon() / 2;
  return kRounding * (size == 4 ? 20 : 4) * std::sqrt(static_cast<double>(channels) + 16);
}

// That a layer's answer may have; tiles of 4x4 outputs keep to it up to 1110 channels.
inline constexpr double kMostError = 4e-5;

}  // namespace kinglet::engine::kernels::winograd
