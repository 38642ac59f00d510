// SPDX-License-Identifier: Apache-2.0
// Why: see formats.h.
#include "camera/libcamera/program/formats.h"

#include <libcamera/formats.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "engine/base/format.h"

namespace kinglet::camera {
namespace {

namespace formats = libcamera::formats;

// In the order of preference.
const std::array<std::pair<libcamera::PixelFormat, PixelFormat>, 5> kFormats{{
    {formats::NV12, PixelFormat::kNv12},
    {formats::YUV420, PixelFormat::kYuv420},
    {formats::BGR888, PixelFormat::kRgb888},
    {formats::YUYV, PixelFormat::kYuyv},
    {formats::MJPEG, PixelFormat::kMjpeg},
}};

bool has_size(const libcamera::StreamFormats& offered, const libcamera::PixelFormat& format, libcamera::Size size) {
  return offered.range(format).contains(size) || std::ranges::contains(offered.sizes(format), size);
}

}  // namespace

std::optional<PixelFormat> from_libcamera(const libcamera::PixelFormat& format) {
  for (const auto& [theirs, ours] : kFormats) {
    if (theirs == format) return ours;
  }
  return std::nullopt;
}

Result<libcamera::PixelFormat> choose_format(const libcamera::StreamFormats& offered, libcamera::Size size) {
  const std::vector<libcamera::PixelFormat> all = offered.pixelformats();
  std::vector<libcamera::PixelFormat> usable;
  for (const auto& [theirs, ours] : kFormats) {
    if (std::ranges::contains(all, theirs)) usable.push_back(theirs);
  }
  if (usable.empty()) {
    std::string names;
    for (const auto& format : all) names += (names.empty() ? "" : ", ") + format.toString();
    return fail(ErrorCode::kUnavailable, format_text("the camera gives only {}, which kinglet does not read", names),
                "", "cameras with NV12, YUV420, BGR888, YUYV or MJPEG work");
  }
  // USB 2 has no room for large uncompressed pictures: such cameras then give a few frames per second only.
  const bool mjpeg = std::ranges::contains(usable, formats::MJPEG) && has_size(offered, formats::MJPEG, size);
  if (usable.front() == formats::YUYV && mjpeg && size.width > 640) return formats::MJPEG;
  const auto fits = std::ranges::find_if(usable, [&](const auto& format) { return has_size(offered, format, size); });
  return fits != usable.end() ? *fits : usable.front();
}

Colors choose_colors(const std::optional<libcamera::ColorSpace>& space, PixelFormat format, bool hardware) {
  if (format == PixelFormat::kMjpeg || format == PixelFormat::kRgb888) return {};
  if (!hardware) return {ColorMatrix::kBt601, ColorRange::kFull};
  if (!space) return {ColorMatrix::kBt601, ColorRange::kLimited};
  const bool is_601 = space->ycbcrEncoding == libcamera::ColorSpace::YcbcrEncoding::Rec601 ||
                      space->ycbcrEncoding == libcamera::ColorSpace::YcbcrEncoding::None;
  const bool is_full = space->range == libcamera::ColorSpace::Range::Full;
  return {is_601 ? ColorMatrix::kBt601 : ColorMatrix::kBt709, is_full ? ColorRange::kFull : ColorRange::kLimited};
}

}  // namespace kinglet::camera
