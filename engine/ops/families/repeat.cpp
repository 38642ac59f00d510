// SPDX-License-Identifier: Apache-2.0
// Operators that repeat numbers: Expand and Tile. Any element type.
#include <array>

#include "engine/base/format.h"
#include "engine/ops/common.h"
#include "engine/ops/lower.h"
#include "engine/ops/normalize.h"
#include "engine/ops/rows.h"

namespace kinglet::engine::ops {
namespace {

Result<void> infer_expand(InferContext& context) {
  KINGLET_TRY(need_type(context, 0, kAnyType));
  KINGLET_TRY(need_type(context, 1, kIndices));
  const std::optional<Shape>& x = context.input_shape(0);
  const Tensor* wanted = context.input_constant(1);
  std::optional<Shape> out;
  if (x && wanted != nullptr) {
    const std::vector<std::int64_t> dims = wanted->to_int64s();
    for (const std::int64_t dim : dims) {
      if (dim < 0 || dim > kMaxDim) return context.fail(format_text("the shape holds {}", dim));
    }
    out = broadcast(*x, dims);
    if (!out) return context.fail(format_text("cannot expand {} to {}", to_string(*x), to_string(dims)));
  }
  context.set_output(0, context.input_type(0), out);
  return {};
}

Result<void> evaluate_expand(const Node& /*node*/, Inputs inputs, std::span<Tensor> outputs) {
  copy_strided(*inputs[0], 0, broadcast_strides(inputs[0]->shape(), outputs[0].shape()), outputs[0]);
  return {};
}

// Before opset 6 one axis was repeated: x, tiles, axis, both one number of x's type.
Result<void> normalize_tile(Graph& graph, NodeId id, std::int64_t opset) {
  if (opset >= 6) return {};
  const Node& node = graph.node(id);
  const std::optional<Shape> x = node.inputs.empty() ? std::nullopt : graph.value(node.inputs[0]).shape;
  std::array<std::int64_t, 2> numbers{};
  for (std::size_t i = 0; i < 2; ++i) {
    const Tensor* tensor = node.inputs.size() > i + 1 ? graph.constant(node.inputs[i + 1]) : nullptr;
    if (!x || tensor == nullptr || tensor->element_count() != 1) {
      return refuse(graph, id, ErrorCode::kUnsupported, "old-style tiling by computed numbers");
    }
    const bool is_float = kFloats.contains(tensor->type());
    const double number = is_float                            ? tensor->to_floats()[0]
                          : kIndices.contains(tensor->type()) ? static_cast<double>(tensor->to_int64s()[0])
                                                              : -1.0;
    if (!(number >= 0 && number <= static_cast<double>(kMaxDim))) {
      return refuse(graph, id, ErrorCode::kBadData, format_text("input {} is {}", i + 1, number));
    }
    numbers[i] = static_cast<std::int64_t>(number);
  }
  const std::size_t axis = KINGLET_TRY(normalize_axis(numbers[1], x->size()));
  std::vector<std::int64_t> repeats(x->size(), 1);
  repeats[axis] = numbers[0];
  graph.resize_inputs(id, 1);
  set_or_add_input(graph, id, 1, add_node_constant(graph, id, "repeats", int64_tensor(repeats)));
  return {};
}

// XNNPACK repeats numbers only where it broadcasts: x times ones.
Result<bool> lower_expand(SubgraphBuilder& builder, const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const Shape& from = *graph.value(node.inputs[0]).shape;
  const Shape& to = *graph.value(node.outputs[0]).shape;
  Shape repeats(to.size(), 1);
  for (std::size_t i = 0; i < to.size(); ++i) {
    const std::size_t missing = to.size() - from.size();
    if (i < missing || from[i - missing] != to[i]) repeats[i] = to[i];
  }
  const auto count = element_count(repeats);
  constexpr std::int64_t kMostOnes = 1 << 16;
  if (!count || *count > kMostOnes) return false;
  Tensor ones(DataType::kF32, repeats);
  for (float& one : ones.mutable_data<float>()) one = 1;
  const Operand input = KINGLET_TRY(builder.input(node.inputs[0], Layout::kLogical));
  const Operand output = KINGLET_TRY(builder.output(node.outputs[0]));
  const Dims dims = to.empty() ? Dims{1} : dims_of(repeats);
  const Operand factor = KINGLET_TRY(builder.constant(ones, dims, Lifetime::kForever));
  KINGLET_TRY(builder.binary(xnn_binary_multiply, input, factor, output));
  return true;
}

Result<void> infer_tile(InferContext& context) {
  KINGLET_TRY(need_type(context, 0, kAnyType));
  KINGLET_TRY(need_type(context, 1, kIndices));
  std::optional<Shape> out = context.input_shape(0);
  const Tensor* repeats = context.input_constant(1);
  if (out && repeats != nullptr) {
    const std::vector<std::int64_t> times = repeats->to_int64s();
    if (times.size() != out->size())
      return context.fail(format_text("{} repeats for {}", times.size(), to_string(*out)));
    for (std::size_t i = 0; i < times.size(); ++i) {
      if (times[i] < 0 || times[i] > kMaxDim) return context.fail(format_text("repeats {} times", times[i]));
      if ((*out)[i] != kUnknownDim) (*out)[i] *= times[i];
    }
  } else if (out) {
    out->assign(out->size(), kUnknownDim);
  }
  context.set_output(0, context.input_type(0), out);
  return {};
}

Result<void> evaluate_tile(const Node& /*node*/, Inputs inputs, std::span<Tensor> outputs) {
  // Each axis becomes two, [repeat, size], of which the first has stride 0.
  const Tensor& x = *inputs[0];
  const std::vector<std::int64_t> dense = row_major_strides(x.shape());
  Shape split;
  std::vector<std::int64_t> strides;
  for (std::size_t i = 0; i < dense.size(); ++i) {
    split.insert(split.end(), {x.shape()[i] == 0 ? 0 : outputs[0].shape()[i] / x.shape()[i], x.shape()[i]});
    strides.insert(strides.end(), {0, dense[i]});
  }
  Tensor target(x.type(), split);
  copy_strided(x, 0, strides, target);
  outputs[0] = target.reshaped(outputs[0].shape());
  return {};
}

}  // namespace

const OpParts kExpand{
    .infer = infer_expand, .evaluate = evaluate_expand, .lower = lower_expand, .traits = {.numbers = Numbers::kMoved}};
const OpParts kTile{.normalize = normalize_tile,
                    .infer = infer_tile,
                    .evaluate = evaluate_tile,
                    .traits = {.numbers = Numbers::kMoved}};

}  // namespace kinglet::engine::ops
