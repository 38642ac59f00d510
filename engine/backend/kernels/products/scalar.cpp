// SPDX-License-Identifier: Apache-2.0
// Why: the form of the kernel of 8-bit products that any processor has: the twin of the others.
#include "engine/backend/kernels/convolution_parts.h"
#include "engine/backend/kernels/products/form.h"

namespace kinglet::engine::kernels::products {
namespace {

constexpr std::size_t kBlock = 8;
constexpr std::size_t kRun = 4;

void multiply(const Product& of) {
  const Levels levels{.zero = of.bounds->zero[0], .least = of.bounds->least[0], .most = of.bounds->most[0]};
  for (std::size_t row = 0; row < kRows; ++row) {
    for (std::size_t output = 0; output < of.blocks * kBlock; ++output) {
      const std::int8_t* weights = of.weights + output / kBlock * kBlock * of.numbers + output % kBlock * kRun;
      auto sum = static_cast<std::uint32_t>(of.bias[output]);
      for (std::size_t k = 0; k < of.numbers; ++k)
        sum += static_cast<std::uint32_t>(of.rows[row][k] * weights[k / kRun * kRun * kBlock + k % kRun]);
      of.outputs[row][output] = to_level(sum, of.factors[output], levels);
    }
  }
}

}  // namespace

constexpr Form kScalar{
    .block = kBlock, .run = kRun, .step = kRun, .bias_lanes = 1, .is_of_board = true, .multiply = multiply};

}  // namespace kinglet::engine::kernels::products
