// SPDX-License-Identifier: Apache-2.0
// Why: a part of a picture: in fractions of its sides, which means the same at every size, or in pixels.
#pragma once

#include <algorithm>

namespace kinglet {

// 0 <= left, top; 0 < width, height; left + width and top + height at most 1.
struct Area {
  double left = 0;
  double top = 0;
  double width = 1;
  double height = 1;

  bool operator==(const Area&) const = default;
  [[nodiscard]] constexpr double size() const { return width * height; }
};

struct CropRect {
  int x = 0;
  int y = 0;
  int width = 0;
  int height = 0;

  bool operator==(const CropRect&) const = default;
};

[[nodiscard]] constexpr Area united(const Area& a, const Area& b) {
  const double left = std::min(a.left, b.left);
  const double top = std::min(a.top, b.top);
  return {.left = left,
          .top = top,
          .width = std::max(a.left + a.width, b.left + b.width) - left,
          .height = std::max(a.top + a.height, b.top + b.height) - top};
}

// The size of what both have.
[[nodiscard]] constexpr double overlap(const Area& a, const Area& b) {
  const double width = std::min(a.left + a.width, b.left + b.width) - std::max(a.left, b.left);
  const double height = std::min(a.top + a.height, b.top + b.height) - std::max(a.top, b.top);
  return std::max(0.0, width) * std::max(0.0, height);
}

}  // namespace kinglet
