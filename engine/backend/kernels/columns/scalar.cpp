// SPDX-License-Identifier: Apache-2.0
// Why: the form of the kernel of depthwise columns that any processor has: the twin of the others.
#include "engine/backend/kernels/columns/form.h"

#include <cstring>

#include "engine/backend/kernels/convolution_parts.h"

namespace kinglet::engine::kernels::columns {
namespace {

constexpr std::size_t kGroup = 4;

void weave(const Weave& of) {
  const std::size_t rows = rounded_up(of.row_count, kGroup);
  std::int8_t* to = of.to;
  for (std::size_t column = 0; column < of.columns; ++column, to += rows * kBlock) {
    std::memset(to, 0, rows * kBlock);
    for (std::size_t row = 0; row < of.row_count; ++row) {
      const std::int8_t* from = of.rows[row] + column * of.steps[row];
      for (std::size_t c = 0; c < kBlock; ++c) to[(row / kGroup * kBlock + c) * kGroup + row % kGroup] = from[c];
    }
  }
}

void multiply(const Product& of) {
  const std::size_t bytes = rounded_up(of.row_count, kGroup) * kBlock;
  const Levels levels{.zero = of.bounds->zero[0], .least = of.bounds->least[0], .most = of.bounds->most[0]};
  for (std::size_t i = 0; i < of.count; ++i) {
    for (std::size_t c = 0; c < kBlock; ++c) {
      auto sum = static_cast<std::uint32_t>(of.bias[c]);
      for (std::size_t tap = 0; tap < of.taps; ++tap) {
        const std::int8_t* column = of.columns + i * of.column_step + tap * of.tap_step;
        for (std::size_t row = 0; row < of.row_count; ++row) {
          const std::size_t at = (row / kGroup * kBlock + c) * kGroup + row % kGroup;
          sum += static_cast<std::uint32_t>(column[at] * of.weights[tap * bytes + at]);
        }
      }
      of.output[i * of.output_step + c] = to_level(sum, of.factors[c], levels);
    }
  }
}

}  // namespace

constexpr Form kScalar{.group = kGroup, .weave = weave, .multiply = multiply};

}  // namespace kinglet::engine::kernels::columns
