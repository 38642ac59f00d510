// SPDX-License-Identifier: Apache-2.0
// Before:     y = Concat(a_0, a_1 ... a_n) {axis=1} with a_i = x[:, i:i+1] * k_i + c_i, as torchvision scales its
//             input: Gather(x, i) {axis=1}, Unsqueeze, Mul by one number, Add of one number, each of the two at most
//             once
// After:      y = BatchNormalization(x) of scale k, bias c, mean 0 and variance 1 (epsilon 0): one step
// Conditions: x is f32 [N,C,H,W] and every channel is taken once, in order; inner values are read once and are no graph
//             outputs. Plan only: a file keeps the form its maker gave it.
#include <optional>
#include <string>

#include "engine/passes/rewrite.h"

namespace kinglet::engine::passes {
namespace {

struct Part {
  ValueId x = kNoValue;
  std::int64_t channel = 0;
  float factor = 1;
  float shift = 0;
  std::vector<NodeId> nodes;  // from the last back
};

std::optional<float> number(const Graph& graph, const Node& node, std::size_t input) {
  const Tensor* tensor = fixed_input(graph, node, input);
  if (tensor == nullptr || tensor->type() != DataType::kF32 || tensor->element_count() != 1) return std::nullopt;
  if (tensor->shape().size() > 4) return std::nullopt;
  return tensor->data<float>()[0];
}

// The node that makes `id` when nobody else reads it.
const Node* inner(const Graph& graph, ValueId id, std::string_view op_type) {
  const NodeId producer = inner_producer(graph, id, {op_type});
  return producer == kNoNode ? nullptr : &graph.node(producer);
}

// Follows `id` back through one Add or Mul of a number, if that is what makes it.
void follow(const Graph& graph, ValueId& id, std::string_view op_type, float& found, std::vector<NodeId>& nodes) {
  const Node* node = inner(graph, id, op_type);
  if (node == nullptr) return;
  for (const std::size_t side : {0U, 1U}) {
    const std::optional<float> value = number(graph, *node, side);
    if (!value) continue;
    found = *value;
    nodes.push_back(graph.value(id).producer);
    id = node->inputs[1 - side];
    return;
  }
}

std::optional<Part> match_part(const Graph& graph, ValueId id) {
  Part part;
  follow(graph, id, "Add", part.shift, part.nodes);
  follow(graph, id, "Mul", part.factor, part.nodes);
  const Node* unsqueeze = inner(graph, id, "Unsqueeze");
  if (unsqueeze == nullptr) return std::nullopt;
  const Tensor* axes = fixed_input(graph, *unsqueeze, 1);
  const Node* gather = inner(graph, unsqueeze->inputs[0], "Gather");
  if (gather == nullptr || axes == nullptr || axes->to_int64s() != std::vector<std::int64_t>{1}) return std::nullopt;
  const Tensor* index = fixed_input(graph, *gather, 1);
  if (index == nullptr || !index->shape().empty() || gather->attributes.get_int("axis", 0) != 1) return std::nullopt;
  part.nodes.push_back(graph.value(id).producer);
  part.nodes.push_back(graph.value(unsqueeze->inputs[0]).producer);
  part.x = gather->inputs[0];
  part.channel = index->to_int64s()[0];
  return part;
}

bool fuse(Graph& graph, NodeId id) {
  const Node& concat = graph.node(id);
  if (concat.attributes.get_int("axis", 0) != 1 || has_fused_clip(concat) || concat.inputs.size() < 2) return false;
  std::vector<float> factors;
  std::vector<float> shifts;
  std::vector<NodeId> gone;
  ValueId x = kNoValue;
  for (const ValueId input : concat.inputs) {
    const std::optional<Part> part = match_part(graph, input);
    if (!part || part->channel != static_cast<std::int64_t>(factors.size())) return false;
    if (x != kNoValue && part->x != x) return false;
    x = part->x;
    factors.push_back(part->factor);
    shifts.push_back(part->shift);
    gone.insert(gone.end(), part->nodes.begin(), part->nodes.end());
  }
  const auto channels = static_cast<Dim>(factors.size());
  const Value& source = graph.value(x);
  if (source.type != DataType::kF32 || !source.shape || source.shape->size() != 4 || (*source.shape)[1] != channels) {
    return false;
  }
  const auto row = [&](std::string_view what, const std::vector<float>& numbers) {
    return graph.add_constant(graph.node(id).name + "_" + std::string(what), Tensor::of<float>({channels}, numbers));
  };
  const std::vector<ValueId> inputs{x, row("scale", factors), row("bias", shifts),
                                    row("mean", std::vector<float>(factors.size(), 0)),
                                    row("variance", std::vector<float>(factors.size(), 1))};
  graph.resize_inputs(id, inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) graph.set_input(id, i, inputs[i]);
  graph.set_op_type(id, "", "BatchNormalization");
  graph.attributes(id).remove("axis");
  graph.attributes(id).set("epsilon", 0.0F);
  for (const NodeId node : gone) graph.remove_node(node);
  return true;
}

}  // namespace

const NodePass fuse_channel_affine{{"Concat"}, fuse};

}  // namespace kinglet::engine::passes
