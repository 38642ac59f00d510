// SPDX-License-Identifier: Apache-2.0
// Why: rows of bytes that loops over pixels are tried with.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

namespace kinglet::camera {

// Noise, or only the darkest and the brightest, where sums are largest.
inline std::vector<std::uint8_t> make_bytes(std::mt19937& random, std::size_t count) {
  const bool extreme = random() % 2 == 0;
  std::vector<std::uint8_t> bytes(count);
  for (std::uint8_t& byte : bytes) {
    byte = static_cast<std::uint8_t>(extreme ? (random() % 4 == 0 ? 0 : 255) : random() % 256);
  }
  return bytes;
}

}  // namespace kinglet::camera
