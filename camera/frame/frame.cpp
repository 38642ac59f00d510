// SPDX-License-Identifier: Apache-2.0
#include "camera/frame/frame.h"

#include <string>

#include "engine/base/format.h"

namespace kinglet::camera {
namespace {

constexpr int kMaxSide = 65'535;

struct PlaneNeed {
  std::size_t row_bytes;
  std::size_t rows;
};

struct Need {
  std::array<PlaneNeed, 3> planes;
  int count;
};

// Bytes of each plane's rows at the given size.
Need need_of(const FrameView& view) {
  const auto width = static_cast<std::size_t>(view.width);
  const auto height = static_cast<std::size_t>(view.height);
  switch (view.format) {
    case PixelFormat::kRgb888:
      return {{{{3 * width, height}}}, 1};
    case PixelFormat::kNv12:
      return {{{{width, height}, {width, height / 2}}}, 2};
    case PixelFormat::kYuv420:
      return {{{{width, height}, {width / 2, height / 2}, {width / 2, height / 2}}}, 3};
    case PixelFormat::kYuyv:
      return {{{{2 * width, height}}}, 1};
    case PixelFormat::kMjpeg:
      return {{{{1, 1}}}, 1};
  }
  return {{}, 0};
}

}  // namespace

std::string_view to_string(PixelFormat format) {
  switch (format) {
    case PixelFormat::kRgb888:
      return "RGB888";
    case PixelFormat::kNv12:
      return "NV12";
    case PixelFormat::kYuv420:
      return "YUV420";
    case PixelFormat::kYuyv:
      return "YUYV";
    case PixelFormat::kMjpeg:
      return "MJPEG";
  }
  return "?";
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
  const Need need = need_of(view);
  if (view.plane_count < need.count) return bad(format_text("{} planes, expected {}", view.plane_count, need.count));
  for (std::size_t i = 0; i < static_cast<std::size_t>(need.count); ++i) {
    const auto& [bytes, stride] = view.planes[i];
    const auto& [row_bytes, rows] = need.planes[i];
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
