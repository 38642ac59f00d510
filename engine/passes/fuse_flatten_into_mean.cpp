// SPDX-License-Identifier: Apache-2.0
// Before:     y = GlobalAveragePool(x [N,C,H,W]); z = Flatten, Reshape or Squeeze (y) to [N,C]
// After:      z = ReduceMean(x) {axes 2 and 3, keepdims=0}
// Conditions: y is read by this node alone, is no graph output and carries no bounds; all shapes are static. Session
//             only: in files the pool is the form that other passes know.
#include "engine/passes/rewrite.h"

namespace kinglet::engine::passes {
namespace {

bool fuse(Graph& graph, NodeId id) {
  const NodeId pool = inner_producer(graph, graph.node(id).inputs[0], {"GlobalAveragePool"});
  if (pool == kNoNode) return false;
  const ValueId x = graph.node(pool).inputs[0];
  const std::optional<Shape>& from = graph.value(x).shape;
  const std::optional<Shape>& to = graph.value(graph.node(id).outputs[0]).shape;
  if (!from || from->size() != 4 || !is_static(*from) || to != Shape{(*from)[0], (*from)[1]}) return false;
  const std::string name = graph.node(pool).name + "_axes";
  const ValueId axes = graph.add_constant(name, Tensor::of<std::int64_t>({2}, {2, 3}));
  graph.resize_inputs(id, 2);
  graph.set_input(id, 0, x);
  graph.set_input(id, 1, axes);
  graph.set_op_type(id, "", "ReduceMean");
  for (const std::string_view attribute : {"axis", "allowzero"}) graph.attributes(id).remove(attribute);
  graph.attributes(id).set("keepdims", std::int64_t{0});
  graph.remove_node(pool);
  return true;
}

}  // namespace

const NodePass fuse_flatten_into_mean{{"Flatten", "Reshape", "Squeeze"}, fuse};

}  // namespace kinglet::engine::passes
