// SPDX-License-Identifier: Apache-2.0
#include "engine/ops/families/matmul.h"

#include "engine/base/format.h"

namespace kinglet::engine::ops {

// Nothing when an input's shape is not known. Vectors are promoted and dropped again.
Result<std::optional<Shape>> matmul_output(const InferContext& context, std::size_t a_index, std::size_t b_index) {
  KINGLET_TRY(need_rank(context, a_index, 1));
  KINGLET_TRY(need_rank(context, b_index, 1));
  if (!context.input_shape(a_index) || !context.input_shape(b_index)) return std::nullopt;
  Shape a = *context.input_shape(a_index);
  Shape b = *context.input_shape(b_index);
  const bool vector_a = a.size() == 1;
  const bool vector_b = b.size() == 1;
  if (vector_a) a.insert(a.begin(), 1);
  if (vector_b) b.push_back(1);
  const Dim depth_a = a[a.size() - 1];
  const Dim depth_b = b[b.size() - 2];
  const std::optional<Shape> batch = broadcast(std::span(a).first(a.size() - 2), std::span(b).first(b.size() - 2));
  if (!batch || (depth_a != depth_b && depth_a != kUnknownDim && depth_b != kUnknownDim)) {
    return context.fail(format_text("cannot multiply {} by {}", to_string(*context.input_shape(a_index)),
                                    to_string(*context.input_shape(b_index))));
  }
  Shape out = *batch;
  if (!vector_a) out.push_back(a[a.size() - 2]);
  if (!vector_b) out.push_back(b[b.size() - 1]);
  return out;
}

MatmulPlan plan_matmul(const Shape& a_shape, const Shape& b_shape) {
  Shape a = a_shape;
  Shape b = b_shape;
  if (a.size() == 1) a.insert(a.begin(), 1);
  if (b.size() == 1) b.push_back(1);
  MatmulPlan plan{.rows = a[a.size() - 2], .depth = a[a.size() - 1], .columns = b[b.size() - 1], .steps = {}};
  const Shape batch_a(a.begin(), a.end() - 2);
  const Shape batch_b(b.begin(), b.end() - 2);
  const Shape batch = *broadcast(batch_a, batch_b);
  std::int64_t next = 0;
  walk<2>(batch, {broadcast_strides(batch_a, batch), broadcast_strides(batch_b, batch)}, [&](const auto& at) {
    plan.steps.push_back({at[0] * plan.rows * plan.depth, at[1] * plan.depth * plan.columns, next});
    next += plan.rows * plan.columns;
  });
  return plan;
}

}  // namespace kinglet::engine::ops
