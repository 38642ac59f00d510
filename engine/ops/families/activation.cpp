// SPDX-License-Identifier: Apache-2.0
// Activation functions: one input (Clip and PRelu have more), output of the same type and shape. Computed in double.
// Those made of exponentials are in exponential.cpp.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "engine/base/format.h"
#include "engine/graph/float16.h"
#include "engine/ops/common.h"
#include "engine/ops/families/elementwise.h"
#include "engine/ops/lower.h"
#include "engine/ops/normalize.h"
#include "engine/ops/rows.h"

namespace kinglet::engine::ops {
namespace {

Result<void> evaluate_relu(const Node& /*node*/, Inputs inputs, std::span<Tensor> outputs) {
  return visit_type(outputs[0].type(), [&]<typename T>() -> Result<void> {
    return map<T>(inputs, outputs, [](T x) { return x < T{0} ? T{0} : x; });
  });
}

Result<bool> lower_clamp(SubgraphBuilder& builder, const Graph& graph, NodeId id, xnn::Range range) {
  xnn_unary_params params{};
  params.clamp = {.min = range.min, .max = range.max};
  return lower_unary(builder, graph, id, xnn_unary_clamp, params);
}

Result<bool> lower_relu(SubgraphBuilder& builder, const Graph& graph, NodeId id) {
  return lower_clamp(builder, graph, id, {.min = 0});
}

Result<void> evaluate_leaky_relu(const Node& node, Inputs inputs, std::span<Tensor> outputs) {
  const float alpha = node.attributes.get_float("alpha", 0.01F);
  return map_real(inputs, outputs, [=](double x) { return x < 0 ? alpha * x : x; });
}

Result<bool> lower_leaky_relu(SubgraphBuilder& builder, const Graph& graph, NodeId id) {
  xnn_unary_params params{};
  params.leaky_relu.negative_slope = graph.node(id).attributes.get_float("alpha", 0.01F);
  if (!std::isfinite(params.leaky_relu.negative_slope)) return false;
  return lower_unary(builder, graph, id, xnn_unary_leaky_relu, params);
}

double sigmoid(double x) { return x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x)); }

Result<void> evaluate_sigmoid(const Node& /*node*/, Inputs inputs, std::span<Tensor> outputs) {
  return map_real(inputs, outputs, sigmoid);
}

Result<void> evaluate_hard_sigmoid(const Node& node, Inputs inputs, std::span<Tensor> outputs) {
  const float alpha = node.attributes.get_float("alpha", 0.2F);
  const float beta = node.attributes.get_float("beta", 0.5F);
  return map_real(inputs, outputs, [=](double x) { return std::clamp(alpha * x + beta, 0.0, 1.0); });
}

// max(0, min(1, alpha * x + beta))
Result<bool> lower_hard_sigmoid(SubgraphBuilder& builder, const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const Operand input = KINGLET_TRY(builder.input(node.inputs[0], builder.layout(node.outputs[0])));
  const Operand alpha = KINGLET_TRY(builder.scalar(node.attributes.get_float("alpha", 0.2F)));
  const Operand beta = KINGLET_TRY(builder.scalar(node.attributes.get_float("beta", 0.5F)));
  const Operand product = KINGLET_TRY(builder.temporary(Dims(builder.dims(input))));
  const Operand sum = KINGLET_TRY(builder.temporary(Dims(builder.dims(input))));
  const Operand output = KINGLET_TRY(builder.output(node.outputs[0]));
  KINGLET_TRY(builder.binary(xnn_binary_multiply, input, alpha, product));
  KINGLET_TRY(builder.binary(xnn_binary_add, product, beta, sum));
  KINGLET_TRY(builder.clamp({.min = 0, .max = 1}, sum, output));
  return true;
}

Result<void> evaluate_hard_swish(const Node& /*node*/, Inputs inputs, std::span<Tensor> outputs) {
  return map_real(inputs, outputs, [](double x) { return x * std::clamp(x / 6 + 0.5, 0.0, 1.0); });
}

Result<void> evaluate_tanh(const Node& /*node*/, Inputs inputs, std::span<Tensor> outputs) {
  return map_real(inputs, outputs, [](double x) { return std::tanh(x); });
}

