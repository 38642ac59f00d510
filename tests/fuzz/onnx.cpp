// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "engine/onnx/load.h"
#include "engine/onnx/save.h"
#include "engine/ops/op.h"
#include "engine/passes/runner.h"
#include "tests/fuzz/targets.h"

namespace kinglet::fuzz {
namespace {

using namespace engine;

constexpr std::size_t kMostNodes = 64;
constexpr std::int64_t kMostElements = 1 << 14;

bool is_small(const std::optional<Shape>& shape) {
  return shape && is_static(*shape) && element_count(*shape).value_or(kMostElements + 1) <= kMostElements;
}

// Only what is quick to compute: a file may ask for gigabytes with right, and gets a time limit elsewhere.
bool is_small(const Graph& graph) {
  if (graph.node_count() > kMostNodes) return false;
  for (const GraphInput& input : graph.inputs()) {
    if (!is_small(graph.value(input.value).shape)) return false;
  }
  for (const NodeId id : graph.nodes()) {
    const Node& node = graph.node(id);
    const auto small = [&](ValueId value) { return value == kNoValue || is_small(graph.value(value).shape); };
    if (!std::ranges::all_of(node.inputs, small) || !std::ranges::all_of(node.outputs, small)) return false;
  }
  return true;
}

void evaluate(const Graph& graph) {
  std::vector<Tensor> inputs;
  for (const GraphInput& input : graph.inputs()) {
    inputs.emplace_back(graph.value(input.value).type, *graph.value(input.value).shape);
  }
  static_cast<void>(evaluate_graph(graph, inputs));
}

}  // namespace

void onnx(std::span<const std::byte> bytes) {
  Result<Graph> graph = load_model(bytes);
  if (!graph || !is_small(*graph)) return;
  evaluate(*graph);
  if (!run_passes(*graph, {})) return;
  evaluate(*graph);
  static_cast<void>(to_onnx_bytes(*graph));
}

}  // namespace kinglet::fuzz
