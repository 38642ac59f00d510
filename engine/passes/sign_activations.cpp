// SPDX-License-Identifier: Apache-2.0
// Before:     q = QuantizeLinear(x, scale, zero of uint8); y = DequantizeLinear(q, scale, zero of uint8); weights of
//             uint8 around 128, or around another level and all but a few of them int8 all the same
// After:      the same with int8: levels and zero points less 128, which stand for the same numbers to the bit
// Conditions: XNNPACK multiplies int8 by int8 (uint8 only with uint8 weights of one scale), so: some layer has weights
//             that are int8 or become so; a value that a layer with other uint8 weights reads or makes stays, and
//             graph inputs and outputs do, but a layer with int8 weights that reads a graph input gets its levels as
//             int8; between QuantizeLinear and DequantizeLinear only nodes that keep levels. Plan only.
#include <algorithm>
#include <cmath>
#include <set>

#include "engine/ops/levels.h"
#include "engine/ops/normalize.h"
#include "engine/passes/quantized_layer.h"
#include "engine/passes/rewrite.h"

namespace kinglet::engine::passes {
namespace {

constexpr std::uint8_t kShift = 128;
enum class Weights : std::uint8_t { kNone, kSigned, kUnsigned };

// What the 8-bit weights of a layer are; `all_signed`: those of uint8 become int8.
Weights weights_of(const Graph& graph, const Node& layer, bool all_signed) {
  const NodeId dequantize = producer_of(graph, layer.inputs[1], {"DequantizeLinear"});
  if (dequantize == kNoNode) return Weights::kNone;
  const Node& node = graph.node(dequantize);
  const Tensor* levels = fixed_input(graph, node, 0);
  if (levels == nullptr) return Weights::kNone;
  if (levels->type() == DataType::kU8) return all_signed ? Weights::kSigned : Weights::kUnsigned;
  if (levels->type() != DataType::kI8) return Weights::kNone;
  const Tensor* zero = fixed_input(graph, node, 2);
  return !has_input(node, 2) || (zero != nullptr && is_all_zero(*zero)) ? Weights::kSigned : Weights::kNone;
}

Tensor less_128(const Tensor& levels) {
  Tensor out(DataType::kI8, levels.shape());
  const auto from = levels.data<std::uint8_t>();
  std::ranges::transform(from, out.mutable_data<std::int8_t>().begin(),
                         [](std::uint8_t level) { return static_cast<std::int8_t>(level - kShift); });
  return out;
}

bool lies_around_128(const Tensor& zero_point) {
  return std::ranges::all_of(zero_point.data<std::uint8_t>(), [](std::uint8_t level) { return level == kShift; });
}

// A layer of uint8 weights that cannot become int8 keeps all of them uint8: layers of both kinds do not go together.
bool all_can_be_signed(const Graph& graph) {
  return std::ranges::none_of(graph.nodes(), [&](NodeId id) {
    const Node& layer = graph.node(id);
    if (!is_layer(layer) || weights_of(graph, layer, false) != Weights::kUnsigned) return false;
    const Tensor* zero = fixed_input(graph, graph.node(graph.value(layer.inputs[1]).producer), 2);
    return (zero == nullptr || !lies_around_128(*zero)) && !narrow_weight(graph, layer);
  });
}

bool sign_weights(Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const Tensor* levels = fixed_input(graph, node, 0);
  const Tensor* zero = fixed_input(graph, node, 2);
  if (levels == nullptr || zero == nullptr || levels->type() != DataType::kU8) return false;
  if (!lies_around_128(*zero)) return false;
  Tensor signed_zero = less_128(*zero);
  put_constant(graph, id, 0, less_128(*levels), "weight");
  const std::string name = graph.value(graph.node(id).inputs[2]).name;
  graph.set_input(id, 2, graph.add_constant(name, std::move(signed_zero)));
  return true;
}

// An 8-bit value and those that hold the same levels, by nodes that only move them.
struct Levels {
  std::set<ValueId> values;
  std::set<NodeId> ends;  // QuantizeLinear and DequantizeLinear around them
  bool free = true;       // nothing else reads, makes or fixes them
};

bool is_end(const Graph& graph, const Node& node, ValueId value) {
  if (!is_any_of(node, {"QuantizeLinear", "DequantizeLinear"})) return false;
  const bool reads = std::ranges::count(node.inputs, value) == (node.op_type == "DequantizeLinear" ? 1 : 0);
  return reads && fixed_input(graph, node, 1) != nullptr &&
         (!has_input(node, 2) || fixed_input(graph, node, 2) != nullptr);
}

void follow(const Graph& graph, NodeId id, ValueId from, Levels& found, std::vector<ValueId>& open) {
  const Node& node = graph.node(id);
  if (is_end(graph, node, from)) {
    found.ends.insert(id);
    return;
  }
  const bool moves = keeps_levels(node) && (node.inputs[0] == from || node.outputs[0] == from || joins_levels(node));
  if (!moves || (traits_of(node).pads_with_least && node.outputs.size() != 1)) {
    found.free = false;
    return;
  }
  open.insert(open.end(), node.outputs.begin(), node.outputs.end());
  open.push_back(node.inputs[0]);
  if (joins_levels(node)) open.insert(open.end(), node.inputs.begin(), node.inputs.end());
}

Levels levels_of(const Graph& graph, ValueId start) {
  Levels found;
  std::vector<ValueId> open{start};
  while (!open.empty() && found.free) {
    const ValueId id = open.back();
    open.pop_back();
    if (id == kNoValue || !found.values.insert(id).second) continue;
    const NodeId maker = graph.value(id).producer;
    found.free = maker != kNoNode && !graph.is_output(id) && graph.value(id).type == DataType::kU8;
    if (!found.free) break;
    follow(graph, maker, id, found, open);
    for (const NodeId reader : graph.consumers(id)) follow(graph, reader, id, found, open);
  }
  return found;
}

bool touches_unsigned_layer(const Graph& graph, const Levels& levels, bool all_signed) {
  const auto is_unsigned = [&](NodeId id, ValueId value) {
    const Node& node = graph.node(id);
    return is_layer(node) && (value == kNoValue || node.inputs[0] == value) &&
           weights_of(graph, node, all_signed) == Weights::kUnsigned;
  };
  return std::ranges::any_of(levels.ends, [&](NodeId end) {
    const Node& node = graph.node(end);
    if (node.op_type == "DequantizeLinear") {
      return std::ranges::any_of(graph.consumers(node.outputs[0]),
                                 [&](NodeId reader) { return is_unsigned(reader, node.outputs[0]); });
    }
    NodeId maker = graph.value(node.inputs[0]).producer;
    if (maker != kNoNode && is_clamp(graph.node(maker))) {
      maker = graph.value(graph.node(maker).inputs[0]).producer;
    }
    return maker != kNoNode && is_unsigned(maker, kNoValue);
  });
}

void sign(Graph& graph, const Levels& levels) {
  for (const ValueId id : levels.values) graph.set_type_and_shape(id, DataType::kI8, graph.value(id).shape);
  for (const NodeId id : levels.ends) {
    const Node& node = graph.node(id);
    Tensor zero(DataType::kU8, fixed_input(graph, node, 1)->shape());
    if (has_input(node, 2)) zero = *fixed_input(graph, node, 2);
    const ValueId made = graph.add_constant("zero_point", less_128(zero));
    if (node.inputs.size() < 3) graph.resize_inputs(id, 3);
    graph.set_input(id, 2, made);
    graph.attributes(id).remove("output_dtype");
  }
}

// DequantizeLinear(graph input of uint8) -> layer: the same numbers once more as int8 levels.
bool sign_input(Graph& graph, NodeId id, bool all_signed) {
  const Node& layer = graph.node(id);
  if (weights_of(graph, layer, all_signed) != Weights::kSigned) return false;
  const NodeId reader = producer_of(graph, layer.inputs[0], {"DequantizeLinear"});
  if (reader == kNoNode) return false;
  const Node& dequantize = graph.node(reader);
  const ValueId levels = dequantize.inputs[0];
  const auto numbers = quantization_at(graph, dequantize, 1);
  const bool given = graph.is_input(levels) && graph.constant(levels) == nullptr;
  if (!given || graph.value(levels).type != DataType::kU8 || !numbers || !std::isnormal(numbers->scale) ||
      !(numbers->scale > 0) || fixed_input(graph, dequantize, 1) == nullptr) {
    return false;
  }
  const ValueId scale = dequantize.inputs[1];
  const auto zero = static_cast<std::int8_t>(numbers->zero_point - kShift);
  const ValueId zero_point = graph.add_constant("zero_point", Tensor::of<std::int8_t>({}, {zero}));
  const auto shape = graph.value(graph.node(id).inputs[0]).shape;
  const ValueId signed_levels =
      ops::insert_before(graph, id, "QuantizeLinear", {graph.node(id).inputs[0], scale, zero_point}, {}, DataType::kI8);
  graph.set_type_and_shape(signed_levels, DataType::kI8, shape);
  const ValueId real =
      ops::insert_before(graph, id, "DequantizeLinear", {signed_levels, scale, zero_point}, {}, DataType::kF32);
  graph.set_type_and_shape(real, DataType::kF32, shape);
  graph.set_input(id, 0, real);
  return true;
}

bool has_signed_layer(const Graph& graph, bool all_signed) {
  return std::ranges::any_of(graph.nodes(), [&](NodeId id) {
    return is_layer(graph.node(id)) && weights_of(graph, graph.node(id), all_signed) == Weights::kSigned;
  });
}

}  // namespace

Result<int> sign_activations(Graph& graph, PassBudget& budget) {
  int count = 0;
  const bool all_signed = all_can_be_signed(graph);
  if (all_signed) count = rewrite_nodes(graph, budget, {"DequantizeLinear"}, sign_weights);
  if (!has_signed_layer(graph, all_signed)) return count;
  count += rewrite_nodes(graph, budget, {"QuantizeLinear"}, [&](Graph& changed, NodeId id) {
    const ValueId value = changed.node(id).outputs[0];
    if (changed.value(value).type != DataType::kU8) return false;
    const Levels levels = levels_of(changed, value);
    if (!levels.free || touches_unsigned_layer(changed, levels, all_signed)) return false;
    sign(changed, levels);
    return true;
  });
  return count + rewrite_nodes(graph, budget, is_layer,
                               [&](Graph& changed, NodeId id) { return sign_input(changed, id, all_signed); });
}

}  // namespace kinglet::engine::passes
