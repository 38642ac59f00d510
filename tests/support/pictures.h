// SPDX-License-Identifier: Apache-2.0
// Why: pictures that tests make themselves, the same on every machine, and small measures over pixels.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include "camera/frame/frame.h"

namespace kinglet::testing {

// Smooth gradients with fine noise: every channel different, every byte value present.
inline camera::Image make_picture(int width, int height, std::uint32_t seed = 1) {
  camera::Image image{width, height, {}};
  image.rgb.reserve(3 * static_cast<std::size_t>(width) * static_cast<std::size_t>(height));
  std::uint32_t state = seed * 2654435761U + 1;
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      for (int c = 0; c < 3; ++c) {
        state = state * 1664525U + 1013904223U;
        const int slope = c == 0 ? x * 255 / width : c == 1 ? y * 255 / height : (x + y) * 255 / (width + height);
        const int noise = static_cast<int>(state >> 26) - 32;
        image.rgb.push_back(static_cast<std::byte>(std::clamp(slope + noise, 0, 255)));
      }
    }
  }
  return image;
}

// FNV-1a, 64 bits: a short name for many bytes.
inline std::uint64_t digest(std::span<const std::byte> bytes) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (const std::byte byte : bytes) hash = (hash ^ std::to_integer<std::uint64_t>(byte)) * 1099511628211ULL;
  return hash;
}

// Largest difference of two bytes at the same place; 256 when the lengths differ.
inline int largest_difference(std::span<const std::byte> a, std::span<const std::byte> b) {
  if (a.size() != b.size()) return 256;
  int largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    largest = std::max(largest, std::abs(std::to_integer<int>(a[i]) - std::to_integer<int>(b[i])));
  }
  return largest;
}

inline double mean_difference(std::span<const std::byte> a, std::span<const std::byte> b) {
  if (a.size() != b.size() || a.empty()) return 256;
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += std::abs(std::to_integer<int>(a[i]) - std::to_integer<int>(b[i]));
  return sum / static_cast<double>(a.size());
}

}  // namespace kinglet::testing
