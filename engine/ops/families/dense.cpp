// SPDX-License-Identifier: Apache-2.0
// kinglet::Linear: a matrix product with a bias over the last axis of a tensor of any rank, one step of XNNPACK. ONNX
// writes MatMul and Add. Session passes make it; files do not hold it.
//   x [...,K], w [K,N], b [N]  ->  [...,N]
#include <algorithm>

#include "engine/base/format.h"
#include "engine/ops/common.h"
#include "engine/ops/families/column_blocks.h"
#include "engine/ops/lower.h"
#include "engine/ops/rows.h"
#include "engine/ops/steps.h"

namespace kinglet::engine::ops {
namespace {

Result<void> infer_linear(InferContext& context) {
  for (std::size_t i = 0; i < 3; ++i) {
    KINGLET_TRY(need_type(context, i, kFloats));
    KINGLET_TRY(need_type_of(context, i, 0));
  }
  KINGLET_TRY(need_rank(context, 0, 1));
  KINGLET_TRY(need_rank(context, 1, 2, 2));
  KINGLET_TRY(need_rank(context, 2, 1, 1));
  const std::optional<Shape>& x = context.input_shape(0);
  const std::optional<Shape>& w = context.input_shape(1);
  const std::optional<Shape>& b = context.input_shape(2);
  if (!x) {
    context.set_output(0, context.input_type(0), std::nullopt);
    return {};
  }
  Shape out = *x;
  out.back() = w ? (*w)[1] : kUnknownDim;
  if (w && b) {
    const auto differ = [](Dim left, Dim right) {
      return left != right && left != kUnknownDim && right != kUnknownDim;
    };
    if (differ(x->back(), (*w)[0]) || differ((*w)[1], (*b)[0])) {
      return context.fail(
          format_text("cannot multiply {} by {} and add {}", to_string(*x), to_string(*w), to_string(*b)));
    }
  }
  context.set_output(0, context.input_type(0), out);
  return {};
}

Result<void> evaluate_linear(const Node& /*node*/, Inputs inputs, std::span<Tensor> outputs) {
  const auto depth = static_cast<std::size_t>(inputs[1]->shape()[0]);
  const auto columns = static_cast<std::size_t>(inputs[1]->shape()[1]);
  const auto weight = inputs[1]->data<float>();
  const auto bias = inputs[2]->data<float>();
  const auto to = outputs[0].mutable_data<float>();
  std::vector<double> sums(columns);
  for (std::size_t row = 0; columns > 0 && row < to.size() / columns; ++row) {
    const float* from = inputs[0]->data<float>().data() + row * depth;
    std::ranges::copy(bias, sums.begin());
    for (std::size_t k = 0; k < depth; ++k) {
      const double factor = from[k];
      for (std::size_t column = 0; column < columns; ++column) sums[column] += factor * weight[k * columns + column];
    }
    for (std::size_t column = 0; column < columns; ++column) {
      to[row * columns + column] = static_cast<float>(sums[column]);
    }
  }
  return {};
}

Result<bool> lower_linear(SubgraphBuilder& builder, const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const Tensor* weight = constant_input(graph, node, 1);
  const Tensor* bias = constant_input(graph, node, 2);
  if (weight == nullptr || bias == nullptr || graph.value(node.inputs[0]).shape->size() < 2) return false;
  const Operand input = KINGLET_TRY(builder.input(node.inputs[0], Layout::kLogical));
  const xnn::Range range = builder.take_clip();
  const Operand output = KINGLET_TRY(builder.output(node.outputs[0]));
  KINGLET_TRY(lower_matrix(builder, *weight, bias, range, input, output));
  return true;
}

std::optional<kernels::Work> dense_work(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const Tensor* weight = constant_input(graph, node, 1);
  const Tensor* bias = constant_input(graph, node, 2);
  if (weight == nullptr || bias == nullptr) return std::nullopt;
  return matrix_work(graph, node, *weight, false, bias);
}

}  // namespace

const OpParts kLinear{.infer = infer_linear,
                      .evaluate = evaluate_linear,
                      .lower = lower_linear,
                      .multiply_adds = product_multiply_adds<1>,
                      .work = dense_work};

}  // namespace kinglet::engine::ops
