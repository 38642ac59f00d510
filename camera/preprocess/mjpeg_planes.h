// SPDX-License-Identifier: Apache-2.0
// Why: a camera's JPEG frame to Y, U and V planes without a detour through RGB, already reduced by the decoder where
// the frame is much larger than the model's input.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "camera/preprocess/yuv_resample.h"

namespace kinglet::camera {

// Thread-bound. Keeps the decoder and the planes between frames of one geometry.
class MjpegPlanes {
 public:
  // Decodes `view` (kMjpeg) so that it is at least `min_width` x `min_height` pixels if it was. Nothing is done where
  // these bytes were decoded as large already: forget() before the next frame, which may lie in the same place.
  // kBadData: not a JPEG of the view's size, damaged, or not in YCbCr or gray.
  [[nodiscard]] Result<void> decode(const FrameView& view, int min_width, int min_height);
  void forget() { decoded_ = {}; }

  // What was decoded as a frame of its own in `bytes`: kYuv420 or kYuyv. Nothing: none of them has its subsampling.
  [[nodiscard]] std::optional<FrameView> as_video(std::vector<std::byte>& bytes) const;

  [[nodiscard]] int width() const { return width_; }
  [[nodiscard]] int height() const { return height_; }
  [[nodiscard]] const YuvLayout& layout() const { return layout_; }
  [[nodiscard]] const std::array<Plane, 3>& planes() const { return planes_; }

 private:
  struct HandleDeleter {
    void operator()(void* handle) const;
  };
  [[nodiscard]] Result<void> prepare(const FrameView& view, int subsampling, int min_width, int min_height);
  [[nodiscard]] bool has(const FrameView& view, int min_width, int min_height) const;

  std::unique_ptr<void, HandleDeleter> handle_;
  std::array<std::vector<unsigned char>, 3> buffers_;
  std::array<Plane, 3> planes_;
  YuvLayout layout_;
  int width_ = 0;
  int height_ = 0;
  bool gray_ = false;
  std::span<const std::byte> decoded_;  // where it lay; never read
};

}  // namespace kinglet::camera
