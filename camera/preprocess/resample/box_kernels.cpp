// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "camera/preprocess/resample/avx.h"
#include "camera/preprocess/resample/box_form.h"

namespace kinglet::camera {
namespace box {

template <std::size_t kStep>
void mean_boxes(const BoxRows& from, std::size_t offset, std::uint8_t* out) {
  for (std::size_t x = 0; x < from.samples; x += from.side) {
    const std::size_t width = std::min(from.side, from.samples - x);
    std::size_t sum = 0;
    for (std::size_t row = 0; row < from.rows; ++row) {
      const std::uint8_t* box = from.top + row * from.stride + x * kStep + offset;
      for (std::size_t i = 0; i < width; ++i) sum += box[i * kStep];
    }
    const std::size_t count = width * from.rows;
    *out++ = static_cast<std::uint8_t>((sum + (count - (from.halves_down ? 1 : 0)) / 2) / count);
  }
}
template void mean_boxes<1>(const BoxRows&, std::size_t, std::uint8_t*);
template void mean_boxes<2>(const BoxRows&, std::size_t, std::uint8_t*);
template void mean_boxes<4>(const BoxRows&, std::size_t, std::uint8_t*);

constexpr BoxKernels kScalar{"scalar", {plain_scalar, pairs_scalar, yuyv_scalar}};

}  // namespace box

std::span<const BoxKernels> box_kernels() {
#if defined(__x86_64__)
  static const std::array kAll{box::kAvx512, box::kAvx2, box::kScalar};
  return those_here(std::span<const BoxKernels>(kAll));
#elif defined(__ARM_NEON) && defined(__aarch64__)
  static const std::array kAll{box::kNeon, box::kScalar};
  return kAll;
#else
  static const std::array kAll{box::kScalar};
  return kAll;
#endif
}

}  // namespace kinglet::camera
