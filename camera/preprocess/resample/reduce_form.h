// SPDX-License-Identifier: Apache-2.0
// Why: what reduce_kernels.cpp leaves to a processor, a file each, and what these have in common.
#pragma once

#include <cstddef>
#include <cstdint>

#include "camera/preprocess/resample/row_kernels.h"

namespace kinglet::camera::reduce {

inline constexpr int kHalf = 1 << (kSmallBits - 1);
// Weights of a window that stand together in Windows::woven, and what their number is a multiple of.
#if defined(__x86_64__)
inline constexpr std::size_t kTogether = 4;
inline constexpr std::size_t kTakenBy = 4;
#elif defined(__ARM_NEON) && defined(__aarch64__)
inline constexpr std::size_t kTogether = 1;
inline constexpr std::size_t kTakenBy = 2;
#else
inline constexpr std::size_t kTogether = 0;  // there is no such processor
inline constexpr std::size_t kTakenBy = 1;
#endif

void blend_scalar(const std::uint8_t* top, std::size_t stride, std::size_t length, const std::uint8_t* weights,
                  std::int32_t count, std::uint8_t* out);
void split_scalar(const std::uint8_t* pairs, std::size_t count, std::uint8_t* first, std::uint8_t* second);
// The outputs from `x` on.
void narrow_rest(const std::uint8_t* row, const Windows& windows, std::size_t x, std::uint8_t* out);

#if defined(__x86_64__)
extern const ReduceKernels kVbmi;
extern const ReduceKernels kAvx512;
extern const ReduceKernels kAvx2;
#elif defined(__ARM_NEON) && defined(__aarch64__)
extern const ReduceKernels kNeon;
#endif

// One row after the other.
template <auto narrow>
void narrow_each(const ByteRows& rows, const Windows& windows, const OutRows& out) {
  for (std::size_t i = 0; i < rows.size(); ++i) narrow(rows[i], windows, out[i]);
}

// Sums fit 16 bits with their sign: at most 255 * 128 and the half.
inline constexpr std::size_t kBlendBlock = 64;
using BlendBlock = void (*)(const std::uint8_t*, std::size_t, const std::uint8_t*, std::int32_t, std::uint8_t*);

// Whole blocks, and where the last one is not whole, one more that ends with the row: it repeats some bytes. `wide`:
// three blocks at once.
template <BlendBlock block, BlendBlock wide = nullptr>
void blend_blocks(const std::uint8_t* top, std::size_t stride, std::size_t length, const std::uint8_t* weights,
                  std::int32_t count, std::uint8_t* out) {
  if (length < kBlendBlock) return blend_scalar(top, stride, length, weights, count, out);
  std::size_t x = 0;
  if constexpr (wide != nullptr) {
    for (; x + 3 * kBlendBlock <= length; x += 3 * kBlendBlock) wide(top + x, stride, weights, count, out + x);
  }
  for (; x + kBlendBlock <= length; x += kBlendBlock) block(top + x, stride, weights, count, out + x);
  if (x < length) {
    x = length - kBlendBlock;
    block(top + x, stride, weights, count, out + x);
  }
}

}  // namespace kinglet::camera::reduce
