// SPDX-License-Identifier: Apache-2.0
// Why: what the kernel of float depthwise layers (depthwise_f32.cpp) leaves to a processor: a row of outputs. A form is
// compiled for its processor alone, so that its file takes no code from elsewhere that others might get to run.
#pragma once

#include <cstddef>

namespace kinglet::engine::kernels::depthwise {

inline constexpr std::size_t kBlock = 16;  // channels whose weights lie together
inline constexpr int kMostSide = 5;        // of a window

// Pointers are those of the first channel that is computed; up to kBlock - 1 numbers behind the last one are read.
struct Row {
  const float* const* lines;  // of the input, one under each row of the window
  std::ptrdiff_t left;        // column of the input under the first output's window; before the first one: zeros
  std::ptrdiff_t columns;     // of the input; behind the last one: zeros
  std::size_t outputs;        // at least one
  std::size_t step;           // numbers from one pixel to the next
  const float* weights;       // [blocks of channels][1 + taps][kBlock]: what a sum begins as, taps column by column
  std::size_t channels;
  float* output;
  float least, most;
};

using Walk = void (*)(const Row&);

struct Form {
  Walk side3, side5;  // windows beside each other
  Walk side5_step2;   // every other one
};

extern const Form kScalar;
#if defined(__x86_64__)
extern const Form kAvx512;
#endif

}  // namespace kinglet::engine::kernels::depthwise
