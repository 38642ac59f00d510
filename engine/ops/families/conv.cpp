// SPDX-License-Identifier: Apache-2.0
// Convolution over 1 to 3 (and more) spatial dimensions, with groups, dilations and any padding.
//   x [N,C,D1..Dn], w [M,C/group,k1..kn], b [M]  ->  [N,M,E1..En]
#include <algorithm>

#include "engine/base/format.h"
#include "engine/ops/common.h"
#include "engine/ops/families/convolution_work.h"
#include "engine/ops/families/convolve.h"
#include "engine/ops/families/lower_convolution.h"
#include "engine/ops/families/window.h"
#include "engine/ops/lower.h"
#include "engine/ops/rows.h"
#include "engine/ops/steps.h"

namespace kinglet::engine::ops {
namespace {

Result<void> infer_conv(InferContext& context) {
  KINGLET_TRY(need_type(context, 0, kFloats));
  KINGLET_TRY(need_type_of(context, 1, 0));
  const std::optional<Shape> out = KINGLET_TRY(conv_output(context, 0, 1));
  if (context.has_input(2)) {
    KINGLET_TRY(need_type_of(context, 2, 0));
    KINGLET_TRY(need_rank(context, 2, 1, 1));
    const std::optional<Shape>& bias = context.input_shape(2);
    if (bias && out && (*bias)[0] != kUnknownDim && (*out)[1] != kUnknownDim && (*bias)[0] != (*out)[1]) {
      return context.fail(format_text("the bias has {} numbers for {} output channels", (*bias)[0], (*out)[1]));
    }
  }
  context.set_output(0, context.input_type(0), out);
  return {};
}

Result<void> evaluate_conv(const Node& node, Inputs inputs, std::span<Tensor> outputs) {
  const std::span<const float> bias =
      inputs.size() > 2 && inputs[2] ? inputs[2]->data<float>() : std::span<const float>{};
  const std::span<float> out = outputs[0].mutable_data<float>();
  convolve(node.attributes, {inputs[0]->shape(), inputs[0]->data<float>()},
           {inputs[1]->shape(), inputs[1]->data<float>()}, outputs[0].shape(),
           [&](std::int64_t plane, std::int64_t channel, std::span<const double> sums) {
             const double start = bias.empty() ? 0.0 : bias[static_cast<std::size_t>(channel)];
             float* to = out.data() + plane * static_cast<std::int64_t>(sums.size());
             for (std::size_t i = 0; i < sums.size(); ++i) to[i] = static_cast<float>(sums[i] + start);
           });
  return {};
}

Result<std::optional<Operand>> conv_bias(SubgraphBuilder& builder, const Graph& graph, const Node& node,
                                         const ColumnBlock& block) {
  if (!is_given(node, 2)) return std::nullopt;
  const Tensor* bias = constant_input(graph, node, 2);
  if (bias == nullptr) return fail(ErrorCode::kBadData, "a bias that is not constant");
  return KINGLET_TRY(builder.constant(columns_of(*bias, 0, block), {block.count}, Lifetime::kUntilPacked));
}

Result<bool> lower_conv(SubgraphBuilder& builder, const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const Tensor* weight = graph.constant(node.inputs[1]);
  if (weight == nullptr || weight->type() != DataType::kF32) return false;
  return lower_convolution(
      builder, node, *weight,
      [&](const Tensor& numbers, const Dims& dims, std::size_t /*channel_axis*/) {
        return builder.constant(numbers, dims, Lifetime::kUntilPacked);
      },
      [&](Operand /*filter*/, const ColumnBlock& block) { return conv_bias(builder, graph, node, block); });
}

double conv_steps(const Graph& graph, const Node& node) { return convolution_steps(graph, node, 1); }

}  // namespace

const OpParts kConv{.infer = infer_conv,
                    .evaluate = evaluate_conv,
                    .steps = conv_steps,
                    .lower = lower_conv,
                    .traits = {.dims = DimRule::kBatch, .takes_clip = true},
                    .multiply_adds = convolution_multiply_adds<1>,
                    .work = float_convolution_work};

}  // namespace kinglet::engine::ops
