// SPDX-License-Identifier: Apache-2.0
#include "camera/frame/paint.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "engine/base/check.h"

namespace kinglet::camera {
namespace {

struct Box {
  int left = 0;
  int top = 0;
  int right = 0;
  int bottom = 0;
};

// Whole pixels that the area touches, widened to even ones where chroma is shared.
Box touched_pixels(const Area& area, const FrameView& view) {
  const bool pairs = view.format != PixelFormat::kRgb888;
  const auto low = [&](double at, int side) {
    const int pixel = std::clamp(static_cast<int>(std::floor(at * side)), 0, side);
    return pairs ? pixel / 2 * 2 : pixel;
  };
  const auto high = [&](double at, int side) {
    // A hair less: 0.1 + 0.2 must not reach into the next pixel.
    const int pixel = std::clamp(static_cast<int>(std::ceil(at * side - 1e-6)), 0, side);
    return pairs ? std::min(side, (pixel + 1) / 2 * 2) : pixel;
  };
  return {low(area.left, view.width), low(area.top, view.height), high(area.left + area.width, view.width),
          high(area.top + area.height, view.height)};
}

class Brush {
 public:
  Brush(const FrameView& view, std::span<std::byte> bytes) : view_(view), bytes_(bytes) {}

  // `value` into the plane's rows from top to bottom, bytes from left to right.
  void fill(std::size_t plane, int left, int right, int top, int bottom, std::uint8_t value) {
    for (int y = top; y < bottom; ++y) std::ranges::fill(row(plane, y, left, right), std::byte{value});
  }
  [[nodiscard]] std::span<std::byte> row(std::size_t plane, int y, int left, int right) const {
    const Plane& shown = view_.planes[plane];
    const std::ptrdiff_t begin = shown.bytes.data() - bytes_.data();
    KINGLET_CHECK(begin >= 0 && static_cast<std::size_t>(begin) + shown.bytes.size() <= bytes_.size());
    return bytes_.subspan(static_cast<std::size_t>(begin), shown.bytes.size())
        .subspan(static_cast<std::size_t>(y) * shown.stride + static_cast<std::size_t>(left),
                 static_cast<std::size_t>(right - left));
  }

 private:
  const FrameView& view_;
  std::span<std::byte> bytes_;
};

void blacken_box(const Box& box, const FrameView& view, std::span<std::byte> bytes) {
  constexpr std::uint8_t kNoColour = 128;
  const std::uint8_t black = view.range == ColorRange::kLimited ? 16 : 0;
  Brush brush(view, bytes);
  switch (view.format) {
    case PixelFormat::kRgb888:
      return brush.fill(0, 3 * box.left, 3 * box.right, box.top, box.bottom, 0);
    case PixelFormat::kYuyv:
      for (int y = box.top; y < box.bottom; ++y) {
        const std::span<std::byte> row = brush.row(0, y, 2 * box.left, 2 * box.right);
        for (std::size_t i = 0; i < row.size(); ++i) row[i] = std::byte{i % 2 == 0 ? black : kNoColour};
      }
      return;
    case PixelFormat::kNv12:
      brush.fill(0, box.left, box.right, box.top, box.bottom, black);
      return brush.fill(1, box.left, box.right, box.top / 2, box.bottom / 2, kNoColour);
    case PixelFormat::kYuv420:
      brush.fill(0, box.left, box.right, box.top, box.bottom, black);
      for (const std::size_t plane : {1U, 2U}) {
        brush.fill(plane, box.left / 2, box.right / 2, box.top / 2, box.bottom / 2, kNoColour);
      }
      return;
    case PixelFormat::kMjpeg:
      break;
  }
  KINGLET_CHECK(view.format != PixelFormat::kMjpeg);
}

}  // namespace

void blacken(std::span<const Area> areas, const FrameView& view, std::span<std::byte> bytes) {
  for (const Area& area : areas) blacken_box(touched_pixels(area, view), view, bytes);
}

}  // namespace kinglet::camera
