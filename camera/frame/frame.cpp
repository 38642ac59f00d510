// SPDX-License-Identifier: Apache-2.0
#include "camera/frame/frame.h"

#include <string>

#include "camera/frame/plane_shape.h"
#include "engine/base/format.h"
#include "engine/base/words.h"

namespace kinglet::camera {
namespace {

constexpr int kMaxSide = 65'535;

}  // namespace

std::string_view to_string(PixelFormat format) {
  using enum PixelFormat;
  static constexpr Word<PixelFormat> kWords[] = {
      {kRgb888, "RGB888"}, {kNv12, "NV12"}, {kYuv420, "YUV420"}, {kYuyv, "YUYV"}, {kMjpeg, "MJPEG"}};
  return word_of(kWords, format);
}

Result<void> check_view(const FrameView& view) {
  const auto bad = [&](std::string_view what) {
    return fail(ErrorCode::kBadData,
                format_text("{} frame of {}x{} pixels: {}", to_string(view.format), view.width, view.height, what));
  };
  if (view.width < 1 || view.height < 1 || view.width > kMaxSide || view.height > kMaxSide) {
    return bad("sides must be 1 to 65535");
  }
  const bool subsampled = view.format == PixelFormat::kNv12 || view.format == PixelFormat::kYuv420;
  if ((subsampled || view.format == PixelFormat::kYuyv) && view.width % 2 != 0) return bad("width must be even");
  if (subsampled && view.height % 2 != 0) return bad("height must be even");
  const int count = static_cast<int>(plane_count(view.format));
  if (view.plane_count < count) return bad(format_text("{} planes, expected {}", view.plane_count, count));
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    const auto& [bytes, stride] = view.planes[i];
    const auto [rows, row_bytes] =
        plane_shape(view.format, static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(view.width),
                    static_cast<std::uint32_t>(view.height));
    if (view.format == PixelFormat::kMjpeg) {
      if (bytes.empty()) return bad("no bytes");
      continue;
    }
    if (stride < row_bytes || stride > std::size_t{1} << 24) {
      return bad(format_text("plane {} has stride {}, a row needs {} bytes", i, stride, row_bytes));
    }
    if (bytes.size() < stride * (rows - 1) + row_bytes) {
      return bad(format_text("plane {} has {} bytes, {} rows of stride {} need {}", i, bytes.size(), rows, stride,
                             stride * (rows - 1) + row_bytes));
    }
  }
  return {};
}

FrameView Image::view() const {
  FrameView view;
  view.format = PixelFormat::kRgb888;
  view.width = width;
  view.height = height;
  view.planes[0] = {rgb, std::size_t{3} * static_cast<std::size_t>(width)};
  view.plane_count = 1;
  return view;
}

}  // namespace kinglet::camera
