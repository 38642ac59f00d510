// SPDX-License-Identifier: Apache-2.0
#include "engine/graph/quantization.h"

#include <algorithm>

namespace kinglet::engine {
namespace {

constexpr int kFarthest = 16;  // nodes between a value and the one that explains it

std::optional<LinearQuantization> of_maker(const Graph& graph, ValueId id, const LevelRules& rules, int left) {
  const NodeId maker = graph.value(id).producer;
  if (maker == kNoNode || left == 0) return std::nullopt;
  const Node& node = graph.node(maker);
  if (node.domain.empty() && node.op_type == "QuantizeLinear") return quantization_at(graph, node, 1);
  if (const QLinearForm* form = rules.form_of(node)) return quantization_at(graph, node, form->y_scale);
  return rules.keep(node) ? of_maker(graph, node.inputs[0], rules, left - 1) : std::nullopt;
}

std::optional<LinearQuantization> of_reader(const Graph& graph, ValueId id, const LevelRules& rules, int left) {
  if (left == 0) return std::nullopt;
  for (const NodeId reader : graph.consumers(id)) {
    const Node& node = graph.node(reader);
    std::optional<LinearQuantization> found;
    if (node.domain.empty() && node.op_type == "DequantizeLinear" && node.inputs[0] == id) {
      found = quantization_at(graph, node, 1);
    } else if (rules.form_of(node) != nullptr) {
      const auto at = std::ranges::find(node.inputs, id) - node.inputs.begin();
      found = quantization_at(graph, node, static_cast<std::size_t>(at) + 1);
    } else if (rules.keep(node) && !node.outputs.empty() && node.outputs[0] != kNoValue) {
      found = of_reader(graph, node.outputs[0], rules, left - 1);
    }
    if (found) return found;
  }
  return std::nullopt;
}

}  // namespace

bool is_all_zero(const Tensor& tensor) {
  return std::ranges::all_of(tensor.bytes(), [](std::byte byte) { return byte == std::byte{0}; });
}

std::optional<LinearQuantization> quantization_at(const Graph& graph, const Node& node, std::size_t scale) {
  const auto one = [&](std::size_t input) -> const Tensor* {
    const Tensor* tensor = input < node.inputs.size() ? graph.constant(node.inputs[input]) : nullptr;
    return tensor != nullptr && tensor->element_count() == 1 ? tensor : nullptr;
  };
  const Tensor* number = one(scale);
  if (number == nullptr || number->type() != DataType::kF32) return std::nullopt;
  LinearQuantization out{.scale = number->data<float>()[0]};
  if (scale + 1 >= node.inputs.size() || node.inputs[scale + 1] == kNoValue) return out;
  const Tensor* zero = one(scale + 1);
  if (zero == nullptr) return std::nullopt;
  if (zero->type() == DataType::kI8) {
    out.zero_point = static_cast<std::int32_t>(zero->data<std::int8_t>()[0]);
  } else if (zero->type() == DataType::kU8) {
    out.zero_point = zero->data<std::uint8_t>()[0];
  } else {
    return std::nullopt;
  }
  return out;
}

std::optional<LinearQuantization> quantization_of(const Graph& graph, ValueId id, const LevelRules& rules) {
  if (const auto found = of_maker(graph, id, rules, kFarthest)) return found;
  return quantization_by_readers(graph, id, rules);
}

std::optional<LinearQuantization> quantization_by_readers(const Graph& graph, ValueId id, const LevelRules& rules) {
  return of_reader(graph, id, rules, kFarthest);
}

}  // namespace kinglet::engine
