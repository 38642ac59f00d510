// SPDX-License-Identifier: Apache-2.0
// Why: the inner loops for frames that become much smaller, in bytes from end to end: twice the lanes of
// plane_kernels.h and half its steps, for filters without negative weights. AVX-512, AVX2 and NEON, each the same bits
// as the scalar twin. No state, no allocation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace kinglet::camera {

constexpr int kSmallBits = 7;           // of a weight, 0 to 127; those of one output add up to 1 << kSmallBits
constexpr std::size_t kByteLanes = 16;  // a window of narrow() is half of it or a multiple of it

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
};

// Those that this processor can run, the quickest first; the scalar ones come last.
[[nodiscard]] std::span<const ReduceKernels> reduce_kernels();

}  // namespace kinglet::camera
