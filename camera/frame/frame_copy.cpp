// SPDX-License-Identifier: Apache-2.0
#include "camera/frame/frame_copy.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "camera/frame/plane_shape.h"
#include "engine/base/check.h"

namespace kinglet::camera {
namespace {

// Of a folder's photographs one may be huge, and each place for a copy gets it some day.
void give_back(std::vector<std::byte>& bytes, std::size_t wanted) {
  constexpr std::size_t kAlwaysKept = std::size_t{32} << 20;
  if (bytes.capacity() > kAlwaysKept && bytes.capacity() / 4 > wanted) std::vector<std::byte>().swap(bytes);
}

PlaneShape shape_of(PixelFormat format, int plane, int width, int height) {
  return plane_shape(format, static_cast<std::uint32_t>(plane), static_cast<std::uint32_t>(width),
                     static_cast<std::uint32_t>(height));
}

}  // namespace

void copy_view(const FrameView& view, std::vector<std::byte>& bytes, FrameView& copy) {
  copy = view;
  std::size_t total = 0;
  for (int i = 0; i < view.plane_count; ++i) total += view.planes[static_cast<std::size_t>(i)].bytes.size();
  give_back(bytes, total);
  bytes.resize(total);
  std::size_t offset = 0;
  for (int i = 0; i < copy.plane_count; ++i) {
    Plane& plane = copy.planes[static_cast<std::size_t>(i)];
    std::ranges::copy(plane.bytes, bytes.begin() + static_cast<std::ptrdiff_t>(offset));
    plane.bytes = {bytes.data() + offset, plane.bytes.size()};
    offset += plane.bytes.size();
  }
}

FrameView part_of(const FrameView& view, int x, int y, int width, int height) {
  KINGLET_CHECK(view.format != PixelFormat::kMjpeg && x >= 0 && y >= 0 && width > 0 && height > 0);
  KINGLET_CHECK(x + width <= view.width && y + height <= view.height);
  const bool subsampled = view.format == PixelFormat::kNv12 || view.format == PixelFormat::kYuv420;
  if (view.format != PixelFormat::kRgb888) KINGLET_CHECK((x | width) % 2 == 0);
  if (subsampled) KINGLET_CHECK((y | height) % 2 == 0);
  FrameView part = view;
  part.width = width;
  part.height = height;
  for (int i = 0; i < view.plane_count; ++i) {
    Plane& plane = part.planes[static_cast<std::size_t>(i)];
    const PlaneShape before = shape_of(view.format, i, x, y);
    const PlaneShape shape = shape_of(view.format, i, width, height);
    plane.bytes = plane.bytes.subspan(before.rows * plane.stride + before.row_bytes,
                                      (shape.rows - 1) * plane.stride + shape.row_bytes);
  }
  return part;
}

void copy_part(const FrameView& view, int x, int y, int width, int height, std::vector<std::byte>& bytes,
               FrameView& copy) {
  const FrameView part = part_of(view, x, y, width, height);
  const auto planes = static_cast<std::size_t>(part.plane_count);
  std::array<PlaneShape, 3> shapes{};
  std::size_t total = 0;
  for (std::size_t i = 0; i < planes; ++i) {
    shapes[i] = shape_of(part.format, static_cast<int>(i), width, height);
    total += shapes[i].rows * shapes[i].row_bytes;
  }
  give_back(bytes, total);
  bytes.resize(total);
  copy = part;
  std::span<std::byte> room = bytes;
  for (std::size_t i = 0; i < planes; ++i) {
    const Plane& plane = part.planes[i];
    copy.planes[i] = {.bytes = room.first(shapes[i].rows * shapes[i].row_bytes), .stride = shapes[i].row_bytes};
    for (std::uint64_t row = 0; row < shapes[i].rows; ++row) {
      std::ranges::copy(plane.bytes.subspan(row * plane.stride, shapes[i].row_bytes), room.begin());
      room = room.subspan(shapes[i].row_bytes);
    }
  }
}

}  // namespace kinglet::camera
