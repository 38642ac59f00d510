// SPDX-License-Identifier: Apache-2.0
// Before:     y = a node that changes nothing of its input x
// After:      every reader of y reads x
// Conditions: a row each, below.
#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>

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

bool proven_equal(const std::optional<Shape>& before, const std::optional<Shape>& after, bool keeps_count) {
  if (!before || !after || *before != *after) return false;
  const auto unknown = std::ranges::count(*before, kUnknownDim);
  return unknown == 0 || (unknown == 1 && keeps_count && std::ranges::count(*before, 0) == 0);
}

// Which input is y; nothing: the node does something.
using Unchanged = std::optional<std::size_t> (*)(const Graph& graph, const Node& node);

// The types are equal, which bypass_node sees to. Never a pair of casts: float -> int -> float rounds.
std::optional<std::size_t> same_type(const Graph&, const Node&) { return 0; }

// Both shapes are known and equal. For those that keep the number of elements one dimension may be unknown, at the same
// place in both: it is the quotient of equal counts, so equal too.
std::optional<std::size_t> same_shape(const Graph& graph, const Node& node) {
  const bool keeps_count = !is_any_of(node, {"Expand", "Tile"});
  const bool same = proven_equal(graph.value(node.inputs[0]).shape, graph.value(node.outputs[0]).shape, keeps_count);
  return same ? std::optional<std::size_t>(0) : std::nullopt;
}

// x and y have the same static shape, and every step is a positive constant (-1 would turn x around).
std::optional<std::size_t> keeps_all(const Graph& graph, const Node& node) {
  const std::optional<Shape>& before = graph.value(node.inputs[0]).shape;
  if (!before || !is_static(*before) || graph.value(node.outputs[0]).shape != before) return std::nullopt;
  if (!has_input(node, 4)) return 0;
  const Tensor* steps = fixed_input(graph, node, 4);
  const bool forward =
      steps != nullptr && std::ranges::all_of(steps->to_int64s(), [](std::int64_t step) { return step > 0; });
  return forward ? std::optional<std::size_t>(0) : std::nullopt;
}

// perm is written and in order (left out, it means the reverse), or x has fewer than two axes.
std::optional<std::size_t> in_order(const Graph& graph, const Node& node) {
  const std::optional<Shape>& shape = graph.value(node.inputs[0]).shape;
  const std::vector<std::int64_t> perm = node.attributes.get_ints("perm");
  const bool ordered = (!perm.empty() && std::ranges::is_sorted(perm)) || (shape && shape->size() < 2);
  return ordered ? std::optional<std::size_t>(0) : std::nullopt;
}

// Constant pads that are all 0, in any mode.
std::optional<std::size_t> by_nothing(const Graph& graph, const Node& node) {
  const Tensor* pads = fixed_input(graph, node, 1);
  const bool nothing =
      pads != nullptr && std::ranges::all_of(pads->to_int64s(), [](std::int64_t pad) { return pad == 0; });
  return nothing ? std::optional<std::size_t>(0) : std::nullopt;
}

// Exactly one input (one output of Split).
std::optional<std::size_t> of_one(const Graph&, const Node& node) {
  const bool one = is_op(node, "Split") ? node.outputs.size() == 1 : node.inputs.size() == 1;
  return one ? std::optional<std::size_t>(0) : std::nullopt;
}

// The constant is all ones (zeros) and does not make the result larger than x: no more axes, each 1 or equal. Add of
// integers only: x + 0.0 is not x for x = -0.0.
std::optional<std::size_t> by_one_or_zero(const Graph& graph, const Node& node) {
  if (node.inputs.size() != 2 || has_fused_clip(node)) return std::nullopt;
  const bool either_side = is_any_of(node, {"Mul", "Add"});
  for (const std::size_t side : {1U, 0U}) {
    if (side == 0 && !either_side) break;
    const Tensor* constant = fixed_input(graph, node, side);
    if (constant == nullptr || (is_op(node, "Add") && is_float(constant->type()))) continue;
    if (!is_all(*constant, is_any_of(node, {"Mul", "Div"}) ? 1 : 0)) continue;
    const std::size_t other = 1 - side;
    if (keeps_shape(graph.value(node.inputs[other]).shape, constant->shape())) return other;
  }
  return std::nullopt;
}

struct Row {
  std::initializer_list<std::string_view> op_types;
  Unchanged unchanged;
};
constexpr Row kRows[] = {
    {{"Cast", "CastLike"}, same_type},
    {{"Reshape", "Flatten", "Squeeze", "Unsqueeze", "Expand", "Tile"}, same_shape},
    {{"Slice"}, keeps_all},
    {{"Transpose"}, in_order},
    {{"Pad"}, by_nothing},
    {{"Concat", "Sum", "Mean", "Max", "Min", "Split"}, of_one},
    {{"Mul", "Div", "Sub", "Add"}, by_one_or_zero},
};

}  // namespace

Result<int> eliminate_nop(Graph& graph, PassBudget& budget) {
  int rewrites = 0;
  for (const Row& row : kRows) {
    rewrites += rewrite_nodes(graph, budget, row.op_types, [&row](Graph& g, NodeId id) {
      const Node& node = g.node(id);
      const std::optional<std::size_t> input = row.unchanged(g, node);
      return input && bypass_node(g, id, node.inputs[*input]);
    });
  }
  return rewrites;
}
}  // namespace kinglet::engine::passes
