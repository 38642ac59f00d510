// SPDX-License-Identifier: Apache-2.0
#include "engine/passes/product.h"

#include <cmath>
#include <vector>

namespace kinglet::engine {
namespace {

// Nested Mul and Div below a product; activations have one or two.
constexpr int kDepth = 4;

// Adds the factors of the node; false when it is no product of numbers and computed values.
bool add_factors(const Graph& graph, NodeId id, int depth, Product& product, std::vector<ValueId>& computed) {
  const Node& node = graph.node(id);
  if (has_fused_clip(node) || depth == 0) return false;
  const bool divides = is_op(node, "Div");
  for (const std::size_t side : {0U, 1U}) {
    const ValueId factor = node.inputs[side];
    if (const std::optional<double> number = scalar_beside(graph, node, side)) {
      if (divides && side == 0) return false;
      product.scale *= divides ? 1 / *number : *number;
      continue;
    }
    if (divides && side == 1) return false;
    const NodeId made_by = inner_producer(graph, factor, {"Mul", "Div"});
    const bool scales = made_by != kNoNode &&
                        (is_op(graph.node(made_by), "Mul") || scalar_beside(graph, graph.node(made_by), 1).has_value());
    if (!scales) {
      computed.push_back(factor);
      continue;
    }
    if (!add_factors(graph, made_by, depth - 1, product, computed)) return false;
  }
  return true;
}

}  // namespace

bool is_about(double a, double b) { return std::abs(a - b) <= 1e-4 * std::abs(b); }

std::optional<double> scalar_beside(const Graph& graph, const Node& node, std::size_t index) {
  const Tensor* constant = fixed_input(graph, node, index);
  if (node.inputs.size() != 2 || constant == nullptr || !is_float(constant->type()) || constant->element_count() != 1) {
    return std::nullopt;
  }
  const std::optional<Shape>& other = graph.value(node.inputs[1 - index]).shape;
  if (constant->shape().size() > (other ? other->size() : 0)) return std::nullopt;
  const auto number = static_cast<double>(constant->to_floats()[0]);
  return std::isfinite(number) && number != 0 ? std::optional(number) : std::nullopt;
}

std::optional<Product> match_product(const Graph& graph, NodeId id) {
  Product product;
  std::vector<ValueId> computed;
  if (!is_any_of(graph.node(id), {"Mul", "Div"}) || !add_factors(graph, id, kDepth, product, computed))
    return std::nullopt;
  if (computed.size() != 2 || computed[0] == computed[1]) return std::nullopt;
  product.one = computed[0];
  product.other = computed[1];
  return product;
}

void become_function(Graph& graph, NodeId id, std::string domain, std::string op_type, ValueId x) {
  std::vector<ValueId> left = graph.node(id).inputs;
  graph.resize_inputs(id, 1);
  graph.set_input(id, 0, x);
  graph.attributes(id) = {};
  graph.set_op_type(id, std::move(domain), std::move(op_type));
  while (!left.empty()) {
    const ValueId value = left.back();
    left.pop_back();
    if (value == kNoValue || !graph.contains(value) || !graph.consumers(value).empty() || graph.is_output(value)) {
      continue;
    }
    const NodeId made_by = graph.value(value).producer;
    if (made_by == kNoNode || graph.node(made_by).outputs.size() != 1) continue;
    const std::vector<ValueId> inputs = graph.node(made_by).inputs;
    left.insert(left.end(), inputs.begin(), inputs.end());
    graph.remove_node(made_by);
  }
}

}  // namespace kinglet::engine
