// SPDX-License-Identifier: Apache-2.0
// Before:     m = GlobalAveragePool(x); s = Conv(m, w1, b1); r = Relu(s) or kinglet::Silu(s); e = Conv(r, w2, b2);
//             g = Sigmoid(e) or Clip(e, 0, 1); z = Mul(x, g)
// After:      z = kinglet::SqueezeExcite(x, w1, b1, w2, b2) {inner, gate}
// Conditions: m, s, r, e and g are read by these nodes alone, are no graph outputs and carry no bounds; x is f32 of
// four
//             axes; both convolutions are of single pixels without padding, their weights and biases fixed f32
//             constants (no bias is one of zeros). Session only: ONNX has no such operator.
#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "engine/passes/bounds.h"
#include "engine/passes/product.h"

namespace kinglet::engine::passes {
namespace {

constexpr float kNoBound = std::numeric_limits<float>::infinity();

bool clamps_to(const Graph& graph, const Node& node, float min, float max) {
  const std::optional<Bounds> bounds = bounds_of(graph, node);
  return bounds && bounds->min == min && bounds->max == max;
}

bool is_silu(const Node& node) { return node.domain == "kinglet" && node.op_type == "Silu"; }

// A convolution of one pixel, which no window leaves.
struct PixelProduct {
  ValueId input = kNoValue, weight = kNoValue, bias = kNoValue;
  NodeId node = kNoNode;
};

std::optional<PixelProduct> match_pixel_product(const Graph& graph, ValueId result) {
  const NodeId id = inner_producer(graph, result, {"Conv"});
  if (id == kNoNode) return std::nullopt;
  const Node& node = graph.node(id);
  const Tensor* weight = fixed_input(graph, node, 1);
  const bool is_pixel = weight != nullptr && weight->type() == DataType::kF32 && weight->shape().size() == 4 &&
                        weight->shape()[2] == 1 && weight->shape()[3] == 1;
  if (!is_pixel || node.attributes.get_int("group", 1) != 1) return std::nullopt;
  if (std::ranges::any_of(node.attributes.get_ints("pads"), [](std::int64_t pad) { return pad != 0; }))
    return std::nullopt;
  if (has_input(node, 2) && fixed_input(graph, node, 2) == nullptr) return std::nullopt;
  return PixelProduct{.input = node.inputs[0],
                      .weight = node.inputs[1],
                      .bias = has_input(node, 2) ? node.inputs[2] : kNoValue,
                      .node = id};
}

struct Gate {
  PixelProduct squeeze, excite;
  std::string inner, gate;
};

// What `result` is of `x`.
std::optional<Gate> match_gate(const Graph& graph, ValueId result, ValueId x) {
  const NodeId gate = inner_producer(graph, result, {"Sigmoid", "Clip"});
  if (gate == kNoNode) return std::nullopt;
  const bool clips = is_op(graph.node(gate), "Clip");
  if (clips && !clamps_to(graph, graph.node(gate), 0, 1)) return std::nullopt;
  const auto excite = match_pixel_product(graph, graph.node(gate).inputs[0]);
  if (!excite) return std::nullopt;
  const NodeId inner =
      inner_producer(graph, excite->input, [](const Node& node) { return is_clamp(node) || is_silu(node); });
  if (inner == kNoNode) return std::nullopt;
  const bool silu = is_silu(graph.node(inner));
  if (!silu && !clamps_to(graph, graph.node(inner), 0, kNoBound)) return std::nullopt;
  const auto squeeze = match_pixel_product(graph, graph.node(inner).inputs[0]);
  if (!squeeze) return std::nullopt;
  const NodeId mean = inner_producer(graph, squeeze->input, {"GlobalAveragePool"});
  if (mean == kNoNode || graph.node(mean).inputs[0] != x) return std::nullopt;
  return Gate{
      .squeeze = *squeeze, .excite = *excite, .inner = silu ? "Silu" : "Relu", .gate = clips ? "Clip" : "Sigmoid"};
}

ValueId bias_of(Graph& graph, const PixelProduct& product) {
  if (product.bias != kNoValue) return product.bias;
  const Dim outputs = graph.constant(product.weight)->shape()[0];
  return graph.add_constant(graph.node(product.node).name + "_bias", Tensor(DataType::kF32, {outputs}));
}

bool fuse(Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (has_fused_clip(node)) return false;
  for (const std::size_t side : {0U, 1U}) {
    const ValueId x = node.inputs[side];
    const Value& value = graph.value(x);
    if (value.type != DataType::kF32 || !value.shape || value.shape->size() != 4) continue;
    const std::optional<Gate> gate = match_gate(graph, node.inputs[1 - side], x);
    if (!gate) continue;
    const std::vector<ValueId> inputs{x, gate->squeeze.weight, bias_of(graph, gate->squeeze), gate->excite.weight,
                                      bias_of(graph, gate->excite)};
    become_function(graph, id, "kinglet", "SqueezeExcite", x);
    graph.resize_inputs(id, inputs.size());
    for (std::size_t i = 1; i < inputs.size(); ++i) graph.set_input(id, i, inputs[i]);
    graph.attributes(id).set("inner", gate->inner);
    graph.attributes(id).set("gate", gate->gate);
    return true;
  }
  return false;
}

}  // namespace

const NodePass fuse_squeeze_excite{{"Mul"}, fuse};

}  // namespace kinglet::engine::passes
