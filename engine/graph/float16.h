// SPDX-License-Identifier: Apache-2.0
// Why: binary16 storage conversions (IEEE 754-2019, 3.6), rounding to nearest even; both compilers have _Float16.
#pragma once

#include <bit>

#include "engine/graph/data_type.h"

namespace kinglet::engine {

[[nodiscard]] inline float to_float(Half half) {
  __extension__ using Native = _Float16;
  return static_cast<float>(std::bit_cast<Native>(half));
}

[[nodiscard]] inline Half to_half(float value) {
  __extension__ using Native = _Float16;
  return std::bit_cast<Half>(static_cast<Native>(value));
}

// What arithmetic takes of an element: f16 as float, the others as they are.
template <typename T>
[[nodiscard]] T widened(T value) {
  return value;
}
[[nodiscard]] inline float widened(Half value) { return to_float(value); }

}  // namespace kinglet::engine
