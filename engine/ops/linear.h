// SPDX-License-Identifier: Apache-2.0
// Why: the shape rule and the loop of numpy's matmul, which MatMul and its quantised relatives share.
#pragma once

#include "engine/ops/common.h"

namespace kinglet::engine::ops {

// Shape of matmul(input a, input b); nothing when one is not known. Vectors are promoted and dropped again.
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

}  // namespace kinglet::engine::ops
