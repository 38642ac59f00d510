// SPDX-License-Identifier: Apache-2.0
// Why: frames and pictures of which tests make clips.
#pragma once

#include <string>
#include <vector>

#include "camera/decode/decode.h"
#include "daemon/capture/clips/clip_ring.h"

namespace kinglet::daemon {

using std::chrono::milliseconds;
using std::chrono::seconds;

inline const SteadyTime kBegin{seconds(1000)};

inline ClipFrame frame_at(milliseconds at, std::size_t bytes = 100) {
  return {kBegin + at, WallTime(seconds(1'777'875'129)) + at,
          std::string(bytes, static_cast<char>('a' + at.count() % 26))};
}

inline constexpr ClipLimits kLarge{.bytes = 32U << 20U};

inline std::string drawn_jpeg(int width, int height, int gray) {
  const camera::Image image{
      .width = width,
      .height = height,
      .rgb = std::vector<std::byte>(static_cast<std::size_t>(3 * width * height), static_cast<std::byte>(gray))};
  const auto jpeg = camera::encode_jpeg(image.view(), 80);
  return {reinterpret_cast<const char*>(jpeg->data()), jpeg->size()};
}

}  // namespace kinglet::daemon
