// SPDX-License-Identifier: Apache-2.0
// Why: what the kernel of 8-bit products (products_s8.cpp) leaves to a processor: the sums of a few rows, and levels of
// them. A form is compiled for its processor alone, so that its file takes no code from elsewhere that others might get
// to run.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/backend/kernels/vectors/level_bounds.h"

namespace kinglet::engine::kernels::products {

inline constexpr std::size_t kMostRows = 6;
inline constexpr std::size_t kRows = 4;         // of ARM's forms and the twin
inline constexpr std::size_t kReadBehind = 16;  // bytes behind a row that may be read

struct Product {
  std::size_t row_count;  // 1 at least; behind them stands the last one again, with its outputs
  const std::int8_t* rows[kMostRows];
  std::int8_t* outputs[kMostRows];  // the first block's of each row; the others stand behind it
  std::size_t numbers;              // of a row, a multiple of the form's `step`; those too many meet weights of zero
  // [blocks][numbers / run][block][run]; numbers that fill no run are a shorter one. As many bytes behind them may be
  // read as there are behind any packed piece.
  const std::int8_t* weights;
  const std::int32_t* bias;  // [blocks][block][bias_lanes], the first of them
  const float* factors;      // [blocks][block]
  const LevelBounds* bounds;
  std::size_t blocks;
  bool has_half;  // behind them, of one block only its first half, in a form that has halves
};

struct Form {
  std::size_t block;         // outputs at once
  std::size_t run;           // numbers of a row that lie together for an output
  std::size_t step;          // a row's numbers are multiples of
  std::size_t bias_lanes;    // numbers that a sum begins as
  std::size_t rows = kRows;  // at once
  bool has_halves = false;
  bool is_of_board = false;  // whose caches do not hold many weights (kFarWeights)
  // Two runs meet in one product: the bias lacks the products of each weight of a run and the one in the next run's
  // place.
  bool is_halved = false;
  std::size_t most_numbers = static_cast<std::size_t>(-1);  // of a row
  void (*multiply)(const Product&);
};

extern const Form kScalar;
#if defined(__x86_64__)
extern const Form kAvx2;
extern const Form kAvx2Halved;  // of the same rows and blocks; dearer to begin, cheaper for each number
#endif
#if defined(__aarch64__)
extern const Form kNeonDot;  // of a processor with products of four bytes
extern const Form kNeon;     // of any
// The same where instructions wait for each other in their order. Numbers that do not fit 16 bits are kNeonWide's.
extern const Form kNeonInOrder;
// The same for numbers that do not fit 16 bits (fits_16_bits).
extern const Form kNeonDotWide;
extern const Form kNeonWide;
#endif

}  // namespace kinglet::engine::kernels::products
