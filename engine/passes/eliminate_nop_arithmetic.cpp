// SPDX-License-Identifier: Apache-2.0
// Before:     y = Mul(x, 1), Div(x, 1), Sub(x, 0); Add(x, 0) of integers
// After:      every reader of y reads x
// Conditions: the constant is all ones (zeros) and does not make the result larger than x: no more axes, each 1 or
// equal.
//             x + 0.0 is not x for x = -0.0, so floats keep their Add.
#include <algorithm>
#include <cmath>

#include "engine/passes/rewrite.h"

namespace kinglet::engine::passes {
namespace {

bool is_all(const Tensor& constant, double number) {
  switch (constant.type()) {
    case DataType::kF32:
    case DataType::kF16:
      return std::ranges::all_of(constant.to_floats(), [&](float value) {
        return static_cast<double>(value) == number && !(number == 0.0 && std::signbit(value));
      });
    case DataType::kI64:
    case DataType::kI32:
      return std::ranges::all_of(constant.to_int64s(),
                                 [&](std::int64_t value) { return static_cast<double>(value) == number; });
    default:
      return false;
  }
}

bool keeps_shape(const std::optional<Shape>& shape, const Shape& constant) {
  if (!shape || constant.size() > shape->size()) return false;
  const std::size_t skip = shape->size() - constant.size();
  for (std::size_t i = 0; i < constant.size(); ++i) {
    if (constant[i] != 1 && constant[i] != (*shape)[skip + i]) return false;
  }
  return true;
}

bool drop(Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (node.inputs.size() != 2 || has_fused_clip(node)) return false;
  const bool either_side = is_any_of(node, {"Mul", "Add"});
  for (const std::size_t side : {1U, 0U}) {
    if (side == 0 && !either_side) break;
    const Tensor* constant = fixed_input(graph, node, side);
    const ValueId other = node.inputs[1 - side];
    if (constant == nullptr || (is_op(node, "Add") && is_float(constant->type()))) continue;
    if (!is_all(*constant, is_any_of(node, {"Mul", "Div"}) ? 1 : 0)) continue;
    if (keeps_shape(graph.value(other).shape, constant->shape()) && bypass_node(graph, id, other)) return true;
  }
  return false;
}

}  // namespace

Result<int> eliminate_nop_arithmetic(Graph& graph, PassBudget& budget) {
  return rewrite_nodes(graph, budget, {"Mul", "Div", "Sub", "Add"}, drop);
}
}  // namespace kinglet::engine::passes
