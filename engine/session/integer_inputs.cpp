// SPDX-License-Identifier: Apache-2.0
#include "engine/session/integer_inputs.h"

#include <algorithm>

#include "engine/base/check.h"
#include "engine/ops/levels.h"
#include "engine/ops/quantized.h"

namespace kinglet::engine {
namespace {

// The node that makes levels of this input, and nobody reads it else.
NodeId quantizer_of(const Graph& graph, ValueId input) {
  if (graph.value(input).type != DataType::kF32 || !graph.has_single_use(input)) return kNoNode;
  const NodeId reader = graph.consumers(input).front();
  const Node& node = graph.node(reader);
  if (!node.domain.empty() || node.op_type != "QuantizeLinear" || node.inputs.front() != input) return kNoNode;
  const DataType type = graph.value(node.outputs.front()).type;
  const bool has_levels = type == DataType::kU8 || type == DataType::kI8;
  return has_levels && !graph.is_output(node.outputs.front()) ? reader : kNoNode;
}

std::optional<HeldLevels> take_one(Graph& graph, ValueId input) {
  const NodeId id = quantizer_of(graph, input);
  if (id == kNoNode) return std::nullopt;
  const ValueId levels = graph.node(id).outputs.front();
  const auto made = quantization_at(graph, graph.node(id), 1);
  // What computes with an input's levels knows them by those who read it.
  if (!made || !(made->scale > 0) || quantization_by_readers(graph, levels) != made) return std::nullopt;
  const DataType type = graph.value(levels).type;
  graph.replace_uses(levels, input);
  graph.remove_node(id);
  graph.set_type_and_shape(input, type, graph.value(input).shape);
  return HeldLevels{.type = type, .quantization = {.scale = made->scale, .zero_point = made->zero_point}};
}

}  // namespace

std::vector<std::optional<HeldLevels>> take_integer_inputs(Graph& graph) {
  std::vector<std::optional<HeldLevels>> held;
  for (const GraphInput& input : graph.inputs()) held.push_back(take_one(graph, input.value));
  return held;
}

void make_levels(std::span<const float> numbers, const HeldLevels& levels, std::span<std::byte> to) {
  KINGLET_CHECK(numbers.size() == to.size());
  const auto scale = static_cast<float>(levels.quantization.scale);
  ops::visit_bytes(levels.type, [&]<typename T> {
    std::ranges::transform(numbers, to.begin(), [&](float number) {
      return static_cast<std::byte>(ops::quantized<T>(number, scale, levels.quantization.zero_point));
    });
  });
}

}  // namespace kinglet::engine
