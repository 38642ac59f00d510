// SPDX-License-Identifier: Apache-2.0
// Why: what the `lower` functions of several families share; each family's own stand beside its evaluate.
// Contract of every one of them: op.h, Op::lower.
#pragma once

#include <cstddef>
#include <optional>

#include "engine/backend/xnnpack/subgraph_builder.h"
#include "engine/ops/op.h"

namespace kinglet::engine::ops {

using xnn::Dims;
using xnn::Lifetime;
using xnn::Operand;
using xnn::SubgraphBuilder;

// --- What a node gives ---------------------------------------------------------------------------------------------
[[nodiscard]] bool is_given(const Node& node, std::size_t input);
// Of several outputs the node's own graph asks for no other than the first.
[[nodiscard]] bool makes_only_first(const Node& node);
// nullptr when the input is absent or computed.
[[nodiscard]] const Tensor* constant_input(const Graph& graph, const Node& node, std::size_t input);
// The one f32 number of a constant input.
[[nodiscard]] std::optional<float> scalar_constant(const Graph& graph, const Node& node, std::size_t input);

[[nodiscard]] Dims dims_of(const Shape& shape);

// --- Element by element, in whatever layout the plan gave output 0 ---------------------------------------------------
[[nodiscard]] Result<Operand> broadcast_operand(SubgraphBuilder& builder, const Node& node, std::size_t input);

[[nodiscard]] Result<bool> lower_unary(SubgraphBuilder& builder, const Graph& graph, NodeId id, xnn_unary_operator type,
                                       const xnn_unary_params& params);
// input 0 op input 1 op input 2 ... from the left.
[[nodiscard]] Result<bool> lower_binary(SubgraphBuilder& builder, const Graph& graph, NodeId id,
                                        xnn_binary_operator type);

// The same as a row's `lower`.
template <xnn_unary_operator kType>
[[nodiscard]] Result<bool> lower_unary(SubgraphBuilder& builder, const Graph& graph, NodeId id) {
  return lower_unary(builder, graph, id, kType, {});
}
template <xnn_binary_operator kType>
[[nodiscard]] Result<bool> lower_binary(SubgraphBuilder& builder, const Graph& graph, NodeId id) {
  return lower_binary(builder, graph, id, kType);
}

}  // namespace kinglet::engine::ops
