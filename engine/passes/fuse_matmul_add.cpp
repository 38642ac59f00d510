// SPDX-License-Identifier: Apache-2.0
// Before:     y = MatMul(a, b); z = Add(y, k) or Add(k, y)
// After:      z = Gemm(a, b, k)
// Conditions: y is read by this node alone and is no graph output; a and b have rank 2 and float type; k is a fixed
// constant
//             of one element, [N] or [1,N] with the N of b: the sum is no larger than the product.
#include "engine/passes/rewrite.h"

namespace kinglet::engine::passes {
namespace {

bool is_row(const Tensor& constant, Dim columns) {
  const Shape& shape = constant.shape();
  if (shape.size() > 2 || (shape.size() == 2 && shape[0] != 1)) return false;
  return shape.empty() || shape.back() == 1 || shape.back() == columns;
}

bool has_rank_2(const Graph& graph, ValueId id) {
  const std::optional<Shape>& shape = graph.value(id).shape;
  return shape && shape->size() == 2;
}

bool fuse(Graph& graph, NodeId id) {
  const Node& add = graph.node(id);
  for (const std::size_t side : {0U, 1U}) {
    const ValueId product = add.inputs[side];
    const Tensor* bias = fixed_input(graph, add, 1 - side);
    const NodeId matmul = producer_of(graph, product, {"MatMul"});
    if (bias == nullptr || matmul == kNoNode || !graph.has_single_use(product)) continue;
    const Node& node = graph.node(matmul);
    if (has_fused_clip(node) || !is_float(graph.value(product).type)) continue;
    if (!has_rank_2(graph, node.inputs[0]) || !has_rank_2(graph, node.inputs[1])) continue;
    const Dim columns = (*graph.value(node.inputs[1]).shape)[1];
    if (!is_row(*bias, columns)) continue;
    const std::vector<ValueId> inputs{node.inputs[0], node.inputs[1], add.inputs[1 - side]};
    graph.resize_inputs(id, 3);
    for (std::size_t i = 0; i < inputs.size(); ++i) graph.set_input(id, i, inputs[i]);
    graph.set_op_type(id, "", "Gemm");
    graph.remove_node(matmul);
    return true;
  }
  return false;
}

}  // namespace

Result<int> fuse_matmul_add(Graph& graph, PassBudget& budget) { return rewrite_nodes(graph, budget, {"Add"}, fuse); }
}  // namespace kinglet::engine::passes
