// SPDX-License-Identifier: Apache-2.0
#include "camera/decode/to_yuv420.h"

#include <libyuv.h>

#include <cstdint>

#include "camera/frame/packed_frame.h"
#include "engine/base/check.h"

namespace kinglet::camera {
namespace {

FrameView shape_of(ImageSize size) {
  return {.format = PixelFormat::kYuv420,
          .width = size.width,
          .height = size.height,
          .matrix = ColorMatrix::kBt601,
          .range = ColorRange::kFull};
}

}  // namespace

void to_yuv420(const Image& image, std::vector<std::byte>& bytes) {
  KINGLET_CHECK(image.width % 2 == 0 && image.height % 2 == 0);
  bytes.resize(packed_size(shape_of({image.width, image.height})));
  auto* const y = reinterpret_cast<std::uint8_t*>(bytes.data());
  std::uint8_t* const u = y + std::size_t{4} * (bytes.size() / 6);
  std::uint8_t* const v = u + bytes.size() / 6;
  const int status = libyuv::RAWToJ420(reinterpret_cast<const std::uint8_t*>(image.rgb.data()), 3 * image.width, y,
                                       image.width, u, image.width / 2, v, image.width / 2, image.width, image.height);
  KINGLET_CHECK(status == 0);
}

FrameView view_of_yuv420(ImageSize size, std::span<const std::byte> bytes) {
  const Result<FrameView> view = packed_view(shape_of(size), bytes);
  KINGLET_CHECK(view.has_value());
  return *view;
}

}  // namespace kinglet::camera
