// SPDX-License-Identifier: Apache-2.0
// Why: what the demonstration's scene is drawn of: what stands still (sky, trees, lawn, branch and feeder, in the light
// of the hour) and the visitors. They are no real species: four outlines, each in two plumages, so that a model has to
// look at shape and at colour.
#pragma once

#include <array>
#include <string_view>

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

// One of kSpeciesCount; names in the order of the species, then "background".
inline constexpr std::size_t kSpeciesCount = 8;
inline constexpr std::array<std::string_view, kSpeciesCount + 1> kLabels{
    "Rufous demofinch",         "Golden demofinch",      "Blue-capped demotit",
    "Black-capped demotit",     "Spotted demothrush",    "Plain demothrush",
    "Crimson-naped demopecker", "Grey-naped demopecker", "background"};

struct Pose {
  Point feet;         // where it stands; in flight, below the belly
  float size = 0.3F;  // from feet to crown
  float facing = 1;   // 1: to the right, -1: to the left
  float tilt = 0;     // turns, forward positive: pecking
  float wing = 0;     // 0 folded, up to 1 spread in flight
  float flap = 0;     // -1 to 1 while spread
};

// The box that holds what was drawn, in scene coordinates.
struct Extent {
  Point low{1e9F, 1e9F};
  Point high{-1e9F, -1e9F};
  void include(Point point);
};

Extent draw_bird(Canvas& canvas, std::size_t species, const Pose& pose);

}  // namespace kinglet::camera::demo
