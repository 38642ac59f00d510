// SPDX-License-Identifier: Apache-2.0
// Why: a frame as one picture of a clip: scaled where it is too wide, and a JPEG.
#pragma once

#include <optional>
#include <string>

#include "camera/frame/frame.h"
#include "camera/preprocess/preprocess.h"
#include "engine/base/error.h"

namespace kinglet::daemon {

// Holds the tables and memory of the last size. Thread-bound.
class ClipPictures {
 public:
  explicit ClipPictures(int quality) : quality_(quality) {}

  struct Made {
    std::string jpeg;
    int width = 0;
  };
  // `width`: of the picture where the frame is wider; 0: as wide as it is. A camera's JPEG that is not scaled stays as
  // it is, unread but for its header. kBadData: as jpeg_of().
  [[nodiscard]] Result<Made> make(const camera::FrameView& view, int width);

 private:
  const int quality_;
  camera::Image small_;
  std::optional<camera::Preprocessor> scale_;
};

}  // namespace kinglet::daemon
