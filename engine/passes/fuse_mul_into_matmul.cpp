// SPDX-License-Identifier: Apache-2.0
// Before:     y = MatMul(x, w); s = Add(y, b), or y itself; z = Mul(s, k) or Div(s, k)
// After:      y = MatMul(x, w * k); z = Add(y, b * k)
// Conditions: y and s are read by these nodes alone and are no graph outputs; w is a fixed f32 matrix [K,N] that this
//             node alone reads, b and k are fixed f32 constants of one element, [N] or [1,..,N]; every result is
//             finite, and none but zero is smaller than a normal number (the factors of ConvNeXt start at 1e-6).
// Formula:    column n of w and b times k[n], in double, rounded once.
#include <algorithm>
#include <cmath>
#include <ranges>
#include <tuple>

#include "engine/passes/biased_matmul.h"

namespace kinglet::engine::passes {
namespace {

// One number a column.
std::optional<std::vector<double>> row_of(const Tensor* constant, Dim columns, std::size_t rank) {
  if (constant == nullptr || constant->type() != DataType::kF32 || !is_row(*constant, columns, rank)) {
    return std::nullopt;
  }
  const std::vector<float> numbers = constant->to_floats();
  if (numbers.size() > 1) return std::vector<double>(numbers.begin(), numbers.end());
  return std::vector<double>(static_cast<std::size_t>(columns), static_cast<double>(numbers[0]));
}

// tensor * factor along its last axis, if no product but that of zero is smaller than a normal number.
std::optional<Tensor> precise_product(const Tensor& tensor, const std::vector<double>& factor) {
  Tensor out = tensor;
  if (!scale(out, factor, tensor.shape().size() - 1)) return std::nullopt;
  const auto is_lost = [](float before, float after) { return before != 0 && !std::isnormal(after); };
  if (std::ranges::any_of(std::views::zip(tensor.data<float>(), std::as_const(out).data<float>()),
                          [&](const auto& pair) { return std::apply(is_lost, pair); })) {
    return std::nullopt;
  }
  return out;
}

struct Scaled {
  NodeId matmul = kNoNode;
  NodeId add = kNoNode;  // or none
  std::size_t bias_side = 0;
};

std::optional<Scaled> match_scaled(const Graph& graph, ValueId scaled) {
  if (!graph.has_single_use(scaled)) return std::nullopt;
  if (const NodeId matmul = producer_of(graph, scaled, {"MatMul"}); matmul != kNoNode) return Scaled{.matmul = matmul};
  const NodeId add = producer_of(graph, scaled, {"Add"});
  if (add == kNoNode) return std::nullopt;
  const std::optional<BiasedMatMul> biased = match_biased_matmul(graph, graph.node(add));
  if (!biased) return std::nullopt;
  return Scaled{.matmul = biased->matmul, .add = add, .bias_side = graph.node(add).inputs[0] == biased->bias ? 0U : 1U};
}

bool fuse_side(Graph& graph, NodeId id, std::size_t side) {
  const Node& node = graph.node(id);
  const std::optional<Scaled> match = match_scaled(graph, node.inputs[side]);
  if (!match || has_fused_clip(graph.node(match->matmul))) return false;
  const Node& matmul = graph.node(match->matmul);
  const Tensor* weight = fixed_input(graph, matmul, 1);
  const std::optional<Shape>& shape = graph.value(matmul.outputs[0]).shape;
  if (weight == nullptr || weight->type() != DataType::kF32 || weight->shape().size() != 2 || !shape ||
      weight->element_count() == 0 || !graph.has_single_use(matmul.inputs[1])) {
    return false;
  }
  const Dim columns = weight->shape()[1];
  std::optional<std::vector<double>> factor = row_of(fixed_input(graph, node, 1 - side), columns, shape->size());
  if (!factor) return false;
  if (is_op(node, "Div")) {
    for (double& number : *factor) number = 1 / number;
  }
  std::optional<Tensor> bias;
  if (match->add != kNoNode) {
    const std::optional<std::vector<double>> row =
        row_of(fixed_input(graph, graph.node(match->add), match->bias_side), columns, shape->size());
    const std::optional<Tensor> before = row ? make_finite(DataType::kF32, {columns}, *row) : std::nullopt;
    if (before) bias = precise_product(*before, *factor);
    if (!bias) return false;
  }
  std::optional<Tensor> new_weight = precise_product(*weight, *factor);
  const ValueId result = node.inputs[side];
  if (!new_weight || !can_replace(graph, node.outputs[0], result)) return false;
  put_constant(graph, match->matmul, 1, *std::move(new_weight), "weight");
  if (bias) put_constant(graph, match->add, match->bias_side, *std::move(bias), "bias");
  return bypass_node(graph, id, result);
}

bool fuse(Graph& graph, NodeId id) {
  if (has_fused_clip(graph.node(id))) return false;
  return fuse_side(graph, id, 0) || (is_op(graph.node(id), "Mul") && fuse_side(graph, id, 1));
}

}  // namespace

const NodePass fuse_mul_into_matmul{{"Mul", "Div"}, fuse};

}  // namespace kinglet::engine::passes
