// SPDX-License-Identifier: Apache-2.0
#include "camera/frame/packed_frame.h"

#include <algorithm>

#include "camera/frame/plane_shape.h"
#include "engine/base/check.h"
#include "engine/base/format.h"

namespace kinglet::camera {
namespace {

PlaneShape shape_of(const FrameView& view, std::uint32_t plane) {
  return plane_shape(view.format, plane, static_cast<std::uint32_t>(view.width),
                     static_cast<std::uint32_t>(view.height));
}

}  // namespace

std::uint64_t packed_size(const FrameView& view) {
  if (view.format == PixelFormat::kMjpeg) return view.planes[0].bytes.size();
  std::uint64_t size = 0;
  for (std::uint32_t plane = 0; plane < plane_count(view.format); ++plane) {
    const PlaneShape shape = shape_of(view, plane);
    size += shape.rows * shape.row_bytes;
  }
  return size;
}

Result<FrameView> packed_view(const FrameView& shape, std::span<const std::byte> bytes) {
  FrameView view = shape;
  view.planes = {};
  view.plane_count = static_cast<int>(plane_count(shape.format));
  std::span<const std::byte> rest = bytes;
  for (std::uint32_t plane = 0; plane < plane_count(shape.format); ++plane) {
    if (shape.format == PixelFormat::kMjpeg) {
      view.planes[0] = {std::exchange(rest, {}), 0};
      break;
    }
    const PlaneShape need = shape_of(shape, plane);
    const std::uint64_t length = need.rows * need.row_bytes;
    if (length > rest.size()) return fail(ErrorCode::kBadData, "a frame's bytes are fewer than its size needs");
    view.planes[plane] = {rest.first(length), need.row_bytes};
    rest = rest.subspan(length);
  }
  if (!rest.empty()) return fail(ErrorCode::kBadData, "a frame's bytes are more than its size needs");
  KINGLET_TRY(check_view(view));
  return view;
}

void pack(const FrameView& view, std::vector<std::byte>& bytes) {
  bytes.resize(packed_size(view));
  if (view.format == PixelFormat::kMjpeg) {
    std::ranges::copy(view.planes[0].bytes, bytes.begin());
    return;
  }
  auto to = bytes.begin();
  for (std::uint32_t plane = 0; plane < plane_count(view.format); ++plane) {
    const PlaneShape shape = shape_of(view, plane);
    const Plane& from = view.planes[plane];
    for (std::uint64_t row = 0; row < shape.rows; ++row) {
      to = std::ranges::copy(from.bytes.subspan(row * from.stride, shape.row_bytes), to).out;
    }
  }
  KINGLET_CHECK(to == bytes.end());
}

}  // namespace kinglet::camera
