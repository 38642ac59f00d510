// SPDX-License-Identifier: Apache-2.0
// Why: what the kernel of depthwise columns (columns_s8.cpp) leaves to a processor: weaving the columns of the input
// under a row of the output, and the sums of the windows that lie over them. A form is compiled for its processor
// alone, so that its file takes no code from elsewhere that others might get to run.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/backend/kernels/vectors/level_bounds.h"

namespace kinglet::engine::kernels::columns {

inline constexpr std::size_t kBlock = 16;    // channels at once
inline constexpr std::size_t kMostRows = 8;  // of a window
// Bytes behind the columns that a form may read, where outputs are at most two columns apart.
inline constexpr std::size_t kReadBehind = 64;

// Writes a block of channels of each column: [columns][rows / group][kBlock][group] or the same in another order, zeros
// for rows that fill no group.
struct Weave {
  const std::int8_t* rows[kMostRows];  // of the window, as many as it has
  std::size_t steps[kMostRows];        // of each, from a column to the next
  std::size_t row_count;
  std::size_t columns;
  std::int8_t* to;
};

// `count` outputs that stand side by side, of a block of channels.
struct Product {
  const std::int8_t* columns;  // woven, of the form's bytes
  std::size_t column_step;     // bytes from an output's columns to the next one's
  std::size_t tap_step;        // from a column of the window to the next
  std::size_t taps;            // columns of the window
  std::size_t row_count;       // of the window
  const std::int8_t* weights;  // [taps][rows / group][kBlock][group]
  const std::int32_t* bias;    // [kBlock]
  const float* factors;        // [kBlock]
  const LevelBounds* bounds;
  std::size_t count;    // 1 at least
  std::int8_t* output;  // kBlock levels of each
  std::size_t output_step;
};

struct Form {
  std::size_t group;             // rows of a window that are woven together
  std::size_t number_bytes = 1;  // of a woven one
  void (*weave)(const Weave&);
  void (*multiply)(const Product&);
};

extern const Form kScalar;
#if defined(__x86_64__)
inline constexpr std::size_t kMostTapsOfAvx2 = 8;
extern const Form kAvx2;
#endif
#if defined(__aarch64__)
extern const Form kNeonDot;  // of a processor with products of four bytes
extern const Form kNeon;     // of any, windows of 3x3 alone
// The same where instructions wait for each other in their order; outputs at most two columns apart.
extern const Form kNeonInOrder;
// The same for numbers that do not fit 16 bits (fits_16_bits).
extern const Form kNeonDotWide;
extern const Form kNeonWide;
extern const Form kNeonInOrderWide;

void weave_three_rows(const Weave& of);  // of those for windows of 3x3
#endif

}  // namespace kinglet::engine::kernels::columns
