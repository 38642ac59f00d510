// SPDX-License-Identifier: Apache-2.0
// Why: what stands still in the demonstration: sky, trees, lawn, branch and feeder, and the light of the hour.
#pragma once

#include <array>

#include "camera/demo/demo_canvas.h"

namespace kinglet::camera::demo {

// From noon (0) over a golden evening to dusk (1).
[[nodiscard]] Color light_at(float evening);

// What `seed` decides about a garden; the same for every hour.
struct Garden {
  explicit Garden(std::uint64_t seed, float aspect);

  // Places to stand on: feeder tray left and right, branch left and middle.
  std::array<Point, 4> perches;
  float aspect;
  std::uint64_t seed;
  Point feeder;  // middle of the tray
  float feeder_width;
  Point branch_left;
  Point branch_right;
};

void draw_garden(Canvas& canvas, const Garden& garden, float evening);

// Leaves in front of everything, moved by the wind of `seconds`.
void draw_leaves(Canvas& canvas, const Garden& garden, float seconds);

void draw_leaf(Canvas& canvas, Point center, float size, float turns, Color color);

}  // namespace kinglet::camera::demo
