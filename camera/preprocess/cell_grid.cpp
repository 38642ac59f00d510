// SPDX-License-Identifier: Apache-2.0
#include "camera/preprocess/cell_grid.h"

#include <algorithm>
#include <cstdint>

#include "engine/base/format.h"

namespace kinglet::camera {
namespace {

constexpr int kStep = 4;   // every fourth pixel of every fourth row: a cell of 720p still has 56
constexpr int kACell = 4;  // pixels a side at least that are looked at, where a cell has them
constexpr float kGrey = 128;

using Means = std::array<float, kGridCells>;

// Samples of one kind in a plane.
struct Samples {
  const std::uint8_t* first;
  std::size_t stride;
  std::size_t step;  // bytes from one to the next
  int width;
  int height;

  Samples(const Plane& plane, const ChannelLayout& layout, int columns, int rows)
      : first(reinterpret_cast<const std::uint8_t*>(plane.bytes.data()) + layout.offset),
        stride(plane.stride),
        step(static_cast<std::size_t>(layout.step)),
        width(columns),
        height(rows) {}
};

// Where cell `index` of `count` begins, in samples.
int edge(int index, int count, int size) { return static_cast<int>(std::int64_t{index} * size / count); }

int stride_of(int size, int count, int coarser) {
  return std::max(1, std::min(kStep / coarser, size / count / kACell));
}

// `coarser_x`, `coarser_y`: than the picture.
void average(const Samples& samples, int coarser_x, int coarser_y, Means& means) {
  const int step_x = stride_of(samples.width, kGridColumns, coarser_x);
  const int step_y = stride_of(samples.height, kGridRows, coarser_y);
  for (int row = 0; row < kGridRows; ++row) {
    const int top = edge(row, kGridRows, samples.height);
    const int bottom = std::max(top + 1, edge(row + 1, kGridRows, samples.height));
    for (int column = 0; column < kGridColumns; ++column) {
      const int left = edge(column, kGridColumns, samples.width);
      const int right = std::max(left + 1, edge(column + 1, kGridColumns, samples.width));
      std::uint32_t sum = 0;
      for (int y = top; y < bottom; y += step_y) {
        const std::uint8_t* line = samples.first + static_cast<std::size_t>(y) * samples.stride;
        for (int x = left; x < right; x += step_x) sum += line[static_cast<std::size_t>(x) * samples.step];
      }
      const int count = ((bottom - top + step_y - 1) / step_y) * ((right - left + step_x - 1) / step_x);
      means[static_cast<std::size_t>(row) * kGridColumns + static_cast<std::size_t>(column)] =
          static_cast<float>(sum) / static_cast<float>(count);
    }
  }
}

}  // namespace

Result<void> CellGrid::measure(const FrameView& view) {
  jpeg_.forget();
  return measure(view, jpeg_, 0, 0);
}

Result<void> CellGrid::measure(const FrameView& view, MjpegPlanes& decoder, int min_width, int min_height) {
  KINGLET_TRY(check_view(view));
  if (view.width < kGridColumns || view.height < kGridRows) {
    return fail(ErrorCode::kBadData, format_text("a frame of {}x{} pixels is too small to look for motion, expected "
                                                 "at least {}x{}",
                                                 view.width, view.height, kGridColumns, kGridRows));
  }
  switch (view.format) {
    case PixelFormat::kRgb888:
      measure_rgb(view);
      return {};
    case PixelFormat::kYuyv:
    case PixelFormat::kNv12:
    case PixelFormat::kYuv420:
      measure_yuv(yuv_layout(view.format), view.planes, view.width, view.height);
      return {};
    case PixelFormat::kMjpeg:
      break;
  }
  KINGLET_TRY(decoder.decode(view, std::max(min_width, kGridColumns), std::max(min_height, kGridRows)));
  measure_yuv(decoder.layout(), decoder.planes(), decoder.width(), decoder.height());
  return {};
}

// BT.601 and full range; which it is does not matter to motion.
void CellGrid::measure_rgb(const FrameView& view) {
  const auto channel = [&](int offset, Means& means) {
    average(Samples(view.planes[0], {3, offset}, view.width, view.height), 1, 1, means);
  };
  Means green;
  channel(0, cells_.red);
  channel(1, green);
  channel(2, cells_.blue);
  for (std::size_t i = 0; i < kGridCells; ++i) {
    cells_.luma[i] = 0.299F * cells_.red[i] + 0.587F * green[i] + 0.114F * cells_.blue[i];
  }
}

void CellGrid::measure_yuv(const YuvLayout& layout, const std::array<Plane, 3>& planes, int width, int height) {
  const auto channel = [&](const YuvChannel& of, Means& means) {
    const Samples samples(planes[of.plane], of.layout, std::max(1, width / of.coarser_x),
                          std::max(1, height / of.coarser_y));
    average(samples, of.coarser_x, of.coarser_y, means);
  };
  channel(layout[0], cells_.luma);
  channel(layout[1], cells_.blue);
  channel(layout[2], cells_.red);
  for (std::size_t i = 0; i < kGridCells; ++i) {
    cells_.blue[i] = std::clamp(cells_.luma[i] + 1.772F * (cells_.blue[i] - kGrey), 0.0F, 255.0F);
    cells_.red[i] = std::clamp(cells_.luma[i] + 1.402F * (cells_.red[i] - kGrey), 0.0F, 255.0F);
  }
}

}  // namespace kinglet::camera
