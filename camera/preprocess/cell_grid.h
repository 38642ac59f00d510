// SPDX-License-Identifier: Apache-2.0
// Why: a frame as a few hundred brightnesses and colours, which is all that a motion gate needs and costs next to
// nothing.
#pragma once

#include <array>
#include <cstddef>

#include "camera/frame/frame.h"
#include "camera/preprocess/mjpeg_planes.h"

namespace kinglet::camera {

inline constexpr int kGridColumns = 40;
inline constexpr int kGridRows = 24;
inline constexpr std::size_t kGridCells = std::size_t{kGridColumns} * kGridRows;

// The mean of each cell, row by row: brightness, blue and red, 0 to 255 in the frame's own levels; all are the same
// where it is grey.
struct Cells {
  std::array<float, kGridCells> luma{};
  std::array<float, kGridCells> blue{};
  std::array<float, kGridCells> red{};
};

// Thread-bound. Allocates nothing per frame, except in the JPEG decoder's own pools for kMjpeg.
class CellGrid {
 public:
  // From every few pixels of a cell. kBadData: a frame that is not what it says, one smaller than the grid.
  [[nodiscard]] Result<void> measure(const FrameView& view);
  // The same; a JPEG is decoded by `decoder` at `min_width` x `min_height` pixels at least, for who reads it next.
  [[nodiscard]] Result<void> measure(const FrameView& view, MjpegPlanes& decoder, int min_width, int min_height);
  [[nodiscard]] const Cells& cells() const { return cells_; }

 private:
  void measure_rgb(const FrameView& view);
  void measure_yuv(const YuvLayout& layout, const std::array<Plane, 3>& planes, int width, int height);

  Cells cells_;
  MjpegPlanes jpeg_;
};

}  // namespace kinglet::camera
