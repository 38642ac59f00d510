// SPDX-License-Identifier: Apache-2.0
// Why: JPEG has a camera's planes of 4:2:0 inside; colours of JFIF (full range BT.601) need no way through RGB.
#include <libyuv.h>
#include <turbojpeg.h>

#include <algorithm>
#include <array>
#include <memory>

#include "camera/decode/decode.h"
#include "camera/decode/to_rgb.h"
#include "engine/base/text.h"

namespace kinglet::camera {
namespace {

struct JpegHandleDeleter {
  void operator()(void* handle) const { tjDestroy(handle); }
};
struct JpegBufferDeleter {
  void operator()(unsigned char* buffer) const { tjFree(buffer); }
};

struct Planes {
  std::array<const std::uint8_t*, 3> data;
  std::array<int, 3> strides;
};

const std::uint8_t* pixels(const Plane& plane) { return reinterpret_cast<const std::uint8_t*>(plane.bytes.data()); }

bool has_jpegs_planes(const FrameView& view) {
  return (view.format == PixelFormat::kYuv420 || view.format == PixelFormat::kNv12) &&
         view.matrix == ColorMatrix::kBt601 && view.range == ColorRange::kFull;
}

// `room` holds U and V where they lie side by side.
Planes planes_of(const FrameView& view, std::vector<std::uint8_t>& room) {
  const auto stride = [&](int plane) { return static_cast<int>(view.planes[static_cast<std::size_t>(plane)].stride); };
  const std::uint8_t* const y = pixels(view.planes[0]);
  if (view.format == PixelFormat::kYuv420) {
    return {{y, pixels(view.planes[1]), pixels(view.planes[2])}, {stride(0), stride(1), stride(2)}};
  }
  const int width = view.width / 2;
  const int height = view.height / 2;
  const std::size_t bytes = static_cast<std::size_t>(width) * static_cast<std::size_t>(height);
  room.resize(2 * bytes);
  std::uint8_t* const u = room.data();
  libyuv::SplitUVPlane(pixels(view.planes[1]), stride(1), u, width, u + bytes, width, width, height);
  return {{y, u, u + bytes}, {stride(0), width, width}};
}

// Turbojpeg's status.
int compress(void* handle, const FrameView& view, int quality, unsigned char** raw, unsigned long* size) {
  if (view.format == PixelFormat::kRgb888) {
    return tjCompress2(handle, pixels(view.planes[0]), view.width, static_cast<int>(view.planes[0].stride), view.height,
                       TJPF_RGB, raw, size, TJSAMP_420, quality, TJFLAG_ACCURATEDCT);
  }
  std::vector<std::uint8_t> room;
  Planes planes = planes_of(view, room);
  return tjCompressFromYUVPlanes(handle, planes.data.data(), view.width, planes.strides.data(), view.height, TJSAMP_420,
                                 raw, size, quality, TJFLAG_ACCURATEDCT);
}

}  // namespace

Result<std::vector<std::byte>> encode_jpeg(const FrameView& view, int quality) {
  KINGLET_TRY(check_view(view));
  if (view.format != PixelFormat::kRgb888 && !has_jpegs_planes(view)) {
    const Image rgb = KINGLET_TRY(to_rgb(view));
    return encode_jpeg(rgb.view(), quality);
  }
  const std::unique_ptr<void, JpegHandleDeleter> handle(tjInitCompress());
  if (!handle) return fail(ErrorCode::kInternal, "the JPEG encoder cannot start");
  unsigned char* raw = nullptr;
  unsigned long size = 0;
  const int status = compress(handle.get(), view, std::clamp(quality, 1, 100), &raw, &size);
  const std::unique_ptr<unsigned char, JpegBufferDeleter> buffer(raw);
  if (status != 0) {
    return fail(ErrorCode::kInternal, "JPEG encoding failed: " + printable(tjGetErrorStr2(handle.get())));
  }
  const auto* first = reinterpret_cast<const std::byte*>(buffer.get());
  return std::vector<std::byte>(first, first + size);
}

}  // namespace kinglet::camera
