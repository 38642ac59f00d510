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
    const NodeId transpose = inner_producer(graph, graph.node(id).inputs[side], {"Transpose"});
    if (transpose == kNoNode) continue;
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

const NodePass fuse_transpose_into_gemm{{"Gemm"}, fuse};

}  // namespace kinglet::engine::passes
