// SPDX-License-Identifier: Apache-2.0
// Why: families that compute in double write their results as the type of the output has them.
#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>

namespace kinglet::engine::ops {

// Integers are truncated; what 64 bits cannot hold becomes 0.
template <typename T>
T from_real(double value) {
  if constexpr (std::is_same_v<T, float>) {
    return static_cast<float>(value);
  } else {
    return std::abs(value) < 9e18 ? static_cast<T>(static_cast<std::int64_t>(value)) : T{0};
  }
}

}  // namespace kinglet::engine::ops
