// SPDX-License-Identifier: Apache-2.0
// Why: Winograd's transforms add large numbers to get small ones; how much of an answer that may cost is one rule,
// which decides the size of tiles and is held against float64 by a test (tests/contract/kernels/).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "engine/backend/kernels/winograd/form.h"
#include "engine/backend/kernels/winograd/scheme.h"

namespace kinglet::engine::kernels::winograd {

template <typename Number>
inline constexpr double kRounding = sizeof(Number) == sizeof(Half) ? 0x1p-11 : 0x1p-24;

// The error of any output stays below this, in times of the outputs' root mean square, for numbers without a pattern:
// roundings of a sum's products, and of the transforms, grow with the root; the transforms multiply them (those of 4x4
// outputs by 17 at most, as far as was seen, in the layers of the test).
template <typename Number>
[[nodiscard]] double relative_error(const Scheme& scheme, std::size_t channels) {
  const std::size_t products = scheme.points_of(0) * channels;
  const auto summed = static_cast<double>(std::min(products, kMostSummed<Number>));
  const double sums = static_cast<double>(products) / static_cast<double>(kMostSummed<Number>);
  return kRounding<Number> * scheme.error * std::sqrt(summed + sums + 24);
}

// That a layer's answer may have. Tiles of 4x4 outputs keep to it up to 1100 channels of floats and 630 of float16; the
// sums of all products, one after the other, that XNNPACK has of float16 lose more from 200 channels on.
template <typename Number>
inline constexpr double kMostError = sizeof(Number) == sizeof(Half) ? 0.085 : 4e-5;

}  // namespace kinglet::engine::kernels::winograd
