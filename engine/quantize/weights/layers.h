// SPDX-License-Identifier: Apache-2.0
// Why: what quantisation calls a layer: Conv, Gemm or MatMul with constant float weights, and where its channels lie.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/error.h"
#include "engine/graph/graph.h"

namespace kinglet::engine {

// Weights as [channel][number]: W[c, ...] of Conv, of Gemm with transB; W[..., c] of Gemm and MatMul.
struct WeightView {
  std::size_t axis = 0;      // of the output channels
  std::size_t channels = 0;  // of the output
  std::size_t inner = 0;     // numbers a channel
};

// Nothing when the node is no layer that runs in integers: other operators, computed or non-float weights, other ranks,
// a Gemm with factors.
[[nodiscard]] std::optional<WeightView> layer_of(const Graph& graph, NodeId id);

// The weight's numbers by channel, and back.
[[nodiscard]] std::vector<float> by_channel(const Tensor& weight, const WeightView& view);
[[nodiscard]] Tensor from_channels(const Tensor& like, const WeightView& view, const std::vector<float>& numbers);

// The bias as numbers (zeros when there is none); nothing when it is computed or of another shape.
[[nodiscard]] std::optional<std::vector<float>> bias_of(const Graph& graph, NodeId id, std::size_t channels);

// kUsage, with the nearest: a name of `asked` that `known` does not hold.
[[nodiscard]] Result<void> check_layer_names(const std::set<std::string>& asked,
                                             const std::vector<std::string_view>& known);

// The Relu or Clip that alone reads what the node makes; kNoNode without one.
[[nodiscard]] NodeId activation_behind(const Graph& graph, NodeId id);
// What the node and that activation make.
[[nodiscard]] ValueId result_of(const Graph& graph, NodeId id);

}  // namespace kinglet::engine
