// SPDX-License-Identifier: Apache-2.0
// Why: the inner loops of video preprocessing, each with a scalar twin that gives the same bits (all sums are exact
// integers, so their order does not matter). They have no state and allocate nothing.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace kinglet::camera {

// --- Weights of 14 bits, for SSE2 and NEON (plane_kernels.cpp) -------------------------------------------------------

constexpr int kFineBits = 14;      // of a weight: 1 << kFineBits is one
constexpr int kBlendedBits = 7;    // of a blended byte: 255 << 7 still fits 16 bits
constexpr std::size_t kLanes = 8;  // a window of narrow_row is a multiple of it

// out[x] = the sum over `count` rows of row[x] * weight, with kBlendedBits fractional bits, within 0 to 255.
void blend_rows(const std::uint8_t* top, std::size_t stride, std::size_t length, const std::int16_t* weights,
                std::int32_t count, std::int16_t* out);
void blend_rows_scalar(const std::uint8_t* top, std::size_t stride, std::size_t length, const std::int16_t* weights,
                       std::int32_t count, std::int16_t* out);

// out[x] = the sum of blended[first[x] + i] * weights[x * window + i] over the window, rounded to a byte. Reads
// `window` numbers from each first[x], also where weights are zero.
void narrow_row(const std::int16_t* blended, const std::int32_t* first, const std::int16_t* weights, std::size_t window,
                std::size_t length, std::uint8_t* out);
void narrow_row_scalar(const std::int16_t* blended, const std::int32_t* first, const std::int16_t* weights,
                       std::size_t window, std::size_t length, std::uint8_t* out);

// --- Frames that become much smaller, in bytes from end to end (reduce_kernels.cpp) ----------------------------------
// Twice the lanes and half the steps, for filters without negative weights: AVX-512, AVX2 and NEON.

constexpr int kSmallBits = 7;           // of a weight, 0 to 127; those of one output add up to 1 << kSmallBits
constexpr std::size_t kByteLanes = 16;  // a window of narrow() is half of it or a multiple of it

using ByteRows = std::array<const std::uint8_t*, 2>;
using OutRows = std::array<std::uint8_t*, 2>;

struct ReduceKernels {
  std::string_view name;
  // out[x] = the sum over `count` rows of row[x] * weight, rounded. `weights` has an even number of them, the one
  // beyond `count` zero.
  void (*blend)(const std::uint8_t* top, std::size_t stride, std::size_t length, const std::uint8_t* weights,
                std::int32_t count, std::uint8_t* out);
  // pairs[2 i] and pairs[2 i + 1] to first[i] and second[i].
  void (*split)(const std::uint8_t* pairs, std::size_t count, std::uint8_t* first, std::uint8_t* second);
  // out[x] = the sum of row[first[x] + i] * weights[x * window + i] over the window, rounded. Reads `window` bytes from
  // each first[x], also where weights are zero.
  void (*narrow)(const std::uint8_t* row, const std::int32_t* first, const std::uint8_t* weights, std::size_t window,
                 std::size_t length, std::uint8_t* out);
  // The same of two rows that share first and weights, as U and V do.
  void (*narrow_both)(const ByteRows& rows, const std::int32_t* first, const std::uint8_t* weights, std::size_t window,
                      std::size_t length, const OutRows& out);
};

// Those that this processor can run, the quickest first; the scalar ones come last.
[[nodiscard]] std::span<const ReduceKernels> reduce_kernels();

}  // namespace kinglet::camera
