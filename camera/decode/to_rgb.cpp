// SPDX-License-Identifier: Apache-2.0
#include "camera/decode/to_rgb.h"

#include <libyuv.h>

#include <algorithm>

#include <cstdint>
#include <vector>

#include "camera/decode/decode.h"
#include "engine/base/check.h"

namespace kinglet::camera {
namespace {

// libyuv writes B,G,R; with the constants for exchanged U and V, and U and V exchanged, that becomes R,G,B.
const libyuv::YuvConstants* exchanged_constants(const FrameView& frame) {
  const bool full = frame.range == ColorRange::kFull;
  if (frame.matrix == ColorMatrix::kBt601) return full ? &libyuv::kYvuJPEGConstants : &libyuv::kYvuI601Constants;
  return full ? &libyuv::kYvuF709Constants : &libyuv::kYvuH709Constants;
}

struct Raw {
  const std::uint8_t* data;
  int stride;
};

Raw raw(const Plane& plane) {
  return {reinterpret_cast<const std::uint8_t*>(plane.bytes.data()), static_cast<int>(plane.stride)};
}

int convert(const FrameView& frame, std::uint8_t* rgb, int rgb_stride) {
  const libyuv::YuvConstants* constants = exchanged_constants(frame);
  const Raw first = raw(frame.planes[0]);
  const Raw second = raw(frame.planes[1]);
  const Raw third = raw(frame.planes[2]);
  if (frame.format == PixelFormat::kNv12) {
    return libyuv::NV21ToRGB24Matrix(first.data, first.stride, second.data, second.stride, rgb, rgb_stride, constants,
                                     frame.width, frame.height);
  }
  if (frame.format == PixelFormat::kYuv420) {
    return libyuv::I420ToRGB24Matrix(first.data, first.stride, third.data, third.stride, second.data, second.stride,
                                     rgb, rgb_stride, constants, frame.width, frame.height);
  }
  KINGLET_CHECK(frame.format == PixelFormat::kYuyv);
  const auto width = static_cast<std::size_t>(frame.width);
  const auto height = static_cast<std::size_t>(frame.height);
  std::vector<std::uint8_t> planes(2 * width * height);
  std::uint8_t* u = planes.data() + width * height;
  std::uint8_t* v = u + width / 2 * height;
  const int status = libyuv::YUY2ToI422(first.data, first.stride, planes.data(), frame.width, u, frame.width / 2, v,
                                        frame.width / 2, frame.width, frame.height);
  if (status != 0) return status;
  return libyuv::I422ToRGB24Matrix(planes.data(), frame.width, v, frame.width / 2, u, frame.width / 2, rgb, rgb_stride,
                                   constants, frame.width, frame.height);
}

}  // namespace

Result<Image> to_rgb(const FrameView& frame) {
  KINGLET_TRY(check_view(frame));
  if (frame.format == PixelFormat::kMjpeg) {
    return KINGLET_TRY(decode_image(frame.planes[0].bytes, DecodeLimits{}, Upright::kAsStored)).image;
  }
  Image image{frame.width, frame.height, {}};
  const std::size_t row_bytes = 3 * static_cast<std::size_t>(frame.width);
  image.rgb.resize(row_bytes * static_cast<std::size_t>(frame.height));
  if (frame.format == PixelFormat::kRgb888) {
    for (std::size_t y = 0; y < static_cast<std::size_t>(frame.height); ++y) {
      const std::span row = frame.planes[0].bytes.subspan(y * frame.planes[0].stride, row_bytes);
      std::ranges::copy(row, image.rgb.begin() + static_cast<std::ptrdiff_t>(y * row_bytes));
    }
    return image;
  }
  if (convert(frame, reinterpret_cast<std::uint8_t*>(image.rgb.data()), static_cast<int>(row_bytes)) != 0) {
    return fail(ErrorCode::kInternal, "pixel format conversion failed");
  }
  return image;
}

Result<FrameView> as_rgb(const FrameView& frame, Image& room) {
  if (frame.format != PixelFormat::kRgb888) {
    room = KINGLET_TRY(to_rgb(frame));
    return room.view();
  }
  KINGLET_TRY(check_view(frame));
  return frame;
}

}  // namespace kinglet::camera
