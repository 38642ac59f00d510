// SPDX-License-Identifier: Apache-2.0
#include "camera/preprocess/brightness.h"

#include <algorithm>
#include <cstdint>

namespace kinglet::camera {
namespace {

constexpr double kDark = 70;     // darker is shown brighter
constexpr double kWanted = 118;  // as bright as photographs of birds are on the whole
constexpr int kSamples = 32;     // a side

}  // namespace

std::size_t gain_for(double brightness) {
  if (brightness >= kDark) return 0;
  const double wanted = kWanted / std::max(brightness, 1.0);
  const auto above = std::ranges::upper_bound(kGains, wanted);
  return static_cast<std::size_t>(above - kGains.begin()) - 1;
}

double mean_level(const Plane& plane, const ChannelLayout& channel, int width, int height) {
  const auto* first = reinterpret_cast<const std::uint8_t*>(plane.bytes.data()) + channel.offset;
  const int step_x = std::max(1, width / kSamples);
  const int step_y = std::max(1, height / kSamples);
  std::uint64_t sum = 0;
  std::uint64_t count = 0;
  for (int y = step_y / 2; y < height; y += step_y) {
    const std::uint8_t* row = first + static_cast<std::size_t>(y) * plane.stride;
    for (int x = step_x / 2; x < width; x += step_x) {
      sum += row[static_cast<std::size_t>(x) * static_cast<std::size_t>(channel.step)];
      ++count;
    }
  }
  return count == 0 ? 0 : static_cast<double>(sum) / static_cast<double>(count);
}

}  // namespace kinglet::camera
