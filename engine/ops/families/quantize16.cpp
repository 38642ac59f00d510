// SPDX-License-Identifier: Apache-2.0
#include "engine/ops/families/quantize16.h"

#include "engine/ops/common.h"
#include "engine/ops/normalize.h"

namespace kinglet::engine::ops {
namespace {

// The one zero point of a node, 0 when it has none; nothing when it is computed or one of several.
std::optional<std::int64_t> zero_point(const Graph& graph, const Node& node) {
  if (node.inputs.size() < 3 || node.inputs[2] == kNoValue) return 0;
  const Tensor* tensor = graph.constant(node.inputs[2]);
  if (tensor == nullptr || tensor->element_count() != 1 || tensor->type() != DataType::kI32) return std::nullopt;
  return tensor->data<std::int32_t>()[0];
}

bool has_one_scale(const Graph& graph, const Node& node) {
  if (node.inputs.size() < 2 || node.inputs[0] == kNoValue || node.inputs[1] == kNoValue) return false;
  const Value& scale = graph.value(node.inputs[1]);
  const Tensor* tensor = graph.constant(node.inputs[1]);
  return tensor != nullptr && scale.type == DataType::kF32 && tensor->element_count() == 1;
}

bool is_dequantize(const Graph& graph, NodeId id, ValueId q) {
  const Node& node = graph.node(id);
  const bool known = node.domain.empty() || node.domain == "com.microsoft";
  return known && node.op_type == "DequantizeLinear" && node.inputs[0] == q && has_one_scale(graph, node);
}

}  // namespace

Result<void> take_out_16_bits(Graph& graph, NodeId quantize) {
  if (graph.node(quantize).attributes.find(kLevels) == nullptr) return {};
  const auto unsupported = [&](std::string message) {
    return refuse(graph, quantize, ErrorCode::kUnsupported, std::move(message), "quantise activations to 8 bits");
  };
  const Node node = graph.node(quantize);
  const std::vector<std::int64_t> levels = node.attributes.get_ints(kLevels);
  const std::optional<std::int64_t> zero = zero_point(graph, node);
  if (!zero || !has_one_scale(graph, node) || graph.value(node.inputs[0]).type != DataType::kF32) {
    return unsupported("makes 16-bit numbers with more than one scale, or computed ones");
  }
  const ValueId q = node.outputs.at(0);
  const std::vector<NodeId> readers = graph.consumers(q);
  for (const NodeId reader : readers) {
    if (is_dequantize(graph, reader, q) && zero_point(graph, graph.node(reader)) == zero) continue;
    return unsupported("makes 16-bit numbers that are used for more than DequantizeLinear");
  }
  if (graph.is_output(q)) return unsupported("makes 16-bit numbers that leave the model");
  const auto bound = [&](std::string_view role, std::int64_t level) {
    return add_node_constant(graph, quantize, role, Tensor::of<float>({}, {static_cast<float>(level - *zero)}));
  };
  const ValueId low = bound("low", levels.at(0));
  const ValueId high = bound("high", levels.at(1));
  ValueId x = insert_before(graph, quantize, "Div", {node.inputs[0], node.inputs[1]}, {}, DataType::kF32);
  x = insert_before(graph, quantize, "Round", {x}, {}, DataType::kF32);
  become(graph, quantize, "Clip", {x, low, high}, {});
  for (const NodeId reader : readers) become(graph, reader, "Mul", {q, graph.node(reader).inputs[1]}, {});
  return {};
}

}  // namespace kinglet::engine::ops
