// SPDX-License-Identifier: Apache-2.0
// Why: the demonstration draws its own pictures: a small software canvas with smooth edges. Only operations that IEEE
// 754 fixes to the last bit are used (no libm), so that a frame is the same on every machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "camera/frame/frame.h"

namespace kinglet::camera::demo {

// Scene coordinates: y from 0 (top) to 1 (bottom), x from 0 to the aspect ratio.
struct Point {
  float x = 0;
  float y = 0;
};

struct Color {
  float red = 0;  // 0 to 1
  float green = 0;
  float blue = 0;
};

[[nodiscard]] Color mix(Color a, Color b, float share_of_b);
[[nodiscard]] Color scaled(Color color, float factor);

// Sine and cosine of turns (1 = a full circle) by polynomial; error under 0.002, enough to draw by.
[[nodiscard]] float sine(float turns);
[[nodiscard]] float cosine(float turns);

// SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014). Ask once an expression: C++
// does not say which argument of a call comes first, and compilers differ.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  // Independent of `a` but decided by both.
  Random(std::uint64_t a, std::uint64_t b) : state_(a * 0x9E3779B97F4A7C15ULL ^ b * 0xD1B54A32D192ED03ULL) { next(); }
  std::uint64_t next();
  [[nodiscard]] float between(float low, float high);
  [[nodiscard]] int below(int count);  // 0 to count - 1
  [[nodiscard]] bool chance(float probability) { return between(0, 1) < probability; }

 private:
  std::uint64_t state_;
};

// What was in an image before something was drawn there.
class Undo {
 public:
  // These bytes of the image are about to change.
  void keep(const Image& image, std::size_t at, std::size_t size);
  // All as it was, the newest first.
  void take_back(Image& image);

 private:
  struct Run {
    std::size_t at = 0;
    std::size_t size = 0;
  };
  std::vector<Run> runs_;
  std::vector<std::byte> bytes_;
};

// What is drawn lands in an image; `light` tints every colour on its way (1, 1, 1: noon). Thread-bound.
class Canvas {
 public:
  // Borrows `image`, whose size and buffer are set, and `undo`, which may be absent: it learns what shapes cover.
  explicit Canvas(Image& image, Color light = {1, 1, 1}, Undo* undo = nullptr);

  [[nodiscard]] float aspect() const { return aspect_; }

  void fill_rows(float top, float bottom, Color at_top, Color at_bottom);
  void fill_polygon(std::span<const Point> points, Color color, float opacity = 1);
  // Half axes, turned clockwise by `turns`.
  void fill_ellipse(Point center, float half_width, float half_height, float turns, Color color, float opacity = 1);
  void fill_line(Point from, Point to, float width_from, float width_to, Color color, float opacity = 1);
  // A disc that fades out towards its rim, as things far behind the focus look.
  void fill_blur(Point center, float radius, Color color, float opacity);

 private:
  void add_edge(Point from, Point to);
  void blend_cover(int x0, int x1, int y0, int y1, Color color, float opacity);
  // That of (x0, y); those until x1 are about to change.
  [[nodiscard]] std::uint8_t* pixels_of_row(int y, int x0, int x1);

  Image& image_;
  Undo* undo_;
  Color light_;
  float scale_;
  float aspect_;
  int cover_x_ = 0;  // corner of the box that cover_ describes
  int cover_y_ = 0;
  int cover_width_ = 0;
  int cover_height_ = 0;
  std::vector<float> cover_;  // change of coverage from pixel to pixel
  std::vector<Point> outline_;
};

}  // namespace kinglet::camera::demo
