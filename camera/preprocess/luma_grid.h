// SPDX-License-Identifier: Apache-2.0
// Why: a frame as a few hundred brightnesses, which is all that a motion gate needs and costs next to nothing.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "camera/frame/frame.h"
#include "camera/preprocess/mjpeg_planes.h"

namespace kinglet::camera {

inline constexpr int kGridColumns = 40;
inline constexpr int kGridRows = 24;
inline constexpr std::size_t kGridCells = std::size_t{kGridColumns} * kGridRows;

// Thread-bound. Allocates nothing per frame, except in the JPEG decoder's own pools for kMjpeg.
class LumaGrid {
 public:
  // Mean brightness of each cell, 0 to 255, row by row, from every few pixels of it. kBadData: a frame that is not what
  // it says, one smaller than the grid.
  [[nodiscard]] Result<void> measure(const FrameView& view);
  // The same; a JPEG is decoded by `decoder` at `min_width` x `min_height` pixels at least, for who reads it next.
  [[nodiscard]] Result<void> measure(const FrameView& view, MjpegPlanes& decoder, int min_width, int min_height);
  [[nodiscard]] std::span<const float, kGridCells> cells() const { return cells_; }

 private:
  std::array<float, kGridCells> cells_{};
  MjpegPlanes jpeg_;
};

}  // namespace kinglet::camera
