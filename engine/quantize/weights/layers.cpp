// SPDX-License-Identifier: Apache-2.0
#include "engine/quantize/weights/layers.h"

#include <algorithm>

#include "engine/base/format.h"
#include "engine/base/text.h"
#include "engine/ops/levels.h"
#include "engine/passes/rewrite.h"

namespace kinglet::engine {
namespace {

// f(index in the tensor, channel, index in the channel)
template <typename F>
void for_each_number(const Tensor& weight, const WeightView& view, F f) {
  const auto count = static_cast<std::size_t>(weight.element_count());
  for (std::size_t i = 0; i < count; ++i) {
    if (view.axis == 0) {
      f(i, i / view.inner, i % view.inner);
    } else {
      f(i, i % view.channels, i / view.channels);
    }
  }
}

}  // namespace

std::optional<WeightView> layer_of(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (!is_layer(node) || node.outputs.size() != 1) return std::nullopt;
  const Tensor* weight = fixed_input(graph, node, 1);
  if (weight == nullptr || weight->type() != DataType::kF32 || weight->element_count() == 0) return std::nullopt;
  const Shape& shape = weight->shape();
  if (shape.size() != (node.op_type == "Conv" ? 4U : 2U)) return std::nullopt;
  const auto factor = [&](std::string_view name) { return node.attributes.get_float(name, 1); };
  if (factor("alpha") != 1 || factor("beta") != 1 || node.attributes.get_int("transA", 0) != 0) return std::nullopt;
  const bool first = node.op_type == "Conv" || node.attributes.get_int("transB", 0) != 0;
  const auto channels = static_cast<std::size_t>(shape[first ? 0 : 1]);
  return WeightView{.axis = first ? 0U : 1U,
                    .channels = channels,
                    .inner = static_cast<std::size_t>(weight->element_count()) / channels};
}

std::vector<float> by_channel(const Tensor& weight, const WeightView& view) {
  std::vector<float> numbers(view.channels * view.inner);
  const auto from = weight.data<float>();
  for_each_number(weight, view, [&](std::size_t i, std::size_t channel, std::size_t inner) {
    numbers[channel * view.inner + inner] = from[i];
  });
  return numbers;
}

Tensor from_channels(const Tensor& like, const WeightView& view, const std::vector<float>& numbers) {
  Tensor out(DataType::kF32, like.shape());
  const auto to = out.mutable_data<float>();
  for_each_number(like, view, [&](std::size_t i, std::size_t channel, std::size_t inner) {
    to[i] = numbers[channel * view.inner + inner];
  });
  return out;
}

std::optional<std::vector<float>> bias_of(const Graph& graph, NodeId id, std::size_t channels) {
  const Node& node = graph.node(id);
  if (!has_input(node, 2)) return std::vector<float>(channels, 0.0F);
  const Tensor* bias = fixed_input(graph, node, 2);
  if (bias == nullptr || bias->type() != DataType::kF32) return std::nullopt;
  const auto numbers = bias->data<float>();
  if (numbers.size() == 1) return std::vector<float>(channels, numbers[0]);
  const bool row = numbers.size() == channels && bias->shape().back() == static_cast<Dim>(channels);
  return row ? std::optional(std::vector<float>(numbers.begin(), numbers.end())) : std::nullopt;
}

Result<void> check_layer_names(const std::set<std::string>& asked, const std::vector<std::string_view>& known) {
  for (const std::string& name : asked) {
    if (std::ranges::contains(known, name)) continue;
    const std::string_view near = nearest_name(name, known);
    return fail(ErrorCode::kUsage, format_text("no layer is named \"{}\"", printable(name)), "keep float",
                near.empty() ? "`kinglet inspect` lists the nodes" : format_text("did you mean {}?", printable(near)));
  }
  return {};
}

NodeId activation_behind(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (node.outputs.size() != 1 || !graph.has_single_use(node.outputs[0])) return kNoNode;
  const NodeId reader = graph.consumers(node.outputs[0]).front();
  const Node& next = graph.node(reader);
  return is_clamp(next) && next.inputs[0] == node.outputs[0] ? reader : kNoNode;
}

ValueId result_of(const Graph& graph, NodeId id) {
  const NodeId activation = activation_behind(graph, id);
  return graph.node(activation == kNoNode ? id : activation).outputs[0];
}

}  // namespace kinglet::engine
