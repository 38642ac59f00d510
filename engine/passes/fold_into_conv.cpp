// SPDX-License-Identifier: Apache-2.0
#include "engine/passes/fold_into_conv.h"

#include <utility>

namespace kinglet::engine {

bool fold_into_conv(Graph& graph, NodeId id, bool either_side,
                    const std::function<bool(NodeId conv, std::vector<double> numbers)>& fold) {
  const Node& node = graph.node(id);
  if (has_fused_clip(node)) return false;
  std::optional<ConvAndConstant> match = match_conv_and_constant(graph, node, either_side);
  if (!match) return false;
  const ValueId output = graph.node(match->conv).outputs[0];
  if (!can_replace(graph, node.outputs[0], output)) return false;
  if (!fold(match->conv, std::move(match->numbers))) return false;
  return bypass_node(graph, id, output);
}

}  // namespace kinglet::engine
