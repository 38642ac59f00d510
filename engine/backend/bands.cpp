// SPDX-License-Identifier: Apache-2.0
#include "engine/backend/bands.h"

#include <algorithm>

namespace kinglet::engine {
namespace {

constexpr std::size_t kLeastBytes = std::size_t{2} << 20;  // of a value that is worth it
constexpr std::size_t kBandBytes = std::size_t{1} << 20;
// One of so many rows, at most, is computed for two bands; one byte of weights for so many of the value is packed for
// all bands together.
constexpr std::size_t kMostRowsTwice = 8;
constexpr std::size_t kMostWeights = 16;

std::size_t reach_of(const xnn::Window& window) {
  return std::size_t{window.kernel_height - 1} * window.dilation_height + 1;
}

}  // namespace

bool is_of_pixels(const xnn::Window& w) {
  return w.kernel_height == 1 && w.kernel_width == 1 && w.stride_height == 1 && w.stride_width == 1 &&
         w.pad_top + w.pad_left + w.pad_bottom + w.pad_right == 0;
}

std::size_t bands_of(const Between& between) {
  const std::size_t reach = reach_of(between.window);
  if (between.bytes < kLeastBytes || between.window.pad_top >= reach || between.window.pad_bottom >= reach) return 1;
  const std::size_t twice = reach - std::min<std::size_t>(reach, between.window.stride_height);
  std::size_t bands = std::min(between.bytes / kBandBytes, between.outputs);
  if (twice > 0) bands = std::min(bands, 1 + between.rows / (kMostRowsTwice * twice));
  return between.weight_bytes * bands * kMostWeights <= between.bytes ? bands : 1;
}

Band band_of(const Between& between, std::size_t index, std::size_t count) {
  const xnn::Window& whole = between.window;
  const std::size_t first = index * between.outputs / count;
  const std::size_t end = (index + 1) * between.outputs / count;
  // Rows of the value between, counted from the first one of the padding.
  const std::size_t from = first * whole.stride_height;
  const std::size_t to = (end - 1) * whole.stride_height + reach_of(whole);
  xnn::Window window = whole;
  window.pad_top = static_cast<std::uint32_t>(whole.pad_top - std::min<std::size_t>(from, whole.pad_top));
  window.pad_bottom =
      static_cast<std::uint32_t>(std::max(to, between.rows + whole.pad_top) - between.rows - whole.pad_top);
  const std::size_t begin = std::max<std::size_t>(from, whole.pad_top) - whole.pad_top;
  return {.first = first,
          .outputs = end - first,
          .begin = begin,
          .rows = std::min(to - whole.pad_top, between.rows) - begin,
          .window = window};
}

}  // namespace kinglet::engine
