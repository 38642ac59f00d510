// SPDX-License-Identifier: Apache-2.0
// Why: privacy masks hold for everything behind the source: page, model, history, recordings. So a source that has some
// is wrapped before anyone gets it.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "camera/preprocess/mjpeg_planes.h"
#include "camera/source/source.h"

namespace kinglet::camera {

// What the masks make of a frame. Copyable; const members may be called from any thread.
class Masks {
 public:
  explicit Masks(std::vector<Area> areas) : areas_(std::move(areas)) {}

  // The frame in `bytes`, its masks black; a JPEG becomes video. Without masks nothing is copied. kBadData: a frame
  // that is not what it says.
  [[nodiscard]] Result<FrameView> painted(const FrameView& view, std::vector<std::byte>& bytes) const;
  // The same with the caller's decoder, which keeps its memory from frame to frame.
  [[nodiscard]] Result<FrameView> painted(const FrameView& view, std::vector<std::byte>& bytes,
                                          MjpegPlanes& decoder) const;

 private:
  std::vector<Area> areas_;
};

// Frames of `source` with `masks` painted black, in buffers of its own. Without masks the source itself.
[[nodiscard]] std::unique_ptr<FrameSource> with_masks(std::unique_ptr<FrameSource> source, std::vector<Area> masks);

}  // namespace kinglet::camera
