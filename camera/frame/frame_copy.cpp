// SPDX-License-Identifier: Apache-2.0
#include "camera/frame/frame_copy.h"

#include <algorithm>
#include <cstdint>

#include "camera/frame/plane_shape.h"
#include "engine/base/check.h"

namespace kinglet::camera {
namespace {

// Of a folder's photographs one may be huge, and each place for a copy gets it some day.
void give_back(std::vector<std::byte>& bytes, std::size_t wanted) {
  constexpr std::size_t kAlwaysKept = std::size_t{32} << 20;
  if (bytes.capacity() > kAlwaysKept && bytes.capacity() / 4 > wanted) std::vector<std::byte>().swap(bytes);
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

void copy_part(const FrameView& view, int x, int y, int width, int height, std::vector<std::byte>& bytes,
               FrameView& copy) {
  KINGLET_CHECK(view.format != PixelFormat::kMjpeg && x >= 0 && y >= 0 && width > 0 && height > 0);
  KINGLET_CHECK((x | y | width | height) % 2 == 0 && x + width <= view.width && y + height <= view.height);
  const auto shape = [&](int plane, int columns, int rows) {
    return plane_shape(view.format, static_cast<std::uint32_t>(plane), static_cast<std::uint32_t>(columns),
                       static_cast<std::uint32_t>(rows));
  };
  copy = view;
  copy.width = width;
  copy.height = height;
  std::size_t total = 0;
  for (int i = 0; i < view.plane_count; ++i) total += shape(i, width, height).row_bytes * shape(i, width, height).rows;
  give_back(bytes, total);
  bytes.clear();
  bytes.reserve(total);
  std::array<std::size_t, 3> ends{};
  for (int i = 0; i < view.plane_count; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const Plane& plane = view.planes[at];
    const PlaneShape before = shape(i, x, y);
    const PlaneShape part = shape(i, width, height);
    for (std::uint64_t row = 0; row < part.rows; ++row) {
      const auto pixels = plane.bytes.subspan((before.rows + row) * plane.stride + before.row_bytes, part.row_bytes);
      bytes.insert(bytes.end(), pixels.begin(), pixels.end());
    }
    copy.planes[at].stride = part.row_bytes;
    ends[at] = bytes.size();
  }
  for (std::size_t i = 0, begin = 0; i < static_cast<std::size_t>(view.plane_count); begin = ends[i++]) {
    copy.planes[i].bytes = std::span<const std::byte>(bytes).subspan(begin, ends[i] - begin);
  }
}

}  // namespace kinglet::camera
