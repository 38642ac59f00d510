// SPDX-License-Identifier: Apache-2.0
// Before:     y = x * a or x / a; z = y * b or y / b
// After:      z = x * k, or x / k when both divide
// Conditions: y is read by this node alone and is no graph output; a and b are fixed float constants, of one shape or
//             one of them a single number, that do not widen x; every result is a normal number (or 0), so that no
//             digits are lost. Rounds once where the nodes rounded twice.
#include <algorithm>
#include <cmath>

#include "engine/passes/product.h"

namespace kinglet::engine::passes {
namespace {

struct Scaling {
  ValueId x = kNoValue;
  const Tensor* constant = nullptr;
  std::size_t side = 1;  // the input that is constant
  bool divides = false;
};

std::optional<Scaling> match(const Graph& graph, const Node& node) {
  if (has_fused_clip(node)) return std::nullopt;
  const bool divides = is_op(node, "Div");
  for (const std::size_t side : {1U, 0U}) {
    const Tensor* constant = fixed_input(graph, node, side);
    if (constant == nullptr || (divides && side == 0)) continue;
    const ValueId x = node.inputs[1 - side];
    const std::optional<Shape>& shape = graph.value(x).shape;
    const bool keeps = shape && broadcast(*shape, constant->shape()) == *shape;
    if (!keeps || fixed_constant(graph, x) != nullptr || !is_float(constant->type())) return std::nullopt;
    return Scaling{.x = x, .constant = constant, .side = side, .divides = divides};
  }
  return std::nullopt;
}

bool is_safe(double number, DataType type) {
  const double smallest = type == DataType::kF16 ? 6.2e-5 : 1.2e-38;
  return number == 0 || (std::isfinite(number) && std::abs(number) >= smallest);
}

// a * b, or their quotient where exactly one divides.
std::optional<Tensor> merged(const Scaling& inner, const Scaling& outer) {
  const std::vector<float> a = inner.constant->to_floats();
  const std::vector<float> b = outer.constant->to_floats();
  if (a.empty() || b.empty()) return std::nullopt;
  const bool same_shape = inner.constant->shape() == outer.constant->shape();
  if (!same_shape && a.size() != 1 && b.size() != 1) return std::nullopt;
  std::vector<double> numbers;
  for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
    const auto left = static_cast<double>(a[a.size() == 1 ? 0 : i]);
    const auto right = static_cast<double>(b[b.size() == 1 ? 0 : i]);
    double number = left * right;
    if (inner.divides != outer.divides) number = inner.divides ? right / left : left / right;
    if (!is_safe(number, inner.constant->type())) return std::nullopt;
    numbers.push_back(number);
  }
  const bool first =
      a.size() > b.size() || (a.size() == b.size() && inner.constant->shape().size() >= outer.constant->shape().size());
  return make_finite(inner.constant->type(), first ? inner.constant->shape() : outer.constant->shape(), numbers);
}

bool fuse(Graph& graph, NodeId id) {
  const std::optional<Scaling> outer = match(graph, graph.node(id));
  const NodeId before = outer ? inner_producer(graph, outer->x, {"Mul", "Div"}) : kNoNode;
  const std::optional<Scaling> inner = before == kNoNode ? std::nullopt : match(graph, graph.node(before));
  if (!inner) return false;
  std::optional<Tensor> constant = merged(*inner, *outer);
  if (!constant) return false;
  graph.set_op_type(id, "", inner->divides && outer->divides ? "Div" : "Mul");
  graph.set_input(id, 1 - outer->side, inner->x);
  put_constant(graph, id, outer->side, *std::move(constant), "factor");
  graph.remove_node(before);
  return true;
}

}  // namespace

const NodePass merge_constant_factors{{"Mul", "Div"}, fuse};

}  // namespace kinglet::engine::passes
