// SPDX-License-Identifier: Apache-2.0
// Before:     y = Pad(x, pads, value, axes); z = Conv(y, w, b) {pads=p}
// After:      z = Conv(x, w, b) {pads=p + pads}
// Conditions: y is read by this node alone, as its data, and is no graph output; mode constant, value 0 or absent;
//             pads are constant, >= 0 and on spatial axes only; the convolution's auto_pad is NOTSET (or VALID: p =
//             0).
#include "engine/passes/padding.h"
#include "engine/passes/rewrite.h"

namespace kinglet::engine::passes {
namespace {

bool fuse(Graph& graph, NodeId id) {
  const NodeId pad = inner_producer(graph, graph.node(id).inputs[0], {"Pad"});
  if (pad == kNoNode) return false;
  const std::optional<SpatialPad> match = match_spatial_pad(graph, graph.node(pad));
  if (!match || match->value != 0.0F) return false;
  const std::optional<std::vector<std::int64_t>> own = explicit_pads(graph.node(id), match->begin_end.size());
  if (!own) return false;
  set_pads(graph, id, *own, match->begin_end);
  graph.set_input(id, 0, graph.node(pad).inputs[0]);
  graph.remove_node(pad);
  return true;
}

}  // namespace

const NodePass fuse_pad_into_conv{{"Conv"}, fuse};

}  // namespace kinglet::engine::passes
