// SPDX-License-Identifier: Apache-2.0
// Why: the inner loops of video preprocessing, each with a scalar twin that gives the same bits (all sums are exact
// integers, so their order does not matter). They have no state and allocate nothing.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

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

// What each output of narrow() looks at.
struct Windows {
  Windows() = default;
  // Of which only the first `taps` of each have weights.
  Windows(std::vector<std::int32_t> first_bytes, std::vector<std::uint8_t> all_weights, std::size_t bytes,
          std::size_t taps);

  std::vector<std::int32_t> first;
  std::vector<std::uint8_t> weights;  // those of output x at x * window
  std::size_t window = 0;

  // For processors that look bytes up in registers (NEON, AVX-512 VBMI), by sixteen outputs, the last sixteen of which
  // end with the row: where their windows begin, seen from the first of them, then the weights, sixteen for each of
  // `taken`; on x86-64 four of a window stand together. Nothing where sixteen windows do not lie in kReach bytes.
  static constexpr std::size_t kReach = 64;
  std::vector<std::uint8_t> woven;
  std::size_t taken = 0;
  std::size_t reach = 0;  // of the widest sixteen
};

// Bytes that narrow() may read from the first of a window on.
[[nodiscard]] constexpr std::size_t room_for(std::size_t window) { return std::max(window, Windows::kReach); }

struct ReduceKernels {
  std::string_view name;
  // out[x] = the sum over `count` rows of row[x] * weight, rounded. `weights` has an even number of them, the one
  // beyond `count` zero.
  void (*blend)(const std::uint8_t* top, std::size_t stride, std::size_t length, const std::uint8_t* weights,
                std::int32_t count, std::uint8_t* out);
  // pairs[2 i] and pairs[2 i + 1] to first[i] and second[i].
  void (*split)(const std::uint8_t* pairs, std::size_t count, std::uint8_t* first, std::uint8_t* second);
  // out[x] = the sum of row[first[x] + i] * weights[x * window + i] over the window, rounded. Reads up to
  // room_for(window) bytes from each first[x], also where weights are zero.
  void (*narrow)(const std::uint8_t* row, const Windows& windows, std::uint8_t* out);
  // The same of two rows that share their windows, as U and V do.
  void (*narrow_both)(const ByteRows& rows, const Windows& windows, const OutRows& out);
};

// Those that this processor can run, the quickest first; the scalar ones come last.
[[nodiscard]] std::span<const ReduceKernels> reduce_kernels();

// --- Boxes of pixels to their means, before the filter (box_kernels.cpp) ---------------------------------------------

// How channels stand in a row: alone, U V U V, or Y U Y V; or two of them alone, each in a plane of its own, both of
// one shape.
enum class Weave : std::uint8_t { kPlain, kPairs, kYuyv, kApart };

// `rows` of a plane. A box is so high and `side` samples of the first channel wide; where a row ends within one, that
// one is narrower.
struct BoxRows {
  const std::uint8_t* top;
  std::size_t stride;
  std::size_t rows;     // 1 to kMostBox
  std::size_t samples;  // of the first channel in a row; with kYuyv an even number
  std::size_t side;     // 2 or 4
  bool halves_down;     // rather than up: rows in turn, so that none of both makes a picture brighter or another colour
};
constexpr std::size_t kMostBox = 4;

struct BoxKernels {
  std::string_view name;
  // By weave, but for kApart: the mean of each box, rounded once, of each channel to a row of its own. The boxes of
  // kYuyv's U and V are half as wide.
  using Means = void (*)(const BoxRows& from, const std::array<std::uint8_t*, 3>& out);
  std::array<Means, 3> means;

  [[nodiscard]] Means of(Weave weave) const { return means.at(static_cast<std::size_t>(weave)); }
};

// As reduce_kernels().
[[nodiscard]] std::span<const BoxKernels> box_kernels();

}  // namespace kinglet::camera
