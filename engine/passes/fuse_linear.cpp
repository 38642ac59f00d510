// SPDX-License-Identifier: Apache-2.0
// Before:     y = MatMul(x, w); z = Add(y, b) or Add(b, y)
// After:      z = kinglet::Linear(x, w, b)
// Conditions: y is read by this node alone and is no graph output; neither node carries bounds; x has rank 2 or more; w
//             is a fixed f32 matrix [K,N] and b a fixed f32 row [N] or [1,..,N]. Plan only: ONNX has Gemm for rank 2
//             alone.
#include <algorithm>

#include "engine/passes/rewrite.h"

namespace kinglet::engine::passes {
namespace {

bool is_row(const Tensor& bias, Dim columns, std::size_t rank) {
  const Shape& shape = bias.shape();
  return bias.type() == DataType::kF32 && !shape.empty() && shape.size() <= rank && shape.back() == columns &&
         bias.element_count() == columns;
}

bool fuse(Graph& graph, NodeId id) {
  const Node& add = graph.node(id);
  for (const std::size_t side : {0U, 1U}) {
    const ValueId product = add.inputs[side];
    const Tensor* bias = fixed_input(graph, add, 1 - side);
    const NodeId matmul = producer_of(graph, product, {"MatMul"});
    if (bias == nullptr || matmul == kNoNode || !graph.has_single_use(product)) continue;
    const Node& node = graph.node(matmul);
    const Tensor* weight = fixed_input(graph, node, 1);
    const std::optional<Shape>& x = graph.value(node.inputs[0]).shape;
    if (has_fused_clip(add) || has_fused_clip(node) || weight == nullptr || weight->type() != DataType::kF32) continue;
    if (weight->shape().size() != 2 || !x || x->size() < 2) continue;
    const Dim columns = weight->shape()[1];
    if (!is_row(*bias, columns, x->size())) continue;
    ValueId row = add.inputs[1 - side];
    if (bias->shape().size() != 1) row = graph.add_constant(graph.value(row).name, bias->reshaped({columns}));
    const std::vector<ValueId> inputs{node.inputs[0], node.inputs[1], row};
    graph.resize_inputs(id, inputs.size());
    for (std::size_t i = 0; i < inputs.size(); ++i) graph.set_input(id, i, inputs[i]);
    graph.set_op_type(id, "kinglet", "Linear");
    graph.remove_node(matmul);
    return true;
  }
  return false;
}

}  // namespace

Result<int> fuse_linear(Graph& graph, PassBudget& budget) { return rewrite_nodes(graph, budget, {"Add"}, fuse); }
}  // namespace kinglet::engine::passes
