// SPDX-License-Identifier: Apache-2.0
// Why: numpy's rules of matrix products (broadcast batches, promoted vectors), which MatMul and the products of
// quantised matrices share.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/ops/common.h"

namespace kinglet::engine::ops {

// The shape of input `a` times input `b`; nothing when one of the shapes is not known.
[[nodiscard]] Result<std::optional<Shape>> matmul_output(const InferContext& context, std::size_t a, std::size_t b);

// The matrices of one broadcast batch element: element offsets of a [rows,depth], b [depth,columns] and the result.
struct MatrixStep {
  std::int64_t a, b, out;
};
struct MatmulPlan {
  std::int64_t rows = 1, depth = 1, columns = 1;
  std::vector<MatrixStep> steps;
};
[[nodiscard]] MatmulPlan plan_matmul(const Shape& a, const Shape& b);

// done(offset of the first number, sums of one row of the result): each sum over depth of a * b, taken in Sum.
template <typename Sum, typename A, typename B, typename Done>
void multiply_rows(const MatmulPlan& plan, const A* a, const B* b, Done done) {
  std::vector<Sum> sums(static_cast<std::size_t>(plan.columns));
  for (const MatrixStep& step : plan.steps) {
    for (std::int64_t row = 0; row < plan.rows; ++row) {
      std::fill(sums.begin(), sums.end(), Sum{});
      const A* left = a + step.a + row * plan.depth;
      for (std::int64_t k = 0; k < plan.depth; ++k) {
        const B* right = b + step.b + k * plan.columns;
        const auto factor = static_cast<Sum>(left[k]);
        for (std::size_t column = 0; column < sums.size(); ++column) {
          sums[column] += factor * static_cast<Sum>(right[column]);
        }
      }
      done(step.out + row * plan.columns, std::span<const Sum>(sums));
    }
  }
}

}  // namespace kinglet::engine::ops
