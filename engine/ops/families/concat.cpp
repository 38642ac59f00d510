// SPDX-License-Identifier: Apache-2.0
// Concat and Split: tensors joined and cut along one axis. Any element type.
#include <algorithm>
#include <cstring>

#include "engine/base/format.h"
#include "engine/ops/common.h"
#include "engine/ops/families/either_kind.h"
#include "engine/ops/lower.h"
#include "engine/ops/normalize.h"
#include "engine/ops/rows.h"

namespace kinglet::engine::ops {
namespace {

Result<void> normalize_concat(Graph& graph, NodeId id, std::int64_t opset) {
  if (opset < 4 && graph.node(id).attributes.find("axis") == nullptr) graph.attributes(id).set("axis", std::int64_t{1});
  return {};
}

Result<void> infer_concat(InferContext& context) {
  if (context.attributes().find("axis") == nullptr) return context.fail("attribute axis is missing");
  std::optional<Shape> out;
  bool unknown = false;
  for (std::size_t i = 0; i < context.input_count(); ++i) {
    KINGLET_TRY(need_type_of(context, i, 0));
    unknown = unknown || !context.input_shape(i);
    KINGLET_TRY(join_shapes(context, i, 0, out));
  }
  if (unknown && out) {
    const std::size_t axis = KINGLET_TRY(checked_axis(context, context.attributes().get_int("axis", 0), out->size()));
    (*out)[axis] = kUnknownDim;
  }
  context.set_output(0, context.input_type(0), out);
  return {};
}

Result<void> evaluate_concat(const Node& node, Inputs inputs, std::span<Tensor> outputs) {
  const Shape& shape = outputs[0].shape();
  const AxisView whole = view_axis(shape, axis_index(node.attributes.get_int("axis", 0), shape.size()));
  const std::size_t size = byte_size(outputs[0].type());
  std::byte* to = outputs[0].mutable_bytes().data();
  for (std::int64_t outer = 0; outer < whole.outer; ++outer) {
    for (const Tensor* input : inputs) {
      if (input->element_count() == 0) continue;
      const std::size_t run = static_cast<std::size_t>(input->element_count() / whole.outer) * size;
      std::memcpy(to, input->bytes().data() + static_cast<std::size_t>(outer) * run, run);
      to += run;
    }
  }
  return {};
}

Result<bool> lower_concat(SubgraphBuilder& builder, const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const Layout layout = builder.layout(node.outputs[0]);
  const std::size_t axis = axis_index(node.attributes.get_int("axis", 0), graph.value(node.outputs[0]).shape->size());
  std::vector<Operand> inputs;
  inputs.reserve(node.inputs.size());
  for (const ValueId input : node.inputs) inputs.push_back(KINGLET_TRY(builder.input(input, layout)));
  const Operand output = KINGLET_TRY(builder.output(node.outputs[0]));
  KINGLET_TRY(builder.concatenate(physical_axis(axis, layout), inputs, output));
  return true;
}

Result<void> normalize_split(Graph& graph, NodeId id, std::int64_t opset) {
  if (opset < 13) ints_to_input(graph, id, "split", 1);
  return {};
}

// Lengths along the axis: as given, or equal shares of which the last may be smaller.
Result<std::vector<std::int64_t>> split_lengths(const InferContext& context, Dim whole) {
  const std::size_t count = context.node().outputs.size();
  std::vector<std::int64_t> lengths;
  if (const Tensor* split = context.input_constant(1)) {
    lengths = split->to_int64s();
    std::int64_t sum = 0;
    for (const std::int64_t length : lengths) {
      if (length < 0 || length > kMaxDim) return context.fail(format_text("split holds {}", length));
      sum += length;
    }
    if (lengths.size() != count || sum != whole) {
      return context.fail(format_text("split {} into {} outputs of {}", to_string(lengths), count, whole));
    }
    return lengths;
  }
  const std::int64_t share = (whole + static_cast<std::int64_t>(count) - 1) / static_cast<std::int64_t>(count);
  for (std::size_t i = 0; i < count; ++i) {
    lengths.push_back(std::clamp<std::int64_t>(whole - share * static_cast<std::int64_t>(i), 0, share));
  }
  return lengths;
}

Result<void> infer_split(InferContext& context) {
  KINGLET_TRY(need_type(context, 0, kAnyType));
  if (context.has_input(1)) KINGLET_TRY(need_type(context, 1, kIndices));
  const std::optional<Shape>& x = context.input_shape(0);
  const std::size_t count = context.node().outputs.size();
  std::optional<Shape> out = x;
  std::vector<std::int64_t> lengths(count, kUnknownDim);
  std::size_t axis = 0;
  if (x) {
    axis = KINGLET_TRY(checked_axis(context, context.attributes().get_int("axis", 0), x->size()));
    const bool clear = (*x)[axis] != kUnknownDim && (!context.has_input(1) || context.input_constant(1) != nullptr);
    if (clear) lengths = KINGLET_TRY(split_lengths(context, (*x)[axis]));
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (out) (*out)[axis] = lengths[i];
    context.set_output(i, context.input_type(0), out);
  }
  return {};
}

Result<void> evaluate_split(const Node& node, Inputs inputs, std::span<Tensor> outputs) {
  const Shape& shape = inputs[0]->shape();
  const std::size_t axis = axis_index(node.attributes.get_int("axis", 0), shape.size());
  const std::vector<std::int64_t> strides = row_major_strides(shape);
  std::int64_t start = 0;
  for (Tensor& output : outputs) {
    copy_strided(*inputs[0], start * strides[axis], strides, output);
    start += output.shape()[axis];
  }
  return {};
}

Result<bool> lower_split(SubgraphBuilder& builder, const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const std::size_t axis = axis_index(node.attributes.get_int("axis", 0), graph.value(node.inputs[0]).shape->size());
  std::size_t start = 0;
  for (const ValueId value : node.outputs) {
    if (value == kNoValue) return false;
    const Layout layout = builder.layout(value);
    const Operand input = KINGLET_TRY(builder.input(node.inputs[0], layout));
    const Operand output = KINGLET_TRY(builder.output(value));
    const Dims sizes = builder.dims(output);
    Dims offsets(sizes.size(), 0);
    offsets.at(physical_axis(axis, layout)) = start;
    start += sizes.at(physical_axis(axis, layout));
    KINGLET_TRY(builder.slice(offsets, sizes, input, output));
  }
  return true;
}

}  // namespace

Result<void> join_shapes(InferContext& context, std::size_t index, std::int64_t default_axis,
                         std::optional<Shape>& joined) {
  const std::optional<Shape>& x = context.input_shape(index);
  if (!x) return {};
  const std::size_t axis =
      KINGLET_TRY(checked_axis(context, context.attributes().get_int("axis", default_axis), x->size()));
  if (!joined) {
    joined = x;
    return {};
  }
  bool fits = joined->size() == x->size();
  for (std::size_t k = 0; fits && k < x->size(); ++k) {
    Dim& dim = (*joined)[k];
    if (k == axis) {
      dim = dim == kUnknownDim || (*x)[k] == kUnknownDim ? kUnknownDim : dim + (*x)[k];
    } else if (dim == kUnknownDim) {
      dim = (*x)[k];
    } else {
      fits = (*x)[k] == kUnknownDim || (*x)[k] == dim;
    }
  }
  if (fits) return {};
  return context.fail(format_text("cannot join {} and {} on axis {}", to_string(*joined), to_string(*x), axis));
}

const OpParts kConcat{
    .normalize = normalize_concat,
    .infer = infer_concat,
    .evaluate = evaluate_concat,
    .lower = lower_concat,
    .traits = {.never_negative = NeverNegative::kLikeInputs, .levels = Levels::kOfAll, .joins = true}};
const OpParts kSplit{.normalize = normalize_split,
                     .infer = infer_split,
                     .evaluate = evaluate_split,
                     .lower = lower_split,
                     .traits = {.levels = Levels::kOfFirst, .numbers = Numbers::kMoved}};

}  // namespace kinglet::engine::ops
