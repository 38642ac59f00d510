// SPDX-License-Identifier: Apache-2.0
#include "daemon/capture/clips/clip_pictures.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "daemon/capture/frame_jpeg.h"

namespace kinglet::daemon {
namespace {

// Bytes as they are: pixels of 0 to 255.
engine::Recipe unchanged() {
  engine::Recipe recipe;
  recipe.std = {1, 1, 1};
  return recipe;
}

}  // namespace

Result<ClipPictures::Made> ClipPictures::make(const camera::FrameView& view, int width) {
  if (width == 0 || view.width <= width) return Made{KINGLET_TRY(jpeg_of(view, quality_)), view.width};
  KINGLET_TRY(camera::check_view(view));
  const int height = std::max(1, static_cast<int>(std::int64_t{view.height} * width / view.width));
  if (small_.width != width || small_.height != height || !scale_) {
    small_ = {.width = width, .height = height, .rgb = {}};
    small_.rgb.resize(3 * static_cast<std::size_t>(width) * static_cast<std::size_t>(height));
    scale_.emplace(unchanged(), width, height);
  }
  const engine::PictureInput out{.bytes = small_.rgb,
                                 .type = engine::DataType::kU8,
                                 .width = small_.width,
                                 .height = small_.height,
                                 .layout = engine::TensorLayout::kNhwc};
  (void)KINGLET_TRY(scale_->run(view, std::nullopt, out));
  return Made{KINGLET_TRY(jpeg_of(small_, quality_)), width};
}

}  // namespace kinglet::daemon
