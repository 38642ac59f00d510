// SPDX-License-Identifier: Apache-2.0
// Why: how x86-64's forms of the kernel of woven rows go through a panel whose rows are read where they lie: block by
// block of outputs, and run by run of a row. Each file that includes it is compiled for its processor and has a copy of
// its own, so that nobody else gets to run it.
#pragma once

#include <cstddef>

#include "engine/backend/kernels/woven/form.h"

namespace kinglet::engine::kernels::woven {
namespace {

// Block: the sums of a panel's rows for kWidth outputs. begin(of, first output) with the bias, multiply_run(of, a run's
// first number, its weights), and end(of, first output).
template <typename Block>
void multiply_blocks(const Product<float>& of) {
  const float* weights = of.weights;
  for (std::size_t block = 0; block < of.blocks; ++block) {
    const std::size_t first = block * Block::kWidth;
    Block sums;
    sums.begin(of, first);
    for (std::size_t run = 0; run < of.laid->run_count; ++run, weights += of.laid->run_numbers * Block::kWidth)
      sums.multiply_run(of, of.panel + of.laid->runs[run], weights);
    sums.end(of, first);
  }
}

}  // namespace
}  // namespace kinglet::engine::kernels::woven
