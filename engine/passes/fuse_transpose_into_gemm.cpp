// SPDX-License-Identifier: Apache-2.0
// Before:     y = Transpose(x) {perm=[1,0]}; z = Gemm(y, b, c), or y as the second factor
// After:      z = Gemm(x, b, c) {transA=1 - transA}, or transB
// Conditions: y is a matrix, read by this node alone, once, and no graph output.
#include <array>
#include <string>

#include "engine/passes/rewrite.h"

namespace kinglet::engine::passes {
namespace {

bool fuse(Graph& graph, NodeId id) {
  constexpr std::array<const char*, 2> kNames{"transA", "transB"};
  for (std::size_t side = 0; side < kNames.size(); ++side) {
    const ValueId turned = graph.node(id).inputs[side];
    const NodeId transpose = producer_of(graph, turned, {"Transpose"});
    if (transpose == kNoNode || !graph.has_single_use(turned)) continue;
    const Node& node = graph.node(transpose);
    const std::optional<Shape>& shape = graph.value(node.inputs[0]).shape;
    const std::vector<std::int64_t> perm = node.attributes.get_ints("perm");
    if (!shape || shape->size() != 2 || (!perm.empty() && perm != std::vector<std::int64_t>{1, 0})) continue;
    const std::int64_t now = graph.node(id).attributes.get_int(kNames[side], 0) != 0 ? 0 : 1;
    graph.attributes(id).set(kNames[side], now);
    graph.set_input(id, side, node.inputs[0]);
    graph.remove_node(transpose);
    return true;
  }
  return false;
}

}  // namespace

Result<int> fuse_transpose_into_gemm(Graph& graph, PassBudget& budget) {
  return rewrite_nodes(graph, budget, {"Gemm"}, fuse);
}
}  // namespace kinglet::engine::passes
