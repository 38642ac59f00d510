// SPDX-License-Identifier: Apache-2.0
// Why: what the kernel of depthwise layers (depthwise.cpp) leaves to a processor: a row of outputs. A form is
// compiled for its processor alone, so that its file takes no code from elsewhere that others might get to run.
#pragma once

#include <cstddef>

#include "engine/graph/data_type.h"

namespace kinglet::engine::kernels::depthwise {

// Channels whose weights lie together: a vector of ARM's, else of AVX-512's.
template <typename Number>
#if defined(__aarch64__)
inline constexpr std::size_t kBlock = 16 / sizeof(Number);
#else
inline constexpr std::size_t kBlock = 16;
#endif
inline constexpr int kMostSide = 5;  // of a window

// Pointers are those of the first channel that is computed; up to kBlock - 1 numbers behind the last one are read.
template <typename Number>
struct Row {
  const Number* const* lines;  // of the input, one under each row of the window
  std::ptrdiff_t left;         // column of the input under the first output's window; before the first one: zeros
  std::ptrdiff_t columns;      // of the input; behind the last one: zeros
  std::size_t outputs;         // at least one
  std::size_t step;            // numbers from one pixel to the next
  const Number* weights;       // [blocks of channels][1 + taps][kBlock]: what a sum begins as, taps column by column
  std::size_t channels;
  Number* output;
  bool clips;        // the output is cut at the bounds, which are else as far apart as numbers can be
  Number bounds[2];  // least, most
};

template <typename Number>
using Walk = void (*)(const Row<Number>&);

template <typename Number>
struct Form {
  Walk<Number> side3, side3_step2;  // windows beside each other, and every other one
  Walk<Number> side5, side5_step2;
};

extern const Form<float> kScalar;
extern const Form<Half> kScalarHalf;
#if defined(__x86_64__)
extern const Form<float> kAvx2, kAvx512;
#endif
#if defined(__aarch64__)
extern const Form<float> kNeon;
extern const Form<Half> kNeonHalf;  // with the half-precision extension
#endif

}  // namespace kinglet::engine::kernels::depthwise
