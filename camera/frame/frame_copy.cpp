// SPDX-License-Identifier: Apache-2.0
#include "camera/frame/frame_copy.h"

#include <algorithm>

namespace kinglet::camera {

void copy_view(const FrameView& view, std::vector<std::byte>& bytes, FrameView& copy) {
  copy = view;
  std::size_t total = 0;
  for (int i = 0; i < view.plane_count; ++i) total += view.planes[static_cast<std::size_t>(i)].bytes.size();
  bytes.resize(total);
  std::size_t offset = 0;
  for (int i = 0; i < copy.plane_count; ++i) {
    Plane& plane = copy.planes[static_cast<std::size_t>(i)];
    std::ranges::copy(plane.bytes, bytes.begin() + static_cast<std::ptrdiff_t>(offset));
    plane.bytes = {bytes.data() + offset, plane.bytes.size()};
    offset += plane.bytes.size();
  }
}

}  // namespace kinglet::camera
