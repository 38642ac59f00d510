// SPDX-License-Identifier: Apache-2.0
// Why: what the passes share: matching a producer, reading a constant per channel, replacing a value.
#pragma once

#include <concepts>
#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/graph/graph.h"
#include "engine/ops/traits.h"
#include "engine/passes/pass.h"

namespace kinglet::engine {

// A node of the default domain with this operator.
[[nodiscard]] bool is_op(const Node& node, std::string_view op_type);
[[nodiscard]] bool is_any_of(const Node& node, std::initializer_list<std::string_view> op_types);

// fuse_activation left bounds on the node: nothing may be folded through them.
[[nodiscard]] bool has_fused_clip(const Node& node);

// The constant that nobody can override: an initializer that is also a graph input is none.
[[nodiscard]] const Tensor* fixed_constant(const Graph& graph, ValueId id);
// The same for input `index` of a node; nullptr also when it is absent.
[[nodiscard]] const Tensor* fixed_input(const Graph& graph, const Node& node, std::size_t index);
// Present and not "" (an absent optional input).
[[nodiscard]] bool has_input(const Node& node, std::size_t index);

// The node that makes `id` as its first output, if it has this operator; kNoNode otherwise, and for an absent input.
[[nodiscard]] NodeId producer_of(const Graph& graph, ValueId id, std::initializer_list<std::string_view> op_types);
// The same, if it is one of those that `asked` (const Node&) -> bool answers true for (engine/ops/traits.h).
template <typename Asked>
  requires std::predicate<Asked, const Node&>
[[nodiscard]] NodeId producer_of(const Graph& graph, ValueId id, Asked asked) {
  const NodeId producer = id == kNoValue ? kNoNode : graph.value(id).producer;
  if (producer == kNoNode) return kNoNode;
  const Node& node = graph.node(producer);
  return asked(node) && node.outputs[0] == id ? producer : kNoNode;
}

// The same, if nothing but one node reads `id`, which is no graph output, and if the producer has no fused bounds: what
// a pattern may take in.
template <typename Asked>
  requires std::predicate<Asked, const Node&>
[[nodiscard]] NodeId inner_producer(const Graph& graph, ValueId id, Asked asked) {
  if (id == kNoValue || !graph.has_single_use(id)) return kNoNode;
  const NodeId producer = producer_of(graph, id, asked);
  return producer == kNoNode || has_fused_clip(graph.node(producer)) ? kNoNode : producer;
}
[[nodiscard]] NodeId inner_producer(const Graph& graph, ValueId id, std::initializer_list<std::string_view> op_types);

// What a Transpose does, also where the attribute is left out (the axes reversed); empty while the rank is unknown.
[[nodiscard]] std::vector<std::int64_t> perm_of(const Graph& graph, const Node& transpose);

// Floating point type that constant arithmetic is done for.
[[nodiscard]] bool is_float(DataType type);

// Numbers of a constant that broadcasts per channel (axis 1) against a value of `rank` axes with `channels` channels
// without making it larger: one element, or all axes 1 but the channel's. One factor a channel; nothing otherwise.
[[nodiscard]] std::optional<std::vector<double>> per_channel(const Tensor& constant, std::size_t rank, Dim channels);

// Rounded once from double; nothing when a number is not finite in `type` (kF32 or kF16).
[[nodiscard]] std::optional<Tensor> make_finite(DataType type, Shape shape, std::span<const double> numbers);

// The tensor (kF32 or kF16) times one factor for each index of `axis`, rounded once, in place where it alone owns its
// numbers. False, with the tensor untouched, when a result is not finite.
[[nodiscard]] bool scale(Tensor& tensor, std::span<const double> factor, std::size_t axis);

// weight[c, ...] * factor[c] and bias[c] * factor[c] + shift[c] for the Conv `id`; empty factors or shifts mean 1 or 0.
// False, with the graph untouched, when weight or bias is not a fixed float constant or a result is not finite.
[[nodiscard]] bool scale_and_shift_conv(Graph& graph, NodeId id, std::span<const double> factor,
                                        std::span<const double> shift);

// What a BatchNormalization in inference mode does per channel: x * factor + shift.
struct ChannelAffine {
  std::vector<double> factor;
  std::vector<double> shift;
};
// Nothing in training mode, when a parameter is not a fixed float constant, or when variance + epsilon is not > 0.
[[nodiscard]] std::optional<ChannelAffine> affine_of_bn(const Graph& graph, const Node& bn);

// A Conv read by this binary node alone, and the node's other input as one number a channel.
struct ConvAndConstant {
  NodeId conv = kNoNode;
  std::vector<double> numbers;
};
// The Conv may be the second input only with `either_side`. Nothing for a Conv that carries fused bounds.
[[nodiscard]] std::optional<ConvAndConstant> match_conv_and_constant(const Graph& graph, const Node& node,
                                                                     bool either_side);

// A tensor in place of the constant at that input: the same constant is changed when only this node reads it, else a
// new one is added (named after the old).
void put_constant(Graph& graph, NodeId id, std::size_t index, Tensor tensor, std::string_view fallback_name);

// True when `replace_value(old, replacement)` keeps the graph's contract: graph outputs keep their names, and are
// neither graph inputs, constants nor another output.
[[nodiscard]] bool can_replace(const Graph& graph, ValueId old, ValueId replacement);
// Readers of `old`, the graph's output included, get `replacement`. Check can_replace first.
void replace_value(Graph& graph, ValueId old, ValueId replacement);
// Replaces the only output of `id` by `replacement` and removes the node; false (untouched) when it cannot.
[[nodiscard]] bool bypass_node(Graph& graph, NodeId id, ValueId replacement);

// Offers each node that `asked` (const Node&) -> bool takes to `try_rewrite(Graph&, NodeId) -> bool` while the budget
// lasts.
template <typename Asked, typename TryRewrite>
  requires std::predicate<Asked, const Node&>
int rewrite_nodes(Graph& graph, PassBudget& budget, Asked asked, TryRewrite try_rewrite) {
  int count = 0;
  const std::vector<NodeId> order = graph.nodes();
  for (const NodeId id : order) {
    if (!budget.left()) break;
    if (!graph.contains(id) || !asked(graph.node(id))) continue;
    std::string name = graph.node(id).name;
    std::string op_type = graph.node(id).op_type;
    if (!try_rewrite(graph, id)) continue;
    budget.spend(std::move(name), std::move(op_type));
    ++count;
  }
  return count;
}

// The same for the nodes with one of these operators.
template <typename TryRewrite>
int rewrite_nodes(Graph& graph, PassBudget& budget, std::initializer_list<std::string_view> op_types,
                  TryRewrite try_rewrite) {
  return rewrite_nodes(graph, budget, [&](const Node& node) { return is_any_of(node, op_types); }, try_rewrite);
}

// The same for all nodes, and rewrites that may fail: `try_rewrite(NodeId) -> Result<bool>`.
template <typename TryRewrite>
Result<int> rewrite_each_node(Graph& graph, PassBudget& budget, TryRewrite try_rewrite) {
  int count = 0;
  const std::vector<NodeId> order(graph.nodes().begin(), graph.nodes().end());  // rewrites change them
  for (const NodeId id : order) {
    if (!budget.left()) break;
    std::string name = graph.node(id).name;
    std::string op_type = graph.node(id).op_type;
    if (!KINGLET_TRY(try_rewrite(id))) continue;
    budget.spend(std::move(name), std::move(op_type));
    ++count;
  }
  return count;
}

}  // namespace kinglet::engine
