// SPDX-License-Identifier: Apache-2.0
// Why: what box_kernels.cpp leaves to a processor, a file each, and how those walk along a row.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "camera/preprocess/resample/row_kernels.h"

namespace kinglet::camera::box {

using Outputs = std::array<std::uint8_t*, 3>;

// Of samples `kStep` bytes apart, from `offset` on.
template <std::size_t kStep>
[[gnu::noinline]] void mean_boxes(const BoxRows& from, std::size_t offset, std::uint8_t* out);

// The twins. A loop has to see what becomes of its outputs: GCC 14 else keeps these in a vector's register, which
// NEON's loops then lack.
inline void plain_scalar(const BoxRows& from, const Outputs& out) { mean_boxes<1>(from, 0, out[0]); }

inline void pairs_scalar(const BoxRows& from, const Outputs& out) {
  for (std::size_t i = 0; i < 2; ++i) mean_boxes<2>(from, i, out[i]);
}

inline void yuyv_scalar(const BoxRows& from, const Outputs& out) {
  mean_boxes<2>(from, 0, out[0]);
  BoxRows coarse = from;
  coarse.samples /= 2;
  coarse.side /= 2;
  mean_boxes<4>(coarse, 1, out[1]);
  mean_boxes<4>(coarse, 3, out[2]);
}

#if defined(__x86_64__)
extern const BoxKernels kAvx512;
extern const BoxKernels kAvx2;
#elif defined(__ARM_NEON) && defined(__aarch64__)
extern const BoxKernels kNeon;
#endif

// The boxes in so many bytes of a row, of rows whose number is a power of two.
inline constexpr std::size_t kBlockBytes = 128;
using Block = void (*)(const BoxRows& from, const Outputs& out);

inline Outputs from_box(const Outputs& out, std::size_t box) { return {out[0] + box, out[1] + box, out[2] + box}; }

// Whole blocks, and where the last one is not whole, one more that ends with the last whole box: it repeats some. What
// is left is a box that the row's end cuts.
template <Block block, BoxKernels::Means scalar>
[[gnu::always_inline]] inline void in_blocks(const BoxRows& given, const Outputs& given_out, std::size_t boxes,
                                             std::size_t bytes_a_sample) {
  const BoxRows from = given;  // what is written might be these
  const Outputs out = given_out;
  const std::size_t whole = from.samples / from.side;
  if (whole < boxes) return scalar(given, given_out);
  const std::size_t bytes = from.side * bytes_a_sample;
  BoxRows here = from;
  std::size_t x = 0;
  for (; x + boxes <= whole; x += boxes, here.top += boxes * bytes) block(here, from_box(out, x));
  if (x < whole) {
    here.top = from.top + (whole - boxes) * bytes;
    block(here, from_box(out, whole - boxes));
  }
  BoxRows rest = from;
  rest.top += whole * bytes;
  rest.samples -= whole * from.side;
  if (rest.samples > 0) scalar(rest, from_box(out, whole));
}

}  // namespace kinglet::camera::box
