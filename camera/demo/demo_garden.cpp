// SPDX-License-Identifier: Apache-2.0
#include "camera/demo/demo_parts.h"

#include <algorithm>

namespace kinglet::camera::demo {
namespace {

constexpr Color kWood{0.47F, 0.34F, 0.22F};
constexpr Color kBark{0.30F, 0.23F, 0.17F};

void draw_background(Canvas& canvas, const Garden& garden, float evening) {
  Random random(garden.seed, 11);
  const Color zenith = mix({0.36F, 0.58F, 0.86F}, {0.30F, 0.25F, 0.42F}, evening);
  const Color low_sky = mix({0.80F, 0.88F, 0.94F}, {0.96F, 0.62F, 0.36F}, evening);
  const float horizon = random.between(0.50F, 0.66F);
  canvas.fill_rows(0, horizon, zenith, low_sky);
  canvas.fill_rows(horizon, 1, {0.46F, 0.60F, 0.30F}, {0.30F, 0.46F, 0.20F});
  const int trees = 14 + random.below(10);
  for (int i = 0; i < trees; ++i) {
    const Point center{random.between(-0.1F, garden.aspect + 0.1F), horizon - random.between(-0.04F, 0.22F)};
    const Color green{random.between(0.14F, 0.36F), random.between(0.32F, 0.52F), random.between(0.12F, 0.26F)};
    const float cover = random.between(0.5F, 0.95F);
    canvas.fill_blur(center, random.between(0.08F, 0.22F), green, cover);
  }
  // Flowers out of focus: spots of the colours that plumages have too.
  const int flowers = 4 + random.below(10);
  constexpr Color kFlowers[] = {{0.85F, 0.20F, 0.16F}, {0.95F, 0.80F, 0.20F}, {0.30F, 0.40F, 0.85F},
                                {0.95F, 0.95F, 0.92F}, {0.75F, 0.35F, 0.60F}, {0.20F, 0.18F, 0.18F}};
  for (int i = 0; i < flowers; ++i) {
    const Point center{random.between(0, garden.aspect), random.between(horizon, 0.98F)};
    const float cover = random.between(0.4F, 0.9F);
    const Color color = kFlowers[random.below(6)];
    canvas.fill_blur(center, random.between(0.008F, 0.04F), color, cover);
  }
}

void draw_branch(Canvas& canvas, const Garden& garden) {
  Random random(garden.seed, 12);
  const Point from = garden.branch_left;
  const Point to = garden.branch_right;
  canvas.fill_line({from.x - 0.05F, from.y + 0.012F}, {to.x, to.y + 0.012F}, 0.050F, 0.020F, scaled(kBark, 0.75F));
  canvas.fill_line({from.x - 0.05F, from.y}, to, 0.042F, 0.016F, kBark);
  const int twigs = 3 + random.below(4);
  for (int i = 0; i < twigs; ++i) {
    const float share = random.between(0.1F, 0.95F);
    const Point root{from.x + (to.x - from.x) * share, from.y + (to.y - from.y) * share};
    const Point tip{root.x + random.between(0.03F, 0.14F), root.y + random.between(-0.13F, 0.16F)};
    canvas.fill_line(root, tip, 0.012F, 0.004F, kBark);
    const Color color{random.between(0.25F, 0.55F), random.between(0.42F, 0.60F), 0.16F};
    const float turns = random.between(0, 1);
    draw_leaf(canvas, tip, random.between(0.02F, 0.045F), turns, color);
  }
}

void draw_feeder(Canvas& canvas, const Garden& garden) {
  Random random(garden.seed, 13);
  const Point tray = garden.feeder;
  const float half = garden.feeder_width * 0.5F;
  const Color wood =
      mix(kWood, {random.between(0.3F, 0.6F), random.between(0.3F, 0.5F), random.between(0.2F, 0.4F)}, 0.5F);
  canvas.fill_line({tray.x, tray.y}, {tray.x, 1.05F}, 0.045F, 0.055F, scaled(wood, 0.7F));
  const float tube = half * 0.34F;
  const Point glass[] = {{tray.x - tube, tray.y - 0.40F},
                         {tray.x + tube, tray.y - 0.40F},
                         {tray.x + tube, tray.y},
                         {tray.x - tube, tray.y}};
  canvas.fill_polygon(glass, {0.82F, 0.86F, 0.86F}, 0.75F);
  const float level = tray.y - random.between(0.10F, 0.34F);
  const Point seeds[] = {{tray.x - tube * 0.92F, level},
                         {tray.x + tube * 0.92F, level},
                         {tray.x + tube * 0.92F, tray.y},
                         {tray.x - tube * 0.92F, tray.y}};
  canvas.fill_polygon(seeds, {0.56F, 0.44F, 0.28F});
  for (int i = 0; i < 70; ++i) {
    const float shade = random.between(0.15F, 0.85F);
    const float turns = random.between(0, 1);
    canvas.fill_ellipse({tray.x + random.between(-tube, tube) * 0.85F, random.between(level, tray.y - 0.01F)}, 0.006F,
                        0.004F, turns, {shade, shade * 0.85F, shade * 0.6F});
  }
  const Point roof[] = {
      {tray.x - half * 0.9F, tray.y - 0.38F}, {tray.x, tray.y - 0.52F}, {tray.x + half * 0.9F, tray.y - 0.38F}};
  canvas.fill_polygon(roof, scaled(wood, 0.85F));
  canvas.fill_line({tray.x - half, tray.y + 0.012F}, {tray.x + half, tray.y + 0.012F}, 0.034F, 0.034F, wood);
  canvas.fill_line({tray.x - half, tray.y + 0.030F}, {tray.x + half, tray.y + 0.030F}, 0.012F, 0.012F,
                   scaled(wood, 0.6F));
}

}  // namespace

Color light_at(float evening) {
  constexpr Color kNoon{1, 1, 1};
  constexpr Color kGolden{0.92F, 0.76F, 0.60F};
  constexpr Color kDusk{0.44F, 0.41F, 0.50F};
  return evening < 0.5F ? mix(kNoon, kGolden, evening * 2) : mix(kGolden, kDusk, evening * 2 - 1);
}

Garden::Garden(std::uint64_t garden_seed, float picture_aspect) : aspect(picture_aspect), seed(garden_seed) {
  Random random(seed, 10);
  feeder = {aspect * random.between(0.42F, 0.72F), random.between(0.70F, 0.80F)};
  feeder_width = random.between(0.44F, 0.60F);
  branch_left = {0, random.between(0.44F, 0.62F)};
  branch_right = {aspect * random.between(0.30F, 0.46F), random.between(0.40F, 0.60F)};
  const auto on_branch = [&](float share) {
    return Point{branch_left.x + (branch_right.x - branch_left.x) * share,
                 branch_left.y + (branch_right.y - branch_left.y) * share - 0.014F};
  };
  perches = {Point{feeder.x - feeder_width * 0.34F, feeder.y}, Point{feeder.x + feeder_width * 0.34F, feeder.y},
             on_branch(0.42F), on_branch(0.78F)};
}

void draw_garden(Canvas& canvas, const Garden& garden, float evening) {
  draw_background(canvas, garden, evening);
  draw_branch(canvas, garden);
  draw_feeder(canvas, garden);
}

void draw_leaf(Canvas& canvas, Point center, float size, float turns, Color color) {
  canvas.fill_ellipse(center, size, size * 0.45F, turns, color);
  const Point along{cosine(turns) * size * 0.9F, sine(turns) * size * 0.9F};
  canvas.fill_line({center.x - along.x, center.y - along.y}, {center.x + along.x, center.y + along.y}, size * 0.10F,
                   size * 0.05F, scaled(color, 0.7F));
}

void draw_leaves(Canvas& canvas, const Garden& garden, float seconds) {
  Random random(garden.seed, 14);
  const int count = 6 + random.below(8);
  for (int i = 0; i < count; ++i) {
    const bool top = random.chance(0.6F);
    const Point rest{random.between(0, garden.aspect),
                     top ? random.between(-0.02F, 0.14F) : random.between(0.90F, 1.02F)};
    const float pace = random.between(0.1F, 0.3F);
    const float sway = sine(seconds * pace + random.between(0, 1));
    const Color color{random.between(0.20F, 0.66F), random.between(0.36F, 0.58F), random.between(0.08F, 0.22F)};
    const float turns = random.between(0, 1) + sway * 0.02F;
    draw_leaf(canvas, {rest.x + sway * 0.008F, rest.y + sway * 0.004F}, random.between(0.03F, 0.08F), turns, color);
  }
}

}  // namespace kinglet::camera::demo
