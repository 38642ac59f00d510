// SPDX-License-Identifier: Apache-2.0
#include "camera/demo/demo_canvas.h"

#include <algorithm>

namespace kinglet::camera::demo {
namespace {

// floor and ceil without libm, for numbers that fit an int.
int floor_int(float value) {
  const int whole = static_cast<int>(value);
  return static_cast<float>(whole) > value ? whole - 1 : whole;
}
int ceil_int(float value) { return -floor_int(-value); }

std::uint8_t blended(std::uint8_t below, float above, float share) {
  const float value = static_cast<float>(below) + (above * 255.0F - static_cast<float>(below)) * share;
  return static_cast<std::uint8_t>(std::clamp(value + 0.5F, 0.0F, 255.0F));
}

}  // namespace

Color mix(Color a, Color b, float share_of_b) {
  return {a.red + (b.red - a.red) * share_of_b, a.green + (b.green - a.green) * share_of_b,
          a.blue + (b.blue - a.blue) * share_of_b};
}

Color scaled(Color color, float factor) { return {color.red * factor, color.green * factor, color.blue * factor}; }

float sine(float turns) {
  const float x = turns - static_cast<float>(floor_int(turns));  // 0 to 1
  const float folded = x < 0.5F ? x : x - 0.5F;                  // half a circle
  const float arch = 16.0F * folded * (0.5F - folded);           // 0, 1, 0: a parabola
  const float rounded = 0.775F * arch + 0.225F * arch * arch;    // bent to the sine
  return x < 0.5F ? rounded : -rounded;
}

float cosine(float turns) { return sine(turns + 0.25F); }

std::uint64_t Random::next() {
  state_ += 0x9E3779B97F4A7C15ULL;
  std::uint64_t z = state_;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}

float Random::between(float low, float high) {
  const auto unit = static_cast<float>(next() >> 40) * 0x1p-24F;
  return low + (high - low) * unit;
}

int Random::below(int count) { return static_cast<int>((next() >> 33) % static_cast<std::uint64_t>(count)); }

void Undo::keep(const Image& image, std::size_t at, std::size_t size) {
  runs_.push_back({.at = at, .size = size});
  const auto from = image.rgb.begin() + static_cast<std::ptrdiff_t>(at);
  bytes_.insert(bytes_.end(), from, from + static_cast<std::ptrdiff_t>(size));
}

void Undo::take_back(Image& image) {
  for (; !runs_.empty(); runs_.pop_back()) {
    const auto [at, size] = runs_.back();
    const auto from = bytes_.end() - static_cast<std::ptrdiff_t>(size);
    std::copy(from, bytes_.end(), image.rgb.begin() + static_cast<std::ptrdiff_t>(at));
    bytes_.erase(from, bytes_.end());
  }
}

Canvas::Canvas(Image& image, Color light, Undo* undo)
    : image_(image),
      undo_(undo),
      light_(light),
      scale_(static_cast<float>(image.height)),
      aspect_(static_cast<float>(image.width) / static_cast<float>(image.height)) {}

void Canvas::fill_rows(float top, float bottom, Color at_top, Color at_bottom) {
  const int first = std::clamp(floor_int(top * scale_), 0, image_.height);
  const int last = std::clamp(ceil_int(bottom * scale_), 0, image_.height);
  const auto row_bytes = static_cast<std::size_t>(image_.width) * 3;
  for (int y = first; y < last; ++y) {
    const float share = static_cast<float>(y - first) / static_cast<float>(std::max(1, last - first - 1));
    const Color color = mix(at_top, at_bottom, share);
    auto* row = reinterpret_cast<std::uint8_t*>(image_.rgb.data()) + static_cast<std::size_t>(y) * row_bytes;
    const std::uint8_t pixel[3] = {blended(0, color.red * light_.red, 1), blended(0, color.green * light_.green, 1),
                                   blended(0, color.blue * light_.blue, 1)};
    for (std::size_t x = 0; x < row_bytes; x += 3) std::copy_n(pixel, 3, row + x);
  }
}

// Signed area accumulation: each edge adds, per pixel row, how much of each pixel lies to its right; a running sum
// along the row then is the share of the pixel inside the outline.
void Canvas::add_edge(Point from, Point to) {
  if (from.y == to.y) return;
  const float direction = from.y < to.y ? 1.0F : -1.0F;
  if (from.y > to.y) std::swap(from, to);
  const float slope = (to.x - from.x) / (to.y - from.y);
  const int first = std::max(0, floor_int(from.y));
  const int last = std::min(cover_height_, ceil_int(to.y));
  const auto right_end = static_cast<float>(cover_width_);
  for (int y = first; y < last; ++y) {
    const float top = std::max(from.y, static_cast<float>(y));
    const float bottom = std::min(to.y, static_cast<float>(y + 1));
    if (bottom <= top) continue;
    const float height = (bottom - top) * direction;
    const float x_top = std::clamp(from.x + (top - from.y) * slope, 0.0F, right_end);
    const float x_bottom = std::clamp(from.x + (bottom - from.y) * slope, 0.0F, right_end);
    const float left = std::min(x_top, x_bottom);
    const float right = std::max(x_top, x_bottom);
    float* row = cover_.data() + static_cast<std::ptrdiff_t>(y) * (cover_width_ + 2);
    const int begin = floor_int(left);
    const int end = floor_int(right);
    if (begin == end) {
      const float inside = 1.0F - ((left + right) * 0.5F - static_cast<float>(begin));
      row[begin] += height * inside;
      row[begin + 1] += height * (1.0F - inside);
      continue;
    }
    // Over several pixels the covered share grows as the edge crosses them.
    float before = 0;
    for (int x = begin; x <= end; ++x) {
      const float reach = std::min(right, static_cast<float>(x + 1));
      const float enter = std::max(left, static_cast<float>(x));
      const float crossed_enter = (enter - left) / (right - left);
      const float crossed_reach = (reach - left) / (right - left);
      const float full = crossed_enter;
      const float partial = (crossed_reach - crossed_enter) * (static_cast<float>(x + 1) - (enter + reach) * 0.5F);
      const float total = full + partial;
      row[x] += height * (total - before);
      before = total;
    }
    row[end + 1] += height * (1.0F - before);
  }
}

std::uint8_t* Canvas::pixels_of_row(int y, int x0, int x1) {
  const std::size_t at =
      3 * (static_cast<std::size_t>(y) * static_cast<std::size_t>(image_.width) + static_cast<std::size_t>(x0));
  if (undo_ != nullptr && x1 > x0) undo_->keep(image_, at, 3 * static_cast<std::size_t>(x1 - x0));
  return reinterpret_cast<std::uint8_t*>(image_.rgb.data()) + at;
}

void Canvas::blend_cover(int x0, int x1, int y0, int y1, Color color, float opacity) {
  const Color lit{color.red * light_.red, color.green * light_.green, color.blue * light_.blue};
  for (int y = y0; y < y1; ++y) {
    float* row = cover_.data() + static_cast<std::ptrdiff_t>(y - cover_y_) * (cover_width_ + 2);
    std::uint8_t* pixel = pixels_of_row(y, x0, x1);
    float sum = 0;
    for (int x = x0; x < x1; ++x, pixel += 3) {
      sum += row[x - cover_x_];
      const float share = std::min(sum < 0 ? -sum : sum, 1.0F) * opacity;
      if (share < 0.004F) continue;
      pixel[0] = blended(pixel[0], lit.red, share);
      pixel[1] = blended(pixel[1], lit.green, share);
      pixel[2] = blended(pixel[2], lit.blue, share);
    }
  }
}

void Canvas::fill_polygon(std::span<const Point> points, Color color, float opacity) {
  if (points.size() < 3) return;
  float left = 1e9F;
  float right = -1e9F;
  float top = 1e9F;
  float bottom = -1e9F;
  for (const Point& point : points) {
    left = std::min(left, point.x * scale_);
    right = std::max(right, point.x * scale_);
    top = std::min(top, point.y * scale_);
    bottom = std::max(bottom, point.y * scale_);
  }
  const auto limit = [](float value, int size) { return std::clamp(value, -1.0F, static_cast<float>(size + 1)); };
  const int x0 = std::max(0, floor_int(limit(left, image_.width)));
  const int x1 = std::min(image_.width, ceil_int(limit(right, image_.width)));
  const int y0 = std::max(0, floor_int(limit(top, image_.height)));
  const int y1 = std::min(image_.height, ceil_int(limit(bottom, image_.height)));
  if (x0 >= x1 || y0 >= y1) return;
  cover_x_ = x0;
  cover_y_ = y0;
  cover_width_ = x1 - x0;
  cover_height_ = y1 - y0;
  cover_.assign(static_cast<std::size_t>(cover_width_ + 2) * static_cast<std::size_t>(cover_height_), 0.0F);
  const auto in_box = [&](const Point& point) {
    return Point{point.x * scale_ - static_cast<float>(x0), point.y * scale_ - static_cast<float>(y0)};
  };
  Point previous = in_box(points.back());
  for (const Point& point : points) {
    const Point current = in_box(point);
    add_edge(previous, current);
    previous = current;
  }
  blend_cover(x0, x1, y0, y1, color, opacity);
}

void Canvas::fill_ellipse(Point center, float half_width, float half_height, float turns, Color color, float opacity) {
  constexpr int kCorners = 32;
  const float c = cosine(turns);
  const float s = sine(turns);
  outline_.clear();
  for (int i = 0; i < kCorners; ++i) {
    const float along = half_width * cosine(static_cast<float>(i) / kCorners);
    const float across = half_height * sine(static_cast<float>(i) / kCorners);
    outline_.push_back({center.x + along * c - across * s, center.y + along * s + across * c});
  }
  fill_polygon(outline_, color, opacity);
}

void Canvas::fill_line(Point from, Point to, float width_from, float width_to, Color color, float opacity) {
  // The normal, with the longer side as a cheap length: within 30 % of the width, which no eye sees in a twig.
  const float dx = to.x - from.x;
  const float dy = to.y - from.y;
  const float longer = std::max(dx < 0 ? -dx : dx, dy < 0 ? -dy : dy);
  const float shorter = std::min(dx < 0 ? -dx : dx, dy < 0 ? -dy : dy);
  const float length = std::max(1e-6F, longer + 0.4F * shorter);
  const Point normal{-dy / length * 0.5F, dx / length * 0.5F};
  const Point corners[] = {{from.x + normal.x * width_from, from.y + normal.y * width_from},
                           {to.x + normal.x * width_to, to.y + normal.y * width_to},
                           {to.x - normal.x * width_to, to.y - normal.y * width_to},
                           {from.x - normal.x * width_from, from.y - normal.y * width_from}};
  fill_polygon(corners, color, opacity);
}

void Canvas::fill_blur(Point center, float radius, Color color, float opacity) {
  const float r = radius * scale_;
  const float cx = center.x * scale_;
  const float cy = center.y * scale_;
  const Color lit{color.red * light_.red, color.green * light_.green, color.blue * light_.blue};
  const int x0 = std::max(0, floor_int(cx - r));
  const int x1 = std::min(image_.width, ceil_int(cx + r));
  const int y0 = std::max(0, floor_int(cy - r));
  const int y1 = std::min(image_.height, ceil_int(cy + r));
  const float inverse = 1.0F / (r * r);
  for (int y = y0; y < y1; ++y) {
    const float dy = static_cast<float>(y) + 0.5F - cy;
    std::uint8_t* pixel = pixels_of_row(y, x0, x1);
    for (int x = x0; x < x1; ++x, pixel += 3) {
      const float dx = static_cast<float>(x) + 0.5F - cx;
      const float inside = 1.0F - (dx * dx + dy * dy) * inverse;
      if (inside <= 0) continue;
      const float share = std::min(1.0F, inside * 2.5F) * opacity;
      pixel[0] = blended(pixel[0], lit.red, share);
      pixel[1] = blended(pixel[1], lit.green, share);
      pixel[2] = blended(pixel[2], lit.blue, share);
    }
  }
}

}  // namespace kinglet::camera::demo
