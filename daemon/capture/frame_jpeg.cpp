// SPDX-License-Identifier: Apache-2.0
#include "daemon/capture/frame_jpeg.h"

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

Result<std::string> jpeg_of(const camera::Image& image, int quality) {
  return text_of(KINGLET_TRY(camera::encode_jpeg(image.view(), quality)));
}

Result<std::string> jpeg_of(const camera::FrameView& view, int quality) {
  KINGLET_TRY(camera::check_view(view));
  if (view.format == camera::PixelFormat::kMjpeg) return jpeg_of(view);
  return jpeg_of(KINGLET_TRY(camera::to_rgb(view)), quality);
}

std::string jpeg_of(const camera::FrameView& mjpeg) { return text_of(mjpeg.planes[0].bytes); }

}  // namespace kinglet::daemon
