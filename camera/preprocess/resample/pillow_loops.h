// SPDX-License-Identifier: Apache-2.0
// Why: the inner loops of PillowResize, each with a scalar twin that gives the same bits. They have no state and
// allocate nothing.
#pragma once

#include <cstddef>
#include <cstdint>

#include "camera/preprocess/resample/pillow_resample.h"

namespace kinglet::camera {

constexpr int kLowWeightBits = kWeightBits / 2;
constexpr std::int32_t kPillowHalf = 1 << (kWeightBits - 1);
// How many weights of ThirdsWeights lie together.
constexpr std::size_t kColumnsTogether = 16;
constexpr std::size_t kRowsTogether = 4;

// Whether narrow_thirds() and blend_thirds() run here.
[[nodiscard]] bool can_take_thirds();

// Whether quick loops read weights in halves.
#if defined(__x86_64__)
constexpr bool kPillowTakesHalves = true;
#else
constexpr bool kPillowTakesHalves = false;
#endif

// --- One input row to output width, from output `x` on ---------------------------------------------------------------

void narrow_scalar(const std::uint8_t* row, const AxisWeights& columns, std::size_t x, std::uint8_t* out);

// Outputs below `end`, which is how far it came, or `x`: no such loop for this processor.
[[nodiscard]] std::size_t narrow_quickly(const std::uint8_t* row, const AxisWeights& columns, const QuickWeights& quick,
                                         std::size_t x, std::size_t end, std::uint8_t* out);
// How many bytes of a row it reads for an output of `count` inputs, from the first of them on.
[[nodiscard]] std::int32_t bytes_for(std::int32_t count, std::size_t steps);

// The same from the first output on, four inputs at a time; only where can_narrow_fours().
[[nodiscard]] bool can_narrow_fours();
[[nodiscard]] std::size_t narrow_fours(const std::uint8_t* row, const AxisWeights& columns, const QuickWeights& quick,
                                       std::size_t end, std::uint8_t* out);
[[nodiscard]] std::int32_t bytes_for_fours(std::size_t steps);

// The same, sixteen inputs at a time: whole fours of outputs below `end`; only where can_take_thirds().
[[nodiscard]] std::size_t narrow_thirds(const std::uint8_t* row, const AxisWeights& columns,
                                        const ThirdsWeights& thirds, std::size_t end, std::uint8_t* out);
[[nodiscard]] std::int32_t bytes_for_thirds(std::size_t groups);

// --- Rows of `row_bytes` bytes, the first at `top`, to output row `y` ------------------------------------------------

// From byte `start` on.
void blend_scalar(const std::uint8_t* top, std::size_t row_bytes, std::size_t start, const AxisWeights& rows,
                  std::size_t y, std::uint8_t* out);
// Gives how many bytes are done.
[[nodiscard]] std::size_t blend_quickly(const std::uint8_t* top, std::size_t row_bytes, const AxisWeights& rows,
                                        const QuickWeights& quick, std::size_t y, std::uint8_t* out);
// All of them; only where can_take_thirds().
void blend_thirds(const std::uint8_t* top, std::size_t row_bytes, const AxisWeights& rows, const ThirdsWeights& thirds,
                  std::size_t y, std::uint8_t* out);

}  // namespace kinglet::camera
