// SPDX-License-Identifier: Apache-2.0
// Why: a part of a picture that means the same at every size: in fractions of its sides.
#pragma once

namespace kinglet {

// 0 <= left, top; 0 < width, height; left + width and top + height at most 1.
struct Area {
  double left = 0;
  double top = 0;
  double width = 1;
  double height = 1;

  bool operator==(const Area&) const = default;
};

}  // namespace kinglet
