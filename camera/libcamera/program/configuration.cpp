// SPDX-License-Identifier: Apache-2.0
// Why: see configuration.h.
#include "camera/libcamera/program/device.h"

#include <cmath>
#include <utility>

#include "camera/libcamera/program/controls.h"
#include "camera/libcamera/program/formats.h"
#include "engine/base/format.h"

namespace kinglet::camera {
namespace {

using libcamera::CameraConfiguration;
using libcamera::StreamRole;

constexpr unsigned kBufferWish = 6;  // two with the camera, one waiting, three with the daemon

void ask_for(libcamera::StreamConfiguration& stream, const libcamera::PixelFormat& format, libcamera::Size size) {
  stream.pixelFormat = format;
  stream.size = size;
  stream.stride = 0;  // anything else would be a wish
  stream.bufferCount = kBufferWish;
}

double shape(libcamera::Size size) { return static_cast<double>(size.width) / size.height; }

bool is_small_of(const libcamera::StreamConfiguration& small, const libcamera::StreamConfiguration& full) {
  return small.pixelFormat == full.pixelFormat && small.size.width < full.size.width && small.size.height > 0 &&
         std::abs(shape(small.size) / shape(full.size) - 1) < 0.02;
}

// The streams of `one` and a small one; nothing if the camera does not give them side by side.
std::unique_ptr<CameraConfiguration> with_small(libcamera::Camera& camera, const CameraConfiguration& one,
                                                unsigned width) {
  const libcamera::StreamConfiguration& full = one.at(0);
  if (from_libcamera(full.pixelFormat) == PixelFormat::kMjpeg) return nullptr;
  const auto height = static_cast<unsigned>(std::lround(width / shape(full.size) / 2)) * 2;
  auto two = camera.generateConfiguration({StreamRole::Viewfinder, StreamRole::Viewfinder});
  if (!two || two->size() != 2) return nullptr;
  ask_for(two->at(0), full.pixelFormat, full.size);
  ask_for(two->at(1), full.pixelFormat, {width / 2 * 2, height});
  two->orientation = one.orientation;
  if (two->validate() == CameraConfiguration::Invalid || two->orientation != one.orientation) return nullptr;
  const libcamera::StreamConfiguration& first = two->at(0);
  const bool same = first.size == full.size && first.pixelFormat == full.pixelFormat;
  return same && is_small_of(two->at(1), first) ? std::move(two) : nullptr;
}

}  // namespace

Result<void> settle(CameraConfiguration& wanted, libcamera::Orientation orientation, const std::string& camera) {
  const auto refuse = [&](const std::string& why) {
    return fail(ErrorCode::kUnavailable, format_text("camera {}: {}", camera, why));
  };
  wanted.orientation = orientation;
  const libcamera::StreamConfiguration& stream = wanted.at(0);
  if (wanted.validate() == CameraConfiguration::Invalid) {
    return refuse(format_text("cannot give {}", stream.toString()));
  }
  if (wanted.orientation != orientation) {
    return fail(
        ErrorCode::kUnavailable,
        format_text("camera {} cannot turn the picture as camera.rotation, camera.hflip and camera.vflip say", camera),
        "", "most cameras turn by 180 degrees or mirror, or neither");
  }
  if (!from_libcamera(stream.pixelFormat)) {
    return refuse(format_text("gives {}, which kinglet does not read", stream.pixelFormat.toString()));
  }
  return {};
}

Result<std::unique_ptr<CameraConfiguration>> make_configuration(libcamera::Camera& camera, const StreamWish& wish) {
  auto one = camera.generateConfiguration({StreamRole::Viewfinder});
  if (!one || one->empty()) {
    return fail(ErrorCode::kUnavailable, format_text("camera {}: gives no video stream", camera.id()));
  }
  libcamera::StreamConfiguration& stream = one->at(0);
  const libcamera::Size size(wish.width, wish.height);
  ask_for(stream, KINGLET_TRY(choose_format(stream.formats(), size)), size);
  const libcamera::Transform transform = KINGLET_TRY(make_transform(wish.settings));
  KINGLET_TRY(settle(*one, one->orientation * transform, camera.id()));
  if (wish.small_width > 0) {
    if (auto two = with_small(camera, *one, wish.small_width)) return two;
  }
  return one;
}

}  // namespace kinglet::camera
