// SPDX-License-Identifier: Apache-2.0
// Before:     y, mask = Dropout(x, ratio, training_mode)
// After:      every reader of y reads x
// Conditions: training_mode absent or constant false; nobody reads the mask.
#include "engine/passes/rewrite.h"

namespace kinglet::engine::passes {
namespace {

bool is_inference(const Graph& graph, const Node& node) {
  if (!has_input(node, 2)) return true;
  const Tensor* training = fixed_input(graph, node, 2);
  return training != nullptr && training->type() == DataType::kBool && training->element_count() == 1 &&
         !training->data<bool>()[0];
}

bool is_unused(const Graph& graph, const Node& node, std::size_t output) {
  if (output >= node.outputs.size() || node.outputs[output] == kNoValue) return true;
  return graph.consumers(node.outputs[output]).empty() && !graph.is_output(node.outputs[output]);
}

bool drop(Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (!is_inference(graph, node) || !is_unused(graph, node, 1)) return false;
  return bypass_node(graph, id, node.inputs[0]);
}

}  // namespace

const NodePass eliminate_dropout{{"Dropout"}, drop};

}  // namespace kinglet::engine::passes
