// SPDX-License-Identifier: Apache-2.0
// Before:     y = Reshape(Transpose(Reshape(x [N,C,H,W] -> [N,g,C/g,H,W])) {perm=[0,2,1,3,4]} -> [N,C,H,W])
// After:      y = kinglet::ChannelShuffle(x) {groups=g}
// Conditions: all shapes are static; inner values are read once and are no graph output. Plan only: ONNX has no such
//             operator.
#include <algorithm>

#include "engine/passes/product.h"

namespace kinglet::engine::passes {
namespace {

bool fuse(Graph& graph, NodeId id) {
  const Node& last = graph.node(id);
  const NodeId turn = inner_producer(graph, last.inputs[0], {"Transpose"});
  const NodeId first = turn == kNoNode ? kNoNode : inner_producer(graph, graph.node(turn).inputs[0], {"Reshape"});
  if (first == kNoNode || graph.node(turn).attributes.get_ints("perm") != std::vector<std::int64_t>{0, 2, 1, 3, 4}) {
    return false;
  }
  const ValueId x = graph.node(first).inputs[0];
  const std::optional<Shape>& from = graph.value(x).shape;
  const std::optional<Shape>& split = graph.value(graph.node(first).outputs[0]).shape;
  if (!from || !split || !is_static(*from) || from->size() != 4 || graph.value(last.outputs[0]).shape != from) {
    return false;
  }
  const std::int64_t groups = (*split)[1];
  if (*split != Shape{(*from)[0], groups, (*split)[2], (*from)[2], (*from)[3]} || groups * (*split)[2] != (*from)[1]) {
    return false;
  }
  become_function(graph, id, "kinglet", "ChannelShuffle", x);
  graph.attributes(id).set("groups", groups);
  return true;
}

}  // namespace

const NodePass fuse_channel_shuffle{{"Reshape"}, fuse};

}  // namespace kinglet::engine::passes
