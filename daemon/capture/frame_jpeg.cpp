// SPDX-License-Identifier: Apache-2.0
#include "daemon/capture/frame_jpeg.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>

#include "camera/decode/decode.h"
#include "camera/decode/to_rgb.h"
#include "camera/frame/frame_copy.h"

namespace kinglet::daemon {
namespace {

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// What is read of the frame to make `crop` so small: the filter reaches beyond its borders, and pixels share colours.
CropRect read_for(const CropRect& crop, int width, int height, const camera::FrameView& frame) {
  const auto range = [](int from, int size, int made, int limit) {
    const int reach = size / made + 2;
    const int begin = std::max(0, from - reach) & ~1;
    return std::pair(begin, std::min(limit, (from + size + reach + 1) & ~1) - begin);
  };
  const auto [x, columns] = range(crop.x, crop.width, width, frame.width);
  const auto [y, rows] = range(crop.y, crop.height, height, frame.height);
  return {x, y, columns, rows};
}

}  // namespace

Result<std::string> jpeg_of(const camera::Image& image, int quality) { return jpeg_of(image.view(), quality); }

Result<std::string> jpeg_of(const camera::FrameView& view, int quality) {
  KINGLET_TRY(camera::check_view(view));
  if (view.format == camera::PixelFormat::kMjpeg) return jpeg_of(view);
  return text_of(KINGLET_TRY(camera::encode_jpeg(view, quality)));
}

Result<std::string> jpeg_of_part(const camera::FrameView& view, const CropRect& part, int most, int quality) {
  KINGLET_TRY(camera::check_view(view));
  camera::Image room;
  const bool is_jpeg = view.format == camera::PixelFormat::kMjpeg;
  camera::FrameView rgb = is_jpeg ? KINGLET_TRY(camera::as_rgb(view, room)) : view;
  CropRect crop;
  crop.x = std::clamp(part.x, 0, rgb.width - 1);
  crop.y = std::clamp(part.y, 0, rgb.height - 1);
  crop.width = std::clamp(part.width, 1, rgb.width - crop.x);
  crop.height = std::clamp(part.height, 1, rgb.height - crop.y);
  const double scale = std::min(1.0, static_cast<double>(most) / std::max(crop.width, crop.height));
  const auto scaled = [&](int side) { return std::max(1, static_cast<int>(side * scale)); };
  const int width = scaled(crop.width);
  const int height = scaled(crop.height);
  if (!is_jpeg) {
    const CropRect read = read_for(crop, width, height, view);
    rgb = KINGLET_TRY(camera::as_rgb(camera::part_of(view, read.x, read.y, read.width, read.height), room));
    crop.x -= read.x;
    crop.y -= read.y;
  }
  return jpeg_of(KINGLET_TRY(camera::resize_like_pillow(rgb, crop, width, height, engine::Interpolation::kBilinear)),
                 quality);
}

Result<camera::Image> pixels_of(const camera::FrameView& view) { return camera::to_rgb(view); }

std::string jpeg_of(const camera::FrameView& mjpeg) { return text_of(mjpeg.planes[0].bytes); }

}  // namespace kinglet::daemon
