// SPDX-License-Identifier: Apache-2.0
#include "daemon/capture/frame_jpeg.h"

#include <algorithm>
#include <cstddef>
#include <span>

#include "camera/decode/decode.h"
#include "camera/decode/to_rgb.h"

namespace kinglet::daemon {
namespace {

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

Result<std::string> jpeg_of(const camera::Image& image, int quality) { return jpeg_of(image.view(), quality); }

Result<std::string> jpeg_of(const camera::FrameView& view, int quality) {
  KINGLET_TRY(camera::check_view(view));
  if (view.format == camera::PixelFormat::kMjpeg) return jpeg_of(view);
  return text_of(KINGLET_TRY(camera::encode_jpeg(view, quality)));
}

Result<std::string> jpeg_of_part(const camera::FrameView& view, const CropRect& part, int most, int quality) {
  camera::Image room;
  const camera::FrameView rgb = KINGLET_TRY(camera::as_rgb(view, room));
  CropRect crop;
  crop.x = std::clamp(part.x, 0, rgb.width - 1);
  crop.y = std::clamp(part.y, 0, rgb.height - 1);
  crop.width = std::clamp(part.width, 1, rgb.width - crop.x);
  crop.height = std::clamp(part.height, 1, rgb.height - crop.y);
  const double scale = std::min(1.0, static_cast<double>(most) / std::max(crop.width, crop.height));
  const auto scaled = [&](int side) { return std::max(1, static_cast<int>(side * scale)); };
  return jpeg_of(KINGLET_TRY(camera::resize_like_pillow(rgb, crop, scaled(crop.width), scaled(crop.height),
                                                        engine::Interpolation::kBilinear)),
                 quality);
}

Result<camera::Image> pixels_of(const camera::FrameView& view) { return camera::to_rgb(view); }

std::string jpeg_of(const camera::FrameView& mjpeg) { return text_of(mjpeg.planes[0].bytes); }

}  // namespace kinglet::daemon
