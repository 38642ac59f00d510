// SPDX-License-Identifier: Apache-2.0
// Why: how 8-bit operators become XNNPACK's: the rows of conv_integer.cpp, matmul_integer.cpp and qlinear.cpp name
// these. Each takes only nodes that fuse_quantized marked (kRunsInIntegers); all others are turned into float operators
// before.
#pragma once

#include "engine/ops/lower.h"

namespace kinglet::engine::ops {

// One tensor through XNNPACK's own table of 256 levels; both lie as the result does.
[[nodiscard]] Result<bool> lower_table(SubgraphBuilder& builder, const Node& node, xnn_unary_operator type,
                                       const xnn_unary_params& params);
// The same for a function that XNNPACK has no table for: `add` makes the real numbers `y` of the real numbers `x`.
using AddReal = Result<void> (*)(SubgraphBuilder& builder, const Node& node, Operand x, Operand y);
[[nodiscard]] Result<bool> lower_through_floats(SubgraphBuilder& builder, const Node& node, AddReal add);

[[nodiscard]] Result<bool> lower_qlinear_conv(SubgraphBuilder& builder, const Graph& graph, NodeId id);
[[nodiscard]] Result<bool> lower_qgemm(SubgraphBuilder& builder, const Graph& graph, NodeId id);
// The rows of x are quantised by XNNPACK at each run (the levels of the first become real numbers before), each with a
// scale of its own: finer than the one scale of DynamicQuantizeMatMul.
[[nodiscard]] Result<bool> lower_matmul_integer_to_float(SubgraphBuilder& builder, const Graph& graph, NodeId id);
[[nodiscard]] Result<bool> lower_dynamic_quantize_matmul(SubgraphBuilder& builder, const Graph& graph, NodeId id);
[[nodiscard]] Result<bool> lower_qlinear_matmul(SubgraphBuilder& builder, const Graph& graph, NodeId id);
[[nodiscard]] Result<bool> lower_qlinear_add(SubgraphBuilder& builder, const Graph& graph, NodeId id);
[[nodiscard]] Result<bool> lower_qlinear_mul(SubgraphBuilder& builder, const Graph& graph, NodeId id);
[[nodiscard]] Result<bool> lower_qlinear_sigmoid(SubgraphBuilder& builder, const Graph& graph, NodeId id);
[[nodiscard]] Result<bool> lower_qlinear_tanh(SubgraphBuilder& builder, const Graph& graph, NodeId id);
[[nodiscard]] Result<bool> lower_qlinear_hard_swish(SubgraphBuilder& builder, const Graph& graph, NodeId id);
[[nodiscard]] Result<bool> lower_qlinear_leaky_relu(SubgraphBuilder& builder, const Graph& graph, NodeId id);
// A depthwise convolution with weights of 1 / pixels: sums in integers, one rounding.
[[nodiscard]] Result<bool> lower_qlinear_average_pool(SubgraphBuilder& builder, const Graph& graph, NodeId id);
[[nodiscard]] Result<bool> lower_qlinear_global_pool(SubgraphBuilder& builder, const Graph& graph, NodeId id);
[[nodiscard]] Result<bool> lower_qlinear_concat(SubgraphBuilder& builder, const Graph& graph, NodeId id);

}  // namespace kinglet::engine::ops
