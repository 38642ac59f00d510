// SPDX-License-Identifier: Apache-2.0
// Why: what XNNPACK does by itself on a model: a subgraph written straight against its interface, with none of the
// engine's plan, layouts, checks or buffers. docs/benchmarks.md compares the session with it.
#pragma once

#include <pthreadpool.h>
#include <xnnpack.h>

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "engine/graph/graph.h"

namespace kinglet::bench {

// The nodes of MobileNets, ResNets, SqueezeNet, EfficientNets and RegNets (add_node), from one image to one row of
// scores. Throws std::runtime_error for anything else. Thread-bound.
class BareSubgraph {
 public:
  BareSubgraph(const engine::Graph& graph, int threads);
  ~BareSubgraph();
  BareSubgraph(const BareSubgraph&) = delete;
  BareSubgraph& operator=(const BareSubgraph&) = delete;

  [[nodiscard]] std::span<float> input() { return input_; }  // [N,H,W,C]
  [[nodiscard]] std::span<const float> output() const { return output_; }
  void run();

 private:
  void add_node(const engine::Graph& graph, const engine::Node& node);
  void add_conv(const engine::Graph& graph, const engine::Node& node);
  void add_dense(const engine::Graph& graph, const engine::Node& node, bool out_in);
  void add_unary(const engine::Graph& graph, const engine::Node& node, xnn_unary_operator type,
                 xnn_unary_params params = {});
  void add_clip(const engine::Graph& graph, const engine::Node& node);
  void add_hard_sigmoid(const engine::Graph& graph, const engine::Node& node);
  void add_binary(const engine::Graph& graph, const engine::Node& node);
  void add_max_pool(const engine::Graph& graph, const engine::Node& node);
  void add_concat(const engine::Graph& graph, const engine::Node& node);
  void add_reshape(const engine::Graph& graph, const engine::Node& node);
  void add_mean(const engine::Graph& graph, const engine::Node& node);
  [[nodiscard]] std::uint32_t value(const engine::Graph& graph, engine::ValueId id);
  [[nodiscard]] std::uint32_t weights(std::vector<float> numbers, const std::vector<std::size_t>& dims);
  void clip_of(const engine::Graph& graph, const engine::Node& node, float& min, float& max, engine::ValueId& output);

  xnn_subgraph_t subgraph_ = nullptr;
  xnn_runtime_t runtime_ = nullptr;
  pthreadpool_t pool_ = nullptr;
  std::vector<std::vector<float>> weights_;
  std::vector<std::uint32_t> ids_;  // by value
  std::vector<float> input_, output_;
  engine::ValueId graph_input_{}, graph_output_{};
};

}  // namespace kinglet::bench
