// SPDX-License-Identifier: Apache-2.0
// Operators of domain "kinglet": one step for what ONNX writes as several nodes. Session passes make them; files do not
// hold them.
#include <cmath>

#include "engine/backend/kernels/work.h"
#include "engine/base/format.h"
#include "engine/ops/common.h"
#include "engine/ops/families/elementwise.h"
#include "engine/ops/lower.h"
#include "engine/ops/rows.h"

namespace kinglet::engine::ops {
namespace {

// --- Silu: x * sigmoid(x) -------------------------------------------------------------------------------------------

Result<void> evaluate_silu(const Node& /*node*/, Inputs inputs, std::span<Tensor> outputs) {
  return map_real(inputs, outputs, [](double x) {
    const double sigmoid = x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x));
    return x * sigmoid;
  });
}

Result<bool> lower_silu(SubgraphBuilder& builder, const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const Operand input = KINGLET_TRY(builder.input(node.inputs[0], builder.layout(node.outputs[0])));
  const Operand sigmoid = KINGLET_TRY(builder.temporary(Dims(builder.dims(input))));
  const Operand output = KINGLET_TRY(builder.output(node.outputs[0]));
  KINGLET_TRY(builder.unary(xnn_unary_sigmoid, {}, input, sigmoid));
  KINGLET_TRY(builder.binary(xnn_binary_multiply, input, sigmoid, output));
  return true;
}

// In whatever order the numbers lie.
std::optional<kernels::Work> silu_work(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const Value& output = graph.value(node.outputs[0]);
  if (output.type != DataType::kF32 || !output.shape) return std::nullopt;
  const auto count = element_count(*output.shape);
  if (!count) return std::nullopt;
  return kernels::Work{kernels::SiluF32{.count = static_cast<std::size_t>(*count)}};
}

constexpr OpParts silu_parts() {
  OpParts parts = each_number(infer_same<kFloats>, evaluate_silu, lower_silu);
  parts.work = silu_work;
  return parts;
}

// --- ChannelShuffle: the channels of [N,C,H,W] as [g, C/g], read as [C/g, g]

Result<void> infer_channel_shuffle(InferContext& context) {
  KINGLET_TRY(need_type(context, 0, kAnyType));
  KINGLET_TRY(need_rank(context, 0, 4, 4));
  const std::int64_t groups = KINGLET_TRY(checked_int(context, "groups", 1, 1, kMaxDim));
  const std::optional<Shape>& x = context.input_shape(0);
  if (x && (*x)[1] != kUnknownDim && (*x)[1] % groups != 0) {
    return context.fail(format_text("{} groups do not divide {} channels", groups, (*x)[1]));
  }
  context.set_output(0, context.input_type(0), x);
  return {};
}

Result<void> evaluate_channel_shuffle(const Node& node, Inputs inputs, std::span<Tensor> outputs) {
  const Shape& x = inputs[0]->shape();
  const Dim groups = node.attributes.get_int("groups", 1);
  const Dim depth = x[1] / groups;
  const Dim pixels = x[2] * x[3];
  Tensor target(inputs[0]->type(), {x[0], depth, groups, pixels});
  copy_strided(*inputs[0], 0, {x[1] * pixels, pixels, depth * pixels, 1}, target);
  outputs[0] = target.reshaped(x);
  return {};
}

Result<bool> lower_channel_shuffle(SubgraphBuilder& builder, const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const Layout layout = builder.layout(node.outputs[0]);
  const Shape& x = *graph.value(node.inputs[0]).shape;
  const auto groups = static_cast<std::size_t>(node.attributes.get_int("groups", 1));
  const auto batch = static_cast<std::size_t>(x[0]);
  const std::size_t depth = static_cast<std::size_t>(x[1]) / groups;
  const std::size_t pixels = static_cast<std::size_t>(x[2]) * static_cast<std::size_t>(x[3]);
  const bool last = layout == Layout::kNhwc;
  const Operand input = KINGLET_TRY(builder.input(node.inputs[0], layout));
  const Operand split =
      KINGLET_TRY(builder.temporary(last ? Dims{batch * pixels, groups, depth} : Dims{batch, groups, depth, pixels}));
  const Operand turned =
      KINGLET_TRY(builder.temporary(last ? Dims{batch * pixels, depth, groups} : Dims{batch, depth, groups, pixels}));
  const Operand output = KINGLET_TRY(builder.output(node.outputs[0]));
  KINGLET_TRY(builder.reshape(input, split));
  KINGLET_TRY(builder.transpose(last ? Dims{0, 2, 1} : Dims{0, 2, 1, 3}, split, turned));
  KINGLET_TRY(builder.reshape(turned, output));
  return true;
}

}  // namespace

const OpParts kSilu = silu_parts();
const OpParts kChannelShuffle{
    .infer = infer_channel_shuffle, .evaluate = evaluate_channel_shuffle, .lower = lower_channel_shuffle};

}  // namespace kinglet::engine::ops
