// SPDX-License-Identifier: Apache-2.0
// Why: what between DequantizeLinear and QuantizeLinear can run in integers, and why the rest cannot: fuse_quantized
// rewrites by it, `kinglet inspect` tells it.
#pragma once

#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/ops/levels.h"
#include "engine/passes/bounds.h"
#include "engine/passes/narrow_weight.h"
#include "engine/passes/rewrite.h"

namespace kinglet::engine {

// What was asked for, or why it is not there, in words that follow "runs in float: ".
template <typename T>
using OrReason = std::expected<T, std::string_view>;

// A computed 8-bit tensor as a DequantizeLinear reads it.
struct QuantizedInput {
  NodeId dequantize = kNoNode;
  DataType type = DataType::kI8;
  LinearQuantization numbers;
};

// What a result is quantised to: the QuantizeLinear and the bounds in front of it.
struct QuantizedTarget {
  ValueId made = kNoValue;  // what the operator makes
  NodeId bound = kNoNode;   // the Relu or Clip, if any
  Bounds bounds;
  DataType type = DataType::kI8;
  LinearQuantization numbers;
};
[[nodiscard]] OrReason<QuantizedTarget> quantized_target(const Graph& graph, NodeId quantize);

struct QuantizedWeight {
  Tensor levels;  // shares the graph's numbers, or is narrowed
  ValueId value = kNoValue, scale = kNoValue, zero_point = kNoValue;
  std::vector<float> scales;       // one, or one for each output channel
  std::vector<std::int64_t> wide;  // output channels that `levels` holds no longer as they are (narrow_weight.h)
};

// Along which a layer's weight has its output channels.
[[nodiscard]] std::size_t channel_axis(const Node& layer);
// The constant weight of uint8 that a layer's DequantizeLinear reads, as int8; nothing where that cannot be, or where
// WideChannels would be needed and does not take the layer.
[[nodiscard]] std::optional<NarrowWeight> narrow_weight(const Graph& graph, const Node& layer);

// A Conv, Gemm or MatMul of 8-bit numbers. Its sums fit 32 bits whatever its input is.
struct QuantizedLayer {
  QuantizedInput x;
  QuantizedWeight w;
  std::size_t channels = 0;  // of the result
};
[[nodiscard]] OrReason<QuantizedLayer> quantized_layer(const Graph& graph, const Node& node);
// The same, with a result that `to` can take.
[[nodiscard]] OrReason<QuantizedLayer> quantized_layer(const Graph& graph, const Node& node, const QuantizedTarget& to);

// The layer's bias as real numbers, one a channel; empty for none.
[[nodiscard]] OrReason<std::vector<double>> bias_numbers(const Graph& graph, const Node& node, std::size_t channels);
// The bias as levels of scale x * scale w; an empty tensor for none.
[[nodiscard]] OrReason<Tensor> bias_levels(const Graph& graph, const Node& node, const QuantizedLayer& layer);

// The inputs of a node that is no layer, with a result that `to` can take.
[[nodiscard]] OrReason<std::vector<QuantizedInput>> quantized_inputs(const Graph& graph, const Node& node,
                                                                     const QLinearForm& form,
                                                                     const QuantizedTarget& to);

struct FloatNode {
  std::string name, op_type;
  std::string reason;
};
// Of a graph that the passes for sessions up to fuse_quantized have been through: layers, and nodes between 8-bit
// values, that stayed in float. None in a model without levels.
[[nodiscard]] std::vector<FloatNode> nodes_in_float(const Graph& graph);

}  // namespace kinglet::engine
