// SPDX-License-Identifier: Apache-2.0
#include "camera/preprocess/luma_grid.h"

#include <algorithm>
#include <cstdint>

#include "engine/base/format.h"

namespace kinglet::camera {
namespace {

constexpr int kStep = 4;  // every fourth pixel of every fourth row: a cell of 720p still has 56

// Rows of pixels that are `pixel_bytes` apart; `luma` reads one.
template <typename Luma>
void average(const Plane& plane, int width, int height, std::size_t pixel_bytes, const Luma& luma,
             std::array<float, kGridCells>& cells) {
  const auto* base = reinterpret_cast<const std::uint8_t*>(plane.bytes.data());
  const auto edge = [](int index, int count, int size) { return static_cast<int>(std::int64_t{index} * size / count); };
  for (int row = 0; row < kGridRows; ++row) {
    const int top = edge(row, kGridRows, height);
    const int bottom = edge(row + 1, kGridRows, height);
    for (int column = 0; column < kGridColumns; ++column) {
      const int left = edge(column, kGridColumns, width);
      const int right = edge(column + 1, kGridColumns, width);
      std::uint32_t sum = 0;
      std::uint32_t count = 0;
      for (int y = top; y < bottom; y += kStep) {
        const std::uint8_t* line = base + static_cast<std::size_t>(y) * plane.stride;
        for (int x = left; x < right; x += kStep) {
          sum += luma(line + static_cast<std::size_t>(x) * pixel_bytes);
          ++count;
        }
      }
      cells[static_cast<std::size_t>(row) * kGridColumns + static_cast<std::size_t>(column)] =
          static_cast<float>(sum) / static_cast<float>(count);
    }
  }
}

// BT.601 in 1/256; which matrix it is does not matter to motion.
std::uint32_t luma_of_rgb(const std::uint8_t* pixel) {
  return (77U * pixel[0] + 150U * pixel[1] + 29U * pixel[2]) >> 8;
}

}  // namespace

Result<void> LumaGrid::measure(const FrameView& view) {
  jpeg_.forget();
  return measure(view, jpeg_, 0, 0);
}

Result<void> LumaGrid::measure(const FrameView& view, MjpegPlanes& decoder, int min_width, int min_height) {
  KINGLET_TRY(check_view(view));
  const auto first_byte = [](const std::uint8_t* pixel) -> std::uint32_t { return *pixel; };
  if (view.width < kGridColumns || view.height < kGridRows) {
    return fail(ErrorCode::kBadData, format_text("a frame of {}x{} pixels is too small to look for motion, expected "
                                                 "at least {}x{}",
                                                 view.width, view.height, kGridColumns, kGridRows));
  }
  switch (view.format) {
    case PixelFormat::kRgb888:
      average(view.planes[0], view.width, view.height, 3, luma_of_rgb, cells_);
      return {};
    case PixelFormat::kYuyv:
      average(view.planes[0], view.width, view.height, 2, first_byte, cells_);
      return {};
    case PixelFormat::kNv12:
    case PixelFormat::kYuv420:
      average(view.planes[0], view.width, view.height, 1, first_byte, cells_);
      return {};
    case PixelFormat::kMjpeg:
      break;
  }
  KINGLET_TRY(decoder.decode(view, std::max(min_width, kGridColumns), std::max(min_height, kGridRows)));
  average(decoder.planes()[0], decoder.width(), decoder.height(), 1, first_byte, cells_);
  return {};
}

}  // namespace kinglet::camera
