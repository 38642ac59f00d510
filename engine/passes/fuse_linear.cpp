// SPDX-License-Identifier: Apache-2.0
// Before:     y = MatMul(x, w); z = Add(y, b) or Add(b, y)
// After:      z = kinglet::Linear(x, w, b)
// Conditions: y is read by this node alone and is no graph output; neither node carries bounds; x has rank 2 or more; w
//             is a fixed f32 matrix [K,N] and b a fixed f32 row [N] or [1,..,N]. Plan only: ONNX has Gemm for rank 2
//             alone.
#include "engine/passes/biased_matmul.h"

namespace kinglet::engine::passes {
namespace {

bool fuse(Graph& graph, NodeId id) {
  const std::optional<BiasedMatMul> match = match_biased_matmul(graph, graph.node(id));
  if (!match) return false;
  const Node& matmul = graph.node(match->matmul);
  const Tensor& bias = *graph.constant(match->bias);
  const Tensor* weight = fixed_input(graph, matmul, 1);
  const std::optional<Shape>& x = graph.value(matmul.inputs[0]).shape;
  if (weight == nullptr || weight->type() != DataType::kF32 || weight->shape().size() != 2 || !x || x->size() < 2) {
    return false;
  }
  const Dim columns = weight->shape()[1];
  if (bias.type() != DataType::kF32 || bias.element_count() != columns || !is_row(bias, columns, x->size()))
    return false;
  const ValueId row = bias.shape().size() == 1
                          ? match->bias
                          : graph.add_constant(graph.value(match->bias).name, bias.reshaped({columns}));
  become_layer(graph, id, *match, row, "kinglet", "Linear");
  return true;
}

}  // namespace

const NodePass fuse_linear{{"Add"}, fuse};

}  // namespace kinglet::engine::passes
