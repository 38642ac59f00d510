// SPDX-License-Identifier: Apache-2.0
// Why: how the kernel of woven rows cuts a layer, and what it would take so. The plan asks it of every convolution, and
// the kernel that is made has the same cut.
#pragma once

#include <algorithm>
#include <cstddef>

#include "engine/backend/kernels/work.h"
#include "engine/backend/kernels/woven/form.h"

namespace kinglet::engine::kernels::woven {

// Of one row, in whole vectors: a panel lies on the stack, 63 KiB at most.
inline constexpr std::size_t kMostNumbers = 2304;
// Of one row whose taps have channels that fill no vector: its numbers are brought together before they are woven.
inline constexpr std::size_t kMostJoined = 512;

// Rows (pixels of the output) into panels, outputs into blocks of three vectors and, at the end, of two or one, so that
// no lane of a vector stays empty.
struct Cut {
  Cut(const ConvolutionShape& shape, std::size_t lanes_of_vector);

  [[nodiscard]] std::size_t first_row(std::size_t panel) const { return panel * rows / panels; }
  [[nodiscard]] std::size_t first_block(std::size_t chunk) const { return chunk * blocks / chunks; }
  // Before a block.
  [[nodiscard]] std::size_t vectors_before(std::size_t block) const {
    return std::min(vectors, block <= threes ? 3 * block : 3 * threes + 2 * (block - threes));
  }
  [[nodiscard]] std::size_t packed_numbers() const { return vectors * lanes * numbers; }
  [[nodiscard]] bool fits() const { return numbers <= kMostNumbers && rows > 0 && numbers > 0 && vectors > 0; }

  std::size_t lanes;           // numbers of a vector
  bool joined;                 // taps lie one behind the other, in vectors as a whole
  std::size_t tap;             // numbers of one, in whole vectors where they are not joined
  std::size_t numbers;         // of a row
  std::size_t rows, panels;    // rows are shared out evenly
  std::size_t vectors;         // of outputs
  std::size_t threes, blocks;  // of outputs: of three vectors, and all
  std::size_t chunks = 1;      // of blocks, each a thread's
};

// In times of XNNPACK's for the same, where fewer instructions are less time.
[[nodiscard]] double cost_of(const Cut& cut, const ConvolutionShape& shape);

}  // namespace kinglet::engine::kernels::woven
