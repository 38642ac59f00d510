// SPDX-License-Identifier: Apache-2.0
// Why: where 8-bit levels lie and what they are cut at, as vectors of 16 bytes read it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace kinglet::engine::kernels {

struct alignas(16) LevelBounds {
  static constexpr std::size_t kBytes = 16;

  LevelBounds() = default;
  LevelBounds(std::int32_t zero_point, std::int8_t lowest, std::int8_t highest) {
    for (std::int16_t& level : zero) level = static_cast<std::int16_t>(zero_point);
    for (std::int8_t& level : least) level = lowest;
    for (std::int8_t& level : most) level = highest;
  }
  // largest: of the sums times their factors, without a sign.
  void open_for(double largest) { is_open = least[0] == -128 && most[0] == 127 && largest < 0x1p30; }

  std::int16_t zero[kBytes / 2]{};
  std::int8_t least[kBytes]{}, most[kBytes]{};
  // All levels of a byte, of sums that times their factors are whole numbers of 32 bits.
  bool is_open = false;
};

}  // namespace kinglet::engine::kernels
