// SPDX-License-Identifier: Apache-2.0
#include "engine/quantize/equalize.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "engine/passes/rewrite.h"
#include "engine/quantize/weights/layers.h"

namespace kinglet::engine {
namespace {

constexpr int kRounds = 20;
constexpr double kEnough = 1.01;     // a round that changes no factor by more ends it
constexpr double kMostFactor = 1e4;  // of one round: dead channels stay

struct Pair {
  NodeId first, second;
};

// The layer that alone reads the result of `id`, through functions that let positive factors pass.
NodeId next_layer(const Graph& graph, NodeId id) {
  ValueId value = graph.node(id).outputs[0];
  for (int steps = 0; steps < 2; ++steps) {
    if (!graph.has_single_use(value)) return kNoNode;
    const NodeId reader = graph.consumers(value).front();
    const Node& node = graph.node(reader);
    if (node.inputs[0] != value) return kNoNode;
    if (layer_of(graph, reader)) return reader;
    const Traits& traits = traits_of(node);
    if (!traits.homogeneous || traits.elementwise != Elementwise::kUnary) return kNoNode;
    value = node.outputs[0];
  }
  return kNoNode;
}

bool is_depthwise(const Graph& graph, const Node& node) {
  const Shape& weight = graph.constant(node.inputs[1])->shape();
  return weight[1] == 1 && node.attributes.get_int("group", 1) == weight[0];
}

// Both are convolutions whose channels meet one to one, of a single group or depthwise.
bool fits(const Graph& graph, const Pair& pair) {
  const Node& first = graph.node(pair.first);
  const Node& second = graph.node(pair.second);
  if (!is_op(first, "Conv") || !is_op(second, "Conv")) return false;
  const Dim channels = graph.constant(first.inputs[1])->shape()[0];
  const Shape& weight = graph.constant(second.inputs[1])->shape();
  const auto group = [](const Node& node) { return node.attributes.get_int("group", 1); };
  const bool meets = is_depthwise(graph, second) ? weight[0] == channels : group(second) == 1 && weight[1] == channels;
  return meets && bias_of(graph, pair.first, static_cast<std::size_t>(channels)).has_value();
}

// The largest |weight| that goes into each output channel, or comes from each input channel.
std::vector<double> largest(const Tensor& weight, bool of_inputs) {
  const Shape& shape = weight.shape();
  const auto outer = static_cast<std::size_t>(shape[0]);
  const auto inputs = static_cast<std::size_t>(shape[1]);
  const std::size_t window = static_cast<std::size_t>(weight.element_count()) / (outer * inputs);
  std::vector<double> most(of_inputs ? inputs : outer);
  const auto numbers = weight.data<float>();
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    double& at = most[of_inputs ? i / window % inputs : i / (inputs * window)];
    at = std::max(at, std::abs(static_cast<double>(numbers[i])));
  }
  return most;
}

Tensor scaled(const Tensor& weight, const std::vector<double>& factor, bool of_inputs) {
  const Shape& shape = weight.shape();
  const auto inputs = shape.size() > 1 ? static_cast<std::size_t>(shape[1]) : std::size_t{1};
  const std::size_t window =
      static_cast<std::size_t>(weight.element_count()) / (static_cast<std::size_t>(shape[0]) * inputs);
  Tensor out = weight;
  const auto numbers = out.mutable_data<float>();
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const double f = factor[of_inputs ? i / window % inputs : i / (inputs * window)];
    numbers[i] = static_cast<float>(numbers[i] * f);
  }
  return out;
}

// One round over a pair; the largest change of a factor.
double balance(Graph& graph, const Pair& pair) {
  const bool depthwise = is_depthwise(graph, graph.node(pair.second));
  const Tensor& first = *graph.constant(graph.node(pair.first).inputs[1]);
  const Tensor& second = *graph.constant(graph.node(pair.second).inputs[1]);
  const std::vector<double> out = largest(first, false);
  const std::vector<double> in = largest(second, !depthwise);
  std::vector<double> down(out.size(), 1.0), up(out.size(), 1.0);
  double change = 1;
  for (std::size_t c = 0; c < out.size(); ++c) {
    if (!(out[c] > 0) || !(in[c] > 0)) continue;
    const double factor = std::clamp(std::sqrt(out[c] * in[c]) / in[c], 1 / kMostFactor, kMostFactor);
    down[c] = 1 / factor;
    up[c] = factor;
    change = std::max({change, factor, 1 / factor});
  }
  Tensor smaller = scaled(first, down, false);
  Tensor larger = scaled(second, up, !depthwise);
  put_constant(graph, pair.first, 1, std::move(smaller), "weight");
  put_constant(graph, pair.second, 1, std::move(larger), "weight");
  if (has_input(graph.node(pair.first), 2)) {
    Tensor bias = scaled(*graph.constant(graph.node(pair.first).inputs[2]), down, false);
    put_constant(graph, pair.first, 2, std::move(bias), "bias");
  }
  return change;
}

void note_rescaled(Graph& graph, const std::vector<Pair>& pairs) {
  std::string names;
  for (const Pair& pair : pairs) {
    const ValueId made = graph.node(pair.first).outputs[0];
    const ValueId read = graph.node(pair.second).inputs[0];
    names += graph.value(made).name + '\n';
    if (read != made) names += graph.value(read).name + '\n';
  }
  graph.metadata.properties.emplace_back(std::string(kRescaledProperty), std::move(names));
}

}  // namespace

int equalize(Graph& graph) {
  std::vector<Pair> pairs;
  for (const NodeId id : graph.nodes()) {
    if (!layer_of(graph, id)) continue;
    const Pair pair{.first = id, .second = next_layer(graph, id)};
    if (pair.second != kNoNode && fits(graph, pair)) pairs.push_back(pair);
  }
  for (int round = 0; round < kRounds; ++round) {
    double change = 1;
    for (const Pair& pair : pairs) change = std::max(change, balance(graph, pair));
    if (change < kEnough) break;
  }
  if (!pairs.empty()) note_rescaled(graph, pairs);
  return static_cast<int>(pairs.size());
}

}  // namespace kinglet::engine
