// SPDX-License-Identifier: Apache-2.0
// Why: frames as cameras send them, made from an RGB picture in double arithmetic, with rows that are padded.
#pragma once

#include <cmath>

#include "camera/decode/decode.h"
#include "tests/support/pictures.h"

namespace kinglet::testing {

struct VideoFrame {
  std::vector<std::byte> memory;
  camera::FrameView view;
};

// Each pixel as `colour_at(x, y)` says: red, green, blue, 0 to 255.
template <typename ColourAt>
camera::Image painted(int width, int height, const ColourAt& colour_at) {
  camera::Image image{width, height, {}};
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      for (const int level : colour_at(x, y)) image.rgb.push_back(static_cast<std::byte>(level));
    }
  }
  return image;
}

struct Yuv {
  double y;
  double u;
  double v;
};

// ITU-R BT.601 or BT.709, levels of 8 bits.
inline Yuv to_yuv(double r, double g, double b, camera::ColorMatrix matrix, camera::ColorRange range) {
  const bool old = matrix == camera::ColorMatrix::kBt601;
  const double kr = old ? 0.299 : 0.2126;
  const double kb = old ? 0.114 : 0.0722;
  const double y = kr * r + (1 - kr - kb) * g + kb * b;
  const double u = (b - y) / (2 * (1 - kb));
  const double v = (r - y) / (2 * (1 - kr));
  if (range == camera::ColorRange::kFull) return {y, u + 128, v + 128};
  return {y * 219 / 255 + 16, u * 224 / 255 + 128, v * 224 / 255 + 128};
}

// Chroma is the mean of its 2x2 (NV12, YUV420) or 2x1 (YUYV) pixels; kMjpeg goes through encode_jpeg.
inline VideoFrame make_video_frame(const camera::Image& rgb, camera::PixelFormat format, camera::ColorMatrix matrix,
                                   camera::ColorRange range, std::size_t padding = 32) {
  using camera::PixelFormat;
  VideoFrame frame;
  frame.view = {.format = format, .width = rgb.width, .height = rgb.height, .matrix = matrix, .range = range};
  if (format == PixelFormat::kMjpeg) {
    frame.memory = camera::encode_jpeg(rgb.view(), 98).value();
    frame.view.planes[0] = {frame.memory, 0};
    frame.view.plane_count = 1;
    return frame;
  }
  const auto width = static_cast<std::size_t>(rgb.width);
  const auto height = static_cast<std::size_t>(rgb.height);
  const auto yuv_at = [&](std::size_t x, std::size_t y) {
    const auto* pixel = rgb.rgb.data() + 3 * (y * width + x);
    return to_yuv(std::to_integer<int>(pixel[0]), std::to_integer<int>(pixel[1]), std::to_integer<int>(pixel[2]),
                  matrix, range);
  };
  const auto mean = [&](std::size_t x, std::size_t y, std::size_t rows, double Yuv::* channel) {
    double sum = 0;
    for (std::size_t dy = 0; dy < rows; ++dy) sum += yuv_at(x, y + dy).*channel + yuv_at(x + 1, y + dy).*channel;
    return sum / (2.0 * static_cast<double>(rows));
  };
  const auto level = [](double value) { return static_cast<std::byte>(std::lround(std::clamp(value, 0.0, 255.0))); };
  const std::size_t stride = (format == PixelFormat::kYuyv ? 2 * width : width) + padding;
  const std::size_t chroma_stride = (format == PixelFormat::kNv12 ? width : width / 2) + padding;
  const std::size_t luma_bytes = stride * height;
  const std::size_t chroma_bytes = chroma_stride * height / 2;
  const bool packed = format == PixelFormat::kYuyv;
  const bool two_planes = format == PixelFormat::kNv12;
  frame.memory.assign(luma_bytes + (packed ? 0 : (two_planes ? 1 : 2) * chroma_bytes), std::byte{0xEE});
  std::byte* luma = frame.memory.data();
  std::byte* first = luma + luma_bytes;
  for (std::size_t y = 0; y < height; ++y) {
    for (std::size_t x = 0; x < width; ++x) {
      luma[y * stride + (packed ? 2 * x : x)] = level(yuv_at(x, y).y);
      if (x % 2 != 0 || (!packed && y % 2 != 0)) continue;
      const std::size_t rows = packed ? 1 : 2;
      const std::byte u = level(mean(x, y, rows, &Yuv::u));
      const std::byte v = level(mean(x, y, rows, &Yuv::v));
      if (packed) {
        luma[y * stride + 2 * x + 1] = u;
        luma[y * stride + 2 * x + 3] = v;
      } else if (two_planes) {
        first[y / 2 * chroma_stride + x] = u;
        first[y / 2 * chroma_stride + x + 1] = v;
      } else {
        first[y / 2 * chroma_stride + x / 2] = u;
        first[chroma_bytes + y / 2 * chroma_stride + x / 2] = v;
      }
    }
  }
  const std::span<const std::byte> all = frame.memory;
  frame.view.planes[0] = {all.first(luma_bytes), stride};
  if (!packed) frame.view.planes[1] = {all.subspan(luma_bytes, chroma_bytes), chroma_stride};
  if (!packed && !two_planes) frame.view.planes[2] = {all.subspan(luma_bytes + chroma_bytes), chroma_stride};
  frame.view.plane_count = packed ? 1 : two_planes ? 2 : 3;
  return frame;
}

}  // namespace kinglet::testing
