// SPDX-License-Identifier: Apache-2.0
// Why: the two inner loops of video preprocessing, for SSE2 and NEON, each with a scalar twin that gives the same bits
// (all sums are exact integers, so their order does not matter). They have no state and allocate nothing.
#pragma once

#include <cstddef>
#include <cstdint>

namespace kinglet::camera {

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

}  // namespace kinglet::camera
