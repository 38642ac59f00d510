// SPDX-License-Identifier: Apache-2.0
// Before:     y = MatMul(a, b); z = Add(y, k) or Add(k, y)
// After:      z = Gemm(a, b, k)
// Conditions: y is read by this node alone and is no graph output; a and b have rank 2 and float type; k is a fixed
//             constant of one element, [N] or [1,N] with the N of b: the sum is no larger than the product.
#include "engine/passes/biased_matmul.h"

namespace kinglet::engine::passes {
namespace {

bool has_rank_2(const Graph& graph, ValueId id) {
  const std::optional<Shape>& shape = graph.value(id).shape;
  return shape && shape->size() == 2;
}

bool fuse(Graph& graph, NodeId id) {
  const std::optional<BiasedMatMul> match = match_biased_matmul(graph, graph.node(id));
  if (!match) return false;
  const Node& matmul = graph.node(match->matmul);
  if (!is_float(graph.value(matmul.outputs[0]).type)) return false;
  if (!has_rank_2(graph, matmul.inputs[0]) || !has_rank_2(graph, matmul.inputs[1])) return false;
  if (!is_row(*graph.constant(match->bias), (*graph.value(matmul.inputs[1]).shape)[1], 2)) return false;
  become_layer(graph, id, *match, match->bias, "", "Gemm");
  return true;
}

}  // namespace

const NodePass fuse_matmul_add{{"Add"}, fuse};

}  // namespace kinglet::engine::passes
