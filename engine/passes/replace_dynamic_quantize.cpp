// SPDX-License-Identifier: Apache-2.0
// Before:     q, s, z = DynamicQuantizeLinear(x); y = Cast(MatMulInteger(q, w, z, wz)) * (s * ws), or ConvInteger
// After:      y = com.microsoft's DynamicQuantizeMatMul(x, w, ws), where XNNPACK has it: w int8 around 0 [K,N];
//             else y = MatMul(x, DequantizeLinear(w, ws, wz)), Conv likewise
// Conditions: what lies between is read by one node alone and is no graph output; w, ws and wz are constant; ws is one
//             number, or one a column of w. In the second form x is not rounded at all: answers are nearer to those of
//             the float model than the file's. Plan only: the integers of these chains have no kernels here.
#include <algorithm>

#include "engine/ops/normalize.h"
#include "engine/ops/op.h"
#include "engine/passes/rewrite.h"

namespace kinglet::engine::passes {
namespace {

constexpr std::int64_t kOnnxFloat = 1;

struct Chain {
  NodeId product = kNoNode;  // MatMulInteger or ConvInteger
  NodeId cast = kNoNode;
  NodeId scales = kNoNode;  // s * ws
  ValueId x = kNoValue, ws = kNoValue;
};

std::optional<Chain> chain_at(const Graph& graph, const Node& mul, std::size_t side) {
  Chain out;
  out.cast = producer_of(graph, mul.inputs[side], {"Cast"});
  out.scales = producer_of(graph, mul.inputs[1 - side], {"Mul"});
  if (out.cast == kNoNode || out.scales == kNoNode) return std::nullopt;
  const Node& cast = graph.node(out.cast);
  out.product = producer_of(graph, cast.inputs[0], {"MatMulInteger", "ConvInteger"});
  if (out.product == kNoNode || cast.attributes.get_int("to", 0) != kOnnxFloat) return std::nullopt;
  if (!graph.has_single_use(mul.inputs[0]) || !graph.has_single_use(mul.inputs[1]) ||
      !graph.has_single_use(cast.inputs[0])) {
    return std::nullopt;
  }
  const Node& product = graph.node(out.product);
  const NodeId quantize = producer_of(graph, product.inputs[0], {"DynamicQuantizeLinear"});
  if (quantize == kNoNode || !has_input(product, 2)) return std::nullopt;
  const Node& levels = graph.node(quantize);
  if (levels.outputs.size() < 3 || product.inputs[2] != levels.outputs[2]) return std::nullopt;
  const Node& scales = graph.node(out.scales);
  const std::size_t own = scales.inputs[0] == levels.outputs[1] ? 0 : 1;
  if (scales.inputs[own] != levels.outputs[1] || fixed_input(graph, scales, 1 - own) == nullptr) return std::nullopt;
  out.x = levels.inputs[0];
  out.ws = scales.inputs[1 - own];
  return out;
}

bool lies_around_0(const Graph& graph, const Node& product) {
  const Tensor* zero = fixed_input(graph, product, 3);
  if (!has_input(product, 3)) return true;
  return zero != nullptr && std::ranges::all_of(zero->bytes(), [](std::byte level) { return level == std::byte{0}; });
}

// One scale, or one a column of [K,N].
bool scales_fit(const Tensor& scale, const Tensor& weight, bool matrix) {
  if (scale.type() != DataType::kF32) return false;
  if (scale.element_count() == 1) return true;
  return matrix && scale.shape().size() == 1 && scale.shape()[0] == weight.shape().back();
}

bool replace(Graph& graph, NodeId id) {
  for (const std::size_t side : {0U, 1U}) {
    const auto chain = chain_at(graph, graph.node(id), side);
    if (!chain) continue;
    const Node product = graph.node(chain->product);
    const Tensor* weight = fixed_input(graph, product, 1);
    const Tensor* zero = fixed_input(graph, product, 3);
    const bool matrix = is_op(product, "MatMulInteger");
    if (weight == nullptr || (has_input(product, 3) && zero == nullptr)) return false;
    if (matrix && weight->shape().size() != 2) return false;
    if (!scales_fit(*fixed_constant(graph, chain->ws), *weight, matrix)) return false;
    const bool one_zero = zero == nullptr || zero->element_count() == fixed_constant(graph, chain->ws)->element_count();
    if (!one_zero) return false;
    if (matrix && weight->type() == DataType::kI8 && lies_around_0(graph, product)) {
      ops::become(graph, id, "DynamicQuantizeMatMul", {chain->x, product.inputs[1], chain->ws}, {});
      graph.set_op_type(id, "com.microsoft", "DynamicQuantizeMatMul");
    } else {
      std::vector<ValueId> inputs{product.inputs[1], chain->ws};
      if (has_input(product, 3)) inputs.push_back(product.inputs[3]);
      Attributes axis;
      if (fixed_constant(graph, chain->ws)->element_count() > 1) axis.set("axis", std::int64_t{1});
      const ValueId real =
          ops::insert_before(graph, id, "DequantizeLinear", std::move(inputs), std::move(axis), DataType::kF32);
      graph.set_type_and_shape(real, DataType::kF32, graph.value(product.inputs[1]).shape);
      ops::become(graph, id, matrix ? "MatMul" : "Conv", {chain->x, real}, product.attributes);
    }
    for (const NodeId gone : {chain->cast, chain->product, chain->scales}) graph.remove_node(gone);
    return true;
  }
  return false;
}

}  // namespace

const NodePass replace_dynamic_quantize{{"Mul"}, replace};

}  // namespace kinglet::engine::passes
