// SPDX-License-Identifier: Apache-2.0
// Why: what the kernel of panels (panels_f32.cpp) leaves to a processor: the sums of a group of rows with a panel of
// weights. A form is compiled for its processor alone, so that its file takes no code from elsewhere that others might
// get to run.
#pragma once

#include <cstddef>

#include "engine/backend/kernels/vectors/ahead.h"

namespace kinglet::engine::kernels::panels {

inline constexpr std::size_t kQuad = 4;         // numbers of a row that lie together
inline constexpr std::size_t kOutputs = 32;     // of a panel
inline constexpr std::size_t kGroup = 12;       // rows, at most, in any form
inline constexpr std::size_t kAheadOfQuad = 2;  // lines that are asked for while a quad is multiplied

// What ends a sum.
struct End {
  const float* added = nullptr;  // of the first row and output, `step` apart as the sums are; null: nothing
  float least = 0, most = 0;
};

struct Product {
  const float* rows;     // [quads][rows][kQuad]
  const float* weights;  // [quads][kQuad][kOutputs]
  std::size_t quads;
  const float* bias;  // that the sums begin as; null: as they stand
  float* sums;        // of the first row and output
  std::size_t step;   // numbers from one row to the next
  const End* end;     // null: there are more numbers to come
  // What is wanted next, asked for early: kAheadOfQuad lines a quad and strip of outputs. Null: nothing.
  const std::byte* ahead;
};

// Each sum takes one number of its row after the other.
using Multiply = void (*)(const Product&);

struct Form {
  std::size_t rows;           // of a group, at most
  std::size_t strips;         // of outputs, one after the other
  Multiply multiply[kGroup];  // by rows, less one; null beyond the most
};

extern const Form kScalar;
#if defined(__x86_64__)
extern const Form kAvx2, kAvx512;
#endif

}  // namespace kinglet::engine::kernels::panels
