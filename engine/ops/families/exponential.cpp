// SPDX-License-Identifier: Apache-2.0
// Activation functions made of exponentials, and their 8-bit forms. One input, output of the same type and shape.
// Computed in double.
#include <algorithm>
#include <cmath>

#include "engine/ops/common.h"
#include "engine/ops/families/elementwise.h"
#include "engine/ops/families/lower_quantized.h"
#include "engine/ops/families/table.h"
#include "engine/ops/rows.h"

namespace kinglet::engine::ops {
namespace {

// A function that XNNPACK has no operator for, made of several.
Result<bool> lower_function(SubgraphBuilder& builder, const Node& node, AddReal add) {
  const Operand x = KINGLET_TRY(builder.input(node.inputs[0], builder.layout(node.outputs[0])));
  const Operand y = KINGLET_TRY(builder.output(node.outputs[0]));
  KINGLET_TRY(add(builder, node, x, y));
  return true;
}

Result<void> evaluate_elu(const Node& node, Inputs inputs, std::span<Tensor> outputs) {
  const float alpha = node.attributes.get_float("alpha", 1.0F);
  return map_real(inputs, outputs, [=](double x) { return x < 0 ? alpha * std::expm1(x) : x; });
}

Result<bool> lower_elu(SubgraphBuilder& builder, const Graph& graph, NodeId id) {
  xnn_unary_params params{};
  params.elu.alpha = graph.node(id).attributes.get_float("alpha", 1.0F);
  if (!std::isnormal(params.elu.alpha) || params.elu.alpha <= 0) return false;
  return lower_unary(builder, graph, id, xnn_unary_elu, params);
}

Result<void> evaluate_selu(const Node& node, Inputs inputs, std::span<Tensor> outputs) {
  const float alpha = node.attributes.get_float("alpha", 1.67326319217681884765625F);
  const float gamma = node.attributes.get_float("gamma", 1.05070102214813232421875F);
  return map_real(inputs, outputs, [=](double x) { return gamma * (x > 0 ? x : alpha * std::expm1(x)); });
}

// Before opset 6 the defaults were rounded.
Result<void> normalize_selu(Graph& graph, NodeId id, std::int64_t opset) {
  if (opset >= 6) return {};
  Attributes& attributes = graph.attributes(id);
  if (attributes.find("alpha") == nullptr) attributes.set("alpha", 1.6732F);
  if (attributes.find("gamma") == nullptr) attributes.set("gamma", 1.0507F);
  return {};
}

Result<void> evaluate_celu(const Node& node, Inputs inputs, std::span<Tensor> outputs) {
  const float alpha = node.attributes.get_float("alpha", 1.0F);
  return map_real(inputs, outputs,
                  [=](double x) { return std::max(0.0, x) + std::min(0.0, alpha * std::expm1(x / alpha)); });
}

// alpha * elu(x / alpha), where dividing by alpha can neither overflow nor lose what is small.
bool is_elu_of_parts(const Node& node) {
  constexpr float kFarthest = 0x1p30F;
  const float alpha = node.attributes.get_float("alpha", 1.0F);
  return alpha >= 1 / kFarthest && alpha <= kFarthest;
}

Result<void> add_celu(SubgraphBuilder& builder, const Node& node, Operand x, Operand y) {
  xnn_unary_params params{};
  params.elu.alpha = 1;
  const float number = node.attributes.get_float("alpha", 1.0F);
  if (number == 1) return builder.unary(xnn_unary_elu, params, x, y);
  const Operand alpha = KINGLET_TRY(builder.scalar(number));
  const Operand part = KINGLET_TRY(builder.temporary(Dims(builder.dims(x))));
  const Operand bent = KINGLET_TRY(builder.temporary(Dims(builder.dims(x))));
  KINGLET_TRY(builder.binary(xnn_binary_divide, x, alpha, part));
  KINGLET_TRY(builder.unary(xnn_unary_elu, params, part, bent));
  return builder.binary(xnn_binary_multiply, bent, alpha, y);
}

Result<bool> lower_celu(SubgraphBuilder& builder, const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  return is_elu_of_parts(node) ? lower_function(builder, node, add_celu) : Result<bool>(false);
}

Result<bool> lower_qlinear_celu(SubgraphBuilder& builder, const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (!is_elu_of_parts(node)) return false;
  if (node.attributes.get_float("alpha", 1.0F) != 1) return lower_through_floats(builder, node, add_celu);
  xnn_unary_params params{};
  params.elu.alpha = 1;
  return lower_table(builder, node, xnn_unary_elu, params);
}

double softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }

Result<void> evaluate_softplus(const Node& /*node*/, Inputs inputs, std::span<Tensor> outputs) {
  return map_real(inputs, outputs, softplus);
}

Result<void> evaluate_mish(const Node& /*node*/, Inputs inputs, std::span<Tensor> outputs) {
  return map_real(inputs, outputs, [](double x) { return x * std::tanh(softplus(x)); });
}

// With e = exp(x), tanh(softplus(x)) = n / (n + 2) of n = e * (e + 2). From x = 20 on it is 1 to the last bit of a
// float, and no square overflows below.
Result<void> add_mish(SubgraphBuilder& builder, const Node& /*node*/, Operand x, Operand y) {
  constexpr float kEnough = 20;
  const Dims dims = builder.dims(x);
  const Operand most = KINGLET_TRY(builder.scalar(kEnough));
  const Operand two = KINGLET_TRY(builder.scalar(2));
  const auto [bounded, power, raised, above, below, gate] = KINGLET_TRY(builder.temporaries<6>(dims));
  KINGLET_TRY(builder.binary(xnn_binary_minimum, x, most, bounded));
  KINGLET_TRY(builder.unary(xnn_unary_exp, {}, bounded, power));
  KINGLET_TRY(builder.binary(xnn_binary_add, power, two, raised));
  KINGLET_TRY(builder.binary(xnn_binary_multiply, power, raised, above));
  KINGLET_TRY(builder.binary(xnn_binary_add, above, two, below));
  KINGLET_TRY(builder.binary(xnn_binary_divide, above, below, gate));
  return builder.binary(xnn_binary_multiply, x, gate, y);
}

Result<bool> lower_mish(SubgraphBuilder& builder, const Graph& graph, NodeId id) {
  return lower_function(builder, graph.node(id), add_mish);
}

Result<bool> lower_qlinear_mish(SubgraphBuilder& builder, const Graph& graph, NodeId id) {
  return lower_through_floats(builder, graph.node(id), add_mish);
}

}  // namespace

const OpParts kElu = each_number(infer_same<kFloats>, evaluate_elu, lower_elu);
const OpParts kSelu{.normalize = normalize_selu,
                    .infer = infer_same<kFloats>,
                    .evaluate = evaluate_selu,
                    .traits = {.elementwise = Elementwise::kUnary}};
const OpParts kCelu = each_number(infer_same<kFloats>, evaluate_celu, lower_celu);
const OpParts kQLinearCelu{.infer = infer_qlinear_unary,
                           .evaluate = evaluate_table<evaluate_celu>,
                           .lower = lower_qlinear_celu,
                           .qlinear = {.kind = QLinearKind::kTable, .becomes = "Celu"}};
const OpParts kSoftplus =
    each_number(infer_same<kFloats>, evaluate_softplus, nullptr, {.never_negative = NeverNegative::kAlways});
const OpParts kMish = each_number(infer_same<kFloats>, evaluate_mish, lower_mish);
const OpParts kQLinearMish{.infer = infer_qlinear_unary,
                           .evaluate = evaluate_table<evaluate_mish>,
                           .lower = lower_qlinear_mish,
                           .qlinear = {.kind = QLinearKind::kTable, .becomes = "Mish"}};

}  // namespace kinglet::engine::ops