Result<void> evaluate_softsign(const Node& /*node*/, Inputs inputs, std::span<Tensor> outputs) {
  return map_real(inputs, outputs, [](double x) { return x / (1 + std::abs(x)); });
}

Result<void> evaluate_thresholded_relu(const Node& node, Inputs inputs, std::span<Tensor> outputs) {
  const float alpha = node.attributes.get_float("alpha", 1.0F);
  return map_real(inputs, outputs, [=](double x) { return x > alpha ? x : 0.0; });
}

Result<void> infer_gelu(InferContext& context) {
  const std::string_view approximate = context.attributes().get_string("approximate", "none");
  if (approximate != "none" && approximate != "tanh") {
    return context.fail("attribute approximate is neither \"none\" nor \"tanh\"");
  }
  return infer_same<kFloats>(context);
}

Result<void> evaluate_gelu(const Node& node, Inputs inputs, std::span<Tensor> outputs) {
  if (node.attributes.get_string("approximate", "none") == "tanh") {
    return map_real(inputs, outputs, [](double x) {
      return 0.5 * x * (1 + std::tanh(std::numbers::inv_sqrtpi * std::numbers::sqrt2 * (x + 0.044715 * x * x * x)));
    });
  }
  return map_real(inputs, outputs, [](double x) { return 0.5 * x * (1 + std::erf(x / std::numbers::sqrt2)); });
}

Result<bool> lower_gelu(SubgraphBuilder& builder, const Graph& graph, NodeId id) {
  if (graph.node(id).attributes.get_string("approximate", "none") != "none") return false;
  return lower_unary<xnn_unary_gelu>(builder, graph, id);
}

// --- Clip: the bounds became optional scalar inputs in opset 11. ----------------------------------------------------

Result<void> normalize_clip(Graph& graph, NodeId id, std::int64_t opset) {
  if (opset >= 11) return {};
  for (const auto& [name, index] : {std::pair("min", 1U), std::pair("max", 2U)}) {
    if (graph.node(id).attributes.find(name) == nullptr) continue;
    const float bound = graph.node(id).attributes.get_float(name, 0);
    const bool half = graph.value(graph.node(id).inputs.at(0)).type == DataType::kF16;
    Tensor tensor = half ? Tensor::of<Half>({}, {to_half(bound)}) : Tensor::of<float>({}, {bound});
    set_or_add_input(graph, id, index, add_node_constant(graph, id, name, std::move(tensor)));
    graph.attributes(id).remove(name);
  }
  return {};
}

Result<void> infer_clip(InferContext& context) {
  KINGLET_TRY(need_type(context, 0, kNumbers));
  for (const std::size_t bound : {1U, 2U}) {
    if (!context.has_input(bound)) continue;
    KINGLET_TRY(need_type_of(context, bound, 0));
    if (context.input_shape(bound) && element_count(*context.input_shape(bound)).value_or(1) != 1) {
      return context.fail(
          format_text("bound {} has shape {}, expected a scalar", bound, to_string(*context.input_shape(bound))));
    }
  }
  context.set_output(0, context.input_type(0), context.input_shape(0));
  return {};
}

Result<void> evaluate_clip(const Node& /*node*/, Inputs inputs, std::span<Tensor> outputs) {
  return visit_type(outputs[0].type(), [&]<typename T>() -> Result<void> {
    const auto bound = [&](std::size_t i, T fallback) {
      return i < inputs.size() && inputs[i] != nullptr ? inputs[i]->data<T>()[0] : fallback;
    };
    const bool low_given = inputs.size() > 1 && inputs[1] != nullptr;
    const bool high_given = inputs.size() > 2 && inputs[2] != nullptr;
    const T low = bound(1, std::numeric_limits<T>::lowest());
    const T high = bound(2, std::numeric_limits<T>::max());
    return map<T>(inputs, outputs, [=](T x) {  // min above max gives max; NaN stays
      T y = low_given && x < low ? low : x;
      return high_given && high < y ? high : y;
    });
  });
}

Result<bool> lower_clip(SubgraphBuilder& builder, const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  xnn::Range range;
  if (is_given(node, 1)) {
    const auto min = scalar_constant(graph, node, 1);
    if (!min) return false;
    range.min = *min;
  }
  if (is_given(node, 2)) {
    const auto max = scalar_constant(graph, node, 2);
    if (!max) return false;
    range.max = *max;
  }
  return lower_clamp(builder, graph, id, range);
}

