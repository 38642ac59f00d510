// SPDX-License-Identifier: Apache-2.0
#include "engine/ops/lower.h"

#include <algorithm>

namespace kinglet::engine::ops {
namespace {

Dims broadcast_dims(const Dims& a, const Dims& b) {
  Dims out = a.size() < b.size() ? b : a;
  const Dims& shorter = a.size() < b.size() ? a : b;
  for (std::size_t i = 1; i <= shorter.size(); ++i) {
    std::size_t& dim = out[out.size() - i];
    dim = std::max(dim, shorter[shorter.size() - i]);
  }
  return out;
}

}  // namespace

bool is_given(const Node& node, std::size_t input) {
  return input < node.inputs.size() && node.inputs[input] != kNoValue;
}

bool makes_only_first(const Node& node) {
  return !node.outputs.empty() && node.outputs[0] != kNoValue &&
         std::all_of(node.outputs.begin() + 1, node.outputs.end(), [](ValueId output) { return output == kNoValue; });
}

const Tensor* constant_input(const Graph& graph, const Node& node, std::size_t input) {
  return is_given(node, input) ? graph.constant(node.inputs[input]) : nullptr;
}

std::optional<float> scalar_constant(const Graph& graph, const Node& node, std::size_t input) {
  const Tensor* tensor = constant_input(graph, node, input);
  if (tensor == nullptr || tensor->type() != DataType::kF32 || tensor->element_count() != 1) return std::nullopt;
  return tensor->data<float>()[0];
}

Dims dims_of(const Shape& shape) { return {shape.begin(), shape.end()}; }

Result<Operand> broadcast_operand(SubgraphBuilder& builder, const Node& node, std::size_t input) {
  const ValueId output = node.outputs[0];
  return builder.input_for_broadcast(node.inputs[input], builder.layout(output),
                                     builder.graph().value(output).shape->size());
}

Result<bool> lower_unary(SubgraphBuilder& builder, const Graph& graph, NodeId id, xnn_unary_operator type,
                         const xnn_unary_params& params) {
  const Node& node = graph.node(id);
  const Operand input = KINGLET_TRY(builder.input(node.inputs[0], builder.layout(node.outputs[0])));
  const Operand output = KINGLET_TRY(builder.output(node.outputs[0]));
  KINGLET_TRY(builder.unary(type, params, input, output));
  return true;
}

Result<bool> lower_binary(SubgraphBuilder& builder, const Graph& graph, NodeId id, xnn_binary_operator type) {
  const Node& node = graph.node(id);
  Operand left = KINGLET_TRY(broadcast_operand(builder, node, 0));
  const Operand output = KINGLET_TRY(builder.output(node.outputs[0]));
  if (node.inputs.size() == 1) {
    KINGLET_TRY(builder.reshape(left, output));
    return true;
  }
  for (std::size_t i = 1; i < node.inputs.size(); ++i) {
    const Operand right = KINGLET_TRY(broadcast_operand(builder, node, i));
    const bool last = i + 1 == node.inputs.size();
    const Operand result =
        last ? output : KINGLET_TRY(builder.temporary(broadcast_dims(builder.dims(left), builder.dims(right))));
    KINGLET_TRY(builder.binary(type, left, right, result));
    left = result;
  }
  return true;
}

}  // namespace kinglet::engine::ops
