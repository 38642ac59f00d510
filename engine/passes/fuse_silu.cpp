// SPDX-License-Identifier: Apache-2.0
// Before:     y = x * Sigmoid(x)
// After:      y = kinglet::Silu(x)
// Conditions: the sigmoid is read by this node alone and is no graph output; x is float. Plan only: ONNX has no such
//             operator in the opsets kinglet writes.
#include "engine/passes/product.h"

namespace kinglet::engine::passes {
namespace {

bool fuse(Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (has_fused_clip(node)) return false;
  for (const std::size_t side : {0U, 1U}) {
    const NodeId sigmoid = inner_producer(graph, node.inputs[side], {"Sigmoid"});
    const ValueId x = node.inputs[1 - side];
    if (sigmoid == kNoNode || graph.node(sigmoid).inputs[0] != x || !is_float(graph.value(x).type)) continue;
    become_function(graph, id, "kinglet", "Silu", x);
    return true;
  }
  return false;
}

}  // namespace

const NodePass fuse_silu{{"Mul"}, fuse};

}  // namespace kinglet::engine::passes