// --- PRelu: the slope broadcasts to the input; before opset 7 a vector was one slope a channel. ---------------------

Result<void> normalize_prelu(Graph& graph, NodeId id, std::int64_t opset) {
  if (opset >= 7 || graph.node(id).inputs.size() != 2) return {};
  const std::optional<Shape>& x = graph.value(graph.node(id).inputs[0]).shape;
  const ValueId slope = graph.node(id).inputs[1];
  const std::optional<Shape>& shape = graph.value(slope).shape;
  if (!x || !shape) return refuse(graph, id, ErrorCode::kUnsupported, "old-style slope with an input of unknown rank");
  if (shape->size() != 1 || x->size() < 3 || (*shape)[0] == 1) return {};
  std::vector<std::int64_t> axes;
  for (std::size_t i = 1; i + 1 < x->size(); ++i) axes.push_back(static_cast<std::int64_t>(i));
  const ValueId added = add_node_constant(graph, id, "axes", int64_tensor(axes));
  graph.set_input(id, 1, insert_before(graph, id, "Unsqueeze", {slope, added}, {}, graph.value(slope).type));
  return {};
}

Result<void> infer_prelu(InferContext& context) {
  KINGLET_TRY(need_type(context, 0, kNumbers));
  KINGLET_TRY(need_type_of(context, 1, 0));
  const std::optional<Shape> both = KINGLET_TRY(broadcast_inputs(context));
  const std::optional<Shape>& x = context.input_shape(0);
  if (both && is_static(*x) && *both != *x) {
    return context.fail(format_text("the slope's shape {} does not broadcast to {}", to_string(*context.input_shape(1)),
                                    to_string(*x)));
  }
  context.set_output(0, context.input_type(0), x);
  return {};
}

Result<void> evaluate_prelu(const Node& /*node*/, Inputs inputs, std::span<Tensor> outputs) {
  return visit_type(outputs[0].type(), [&]<typename T>() -> Result<void> {
    if constexpr (!std::is_same_v<T, bool>) {
      combine<T, T>(*inputs[0], *inputs[1], outputs[0],
                    [](T x, T slope) { return x < T{0} ? wrapping_product(x, slope) : x; });
    }
    return {};
  });
}

}  // namespace

const OpParts kRelu =
    each_number(infer_same<kNumbers>, evaluate_relu, lower_relu,
                {.clamp = Clamp::kAboveZero, .never_negative = NeverNegative::kAlways, .homogeneous = true});
const OpParts kLeakyRelu =
    each_number(infer_same<kFloats>, evaluate_leaky_relu, lower_leaky_relu, {.homogeneous = true});
const OpParts kSigmoid = each_number(infer_same<kFloats>, evaluate_sigmoid, lower_unary<xnn_unary_sigmoid>,
                                     {.never_negative = NeverNegative::kAlways});
const OpParts kHardSigmoid = each_number(infer_same<kFloats>, evaluate_hard_sigmoid, lower_hard_sigmoid,
                                         {.never_negative = NeverNegative::kAlways});
const OpParts kHardSwish = each_number(infer_same<kFloats>, evaluate_hard_swish, lower_unary<xnn_unary_hardswish>);
const OpParts kTanh = each_number(infer_same<kFloats>, evaluate_tanh, lower_unary<xnn_unary_tanh>);
const OpParts kSoftsign = each_number(infer_same<kFloats>, evaluate_softsign);
const OpParts kThresholdedRelu = each_number(infer_same<kFloats>, evaluate_thresholded_relu);
const OpParts kGelu = each_number(infer_gelu, evaluate_gelu, lower_gelu);
const OpParts kClip{.normalize = normalize_clip,
                    .infer = infer_clip,
                    .evaluate = evaluate_clip,
                    .lower = lower_clip,
                    .traits = {.elementwise = Elementwise::kUnary, .clamp = Clamp::kByInputs}};
const OpParts kPRelu{.normalize = normalize_prelu,
                     .infer = infer_prelu,
                     .evaluate = evaluate_prelu,
                     .lower = lower_binary<xnn_binary_prelu>,
                     .traits = {.dims = DimRule::kLikeFirst}};

}  // namespace kinglet::engine::ops
