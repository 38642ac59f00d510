// SPDX-License-Identifier: Apache-2.0
// Before:     y = ReduceMean(x, axes) {keepdims=1}
// After:      y = GlobalAveragePool(x)
// Conditions: x is float and has four axes; the axes are exactly the last two, in any order and sign.
#include <algorithm>

#include "engine/passes/rewrite.h"

namespace kinglet::engine::passes {
namespace {

bool replace(Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const std::optional<Shape>& shape = graph.value(node.inputs[0]).shape;
  const Tensor* constant = fixed_input(graph, node, 1);
  if (!shape || shape->size() != 4 || constant == nullptr || has_fused_clip(node) ||
      !is_float(graph.value(node.inputs[0]).type) || node.attributes.get_int("keepdims", 1) == 0) {
    return false;
  }
  std::vector<std::int64_t> axes = constant->to_int64s();
  for (std::int64_t& axis : axes) axis = axis < 0 ? axis + 4 : axis;
  std::ranges::sort(axes);
  if (axes != std::vector<std::int64_t>{2, 3}) return false;
  graph.resize_inputs(id, 1);
  graph.attributes(id) = {};
  graph.set_op_type(id, "", "GlobalAveragePool");
  return true;
}

}  // namespace

const NodePass replace_mean_by_pool{{"ReduceMean"}, replace};

}  // namespace kinglet::engine::passes
