// SPDX-License-Identifier: Apache-2.0
// Operators that keep the numbers and their order: Identity, Dropout (inference), Reshape, Flatten, Squeeze, Unsqueeze;
// and those that tell about shapes: Shape, Size.
#include <algorithm>

#include "engine/base/format.h"
#include "engine/ops/common.h"
#include "engine/ops/lower.h"
#include "engine/ops/normalize.h"
#include "engine/ops/rows.h"

namespace kinglet::engine::ops {
namespace {

Result<void> evaluate_same_numbers(const Node& /*node*/, Inputs inputs, std::span<Tensor> outputs) {
  outputs[0] = inputs[0]->reshaped(outputs[0].shape());
  return {};
}

Result<bool> lower_reshape(SubgraphBuilder& builder, const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const Operand input = KINGLET_TRY(builder.input_in_logical_order(node.inputs[0]));
  const Operand output = KINGLET_TRY(builder.output(node.outputs[0]));
  KINGLET_TRY(builder.reshape(input, output));
  return true;
}

// In any layout, since the shape stays.
Result<bool> lower_copy(SubgraphBuilder& builder, const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (!makes_only_first(node)) return false;
  const Operand input = KINGLET_TRY(builder.input(node.inputs[0], builder.layout(node.outputs[0])));
  const Operand output = KINGLET_TRY(builder.output(node.outputs[0]));
  KINGLET_TRY(builder.reshape(input, output));
  return true;
}

// --- Dropout: data, ratio, training_mode -> data, mask --------------------------------------------------------------

Result<void> normalize_dropout(Graph& graph, NodeId id, std::int64_t opset) {
  if (opset >= 12) return {};
  graph.attributes(id).remove("ratio");
  graph.attributes(id).remove("is_test");
  return {};
}

Result<void> infer_dropout(InferContext& context) {
  KINGLET_TRY(need_type(context, 0, kFloats));
  if (const Tensor* training = context.input_constant(2)) {
    if (training->type() != DataType::kBool || training->element_count() != 1 || training->data<bool>()[0]) {
      return context.refuse("is in training mode", "export the model in evaluation mode");
    }
  }
  context.set_output(0, context.input_type(0), context.input_shape(0));
  context.set_output(1, DataType::kBool, context.input_shape(0));
  return {};
}

Result<void> evaluate_dropout(const Node& /*node*/, Inputs inputs, std::span<Tensor> outputs) {
  outputs[0] = *inputs[0];
  if (outputs.size() > 1) std::ranges::fill(outputs[1].mutable_data<bool>(), true);
  return {};
}

// --- Reshape: data, shape (0 copies unless allowzero, one -1 is what is left) ---------------------------------------

Result<void> normalize_reshape(Graph& graph, NodeId id, std::int64_t opset) {
  if (opset < 5) ints_to_input(graph, id, "shape", 1);
  return {};
}

Result<Shape> reshaped(const InferContext& context, std::span<const std::int64_t> wanted) {
  const std::optional<Shape>& x = context.input_shape(0);
  const bool allow_zero = context.attributes().get_int("allowzero", 0) != 0;
  Shape out;
  std::optional<std::size_t> open;
  std::int64_t known = 1;
  bool all_known = true;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    Dim dim = wanted[i];
    if (dim < -1 || dim > kMaxDim) return context.fail(format_text("the shape holds {}", dim));
    if (dim == 0 && !allow_zero) {
      if (x && i >= x->size()) return context.fail(format_text("copies dimension {} of {}", i, to_string(*x)));
      dim = x ? (*x)[i] : kUnknownDim;
      all_known = all_known && dim != kUnknownDim;
    } else if (dim == -1) {
      if (open) return context.fail("the shape has two -1");
      open = i;
    }
    out.push_back(dim);
    if (dim > 0 && known <= kMaxTensorBytes) known *= dim;
    if (dim == 0) known = 0;
  }
  const std::optional<std::int64_t> total = x ? element_count(*x) : std::nullopt;
  if (!all_known || !total) return out;
  if (open && known > 0 && *total % known == 0) out[*open] = *total / known;
  if (is_static(out) && element_count(out) == total) return out;
  return context.fail(format_text("cannot give {} the shape {}", to_string(*x), to_string(wanted)));
}

Result<void> infer_reshape(InferContext& context) {
  KINGLET_TRY(need_type(context, 0, kAnyType));
  KINGLET_TRY(need_type(context, 1, kIndices));
  KINGLET_TRY(need_rank(context, 1, 1, 1));
  const Tensor* wanted = context.input_constant(1);
  if (wanted == nullptr) {
    const std::optional<Shape>& shape = context.input_shape(1);
    const bool ranked = shape && (*shape)[0] >= 0 && (*shape)[0] <= static_cast<Dim>(kMaxRank);
    context.set_output(
        0, context.input_type(0),
        ranked ? std::optional(Shape(static_cast<std::size_t>((*shape)[0]), kUnknownDim)) : std::nullopt);
    return {};
  }
  context.set_output(0, context.input_type(0), KINGLET_TRY(reshaped(context, wanted->to_int64s())));
  return {};
}

// --- Flatten: to two dimensions, split before `axis` ----------------------------------------------------------------

Result<void> infer_flatten(InferContext& context) {
  KINGLET_TRY(need_type(context, 0, kAnyType));
  const std::optional<Shape>& x = context.input_shape(0);
  Shape out{kUnknownDim, kUnknownDim};
  if (x) {
    const auto rank = static_cast<std::int64_t>(x->size());
    std::int64_t axis = KINGLET_TRY(checked_int(context, "axis", 1, -rank, rank));
    if (axis < 0) axis += rank;
    const auto split = static_cast<std::size_t>(axis);
    out[0] = element_count(std::span(*x).first(split)).value_or(kUnknownDim);
    out[1] = element_count(std::span(*x).subspan(split)).value_or(kUnknownDim);
  }
  context.set_output(0, context.input_type(0), out);
  return {};
}

// --- Squeeze, Unsqueeze: data, axes ---------------------------------------------------------------------------------

Result<void> normalize_axes(Graph& graph, NodeId id, std::int64_t opset) {
  if (opset < 13) ints_to_input(graph, id, "axes", 1);
  return {};
}

Result<void> infer_squeeze(InferContext& context) {
  KINGLET_TRY(need_type(context, 0, kAnyType));
  const std::optional<Shape>& x = context.input_shape(0);
  if (context.has_input(1)) KINGLET_TRY(need_type(context, 1, kIndices));
  const Tensor* axes = context.input_constant(1);
  const bool unclear = context.has_input(1) ? axes == nullptr : !(x && is_static(*x));
  if (!x || unclear) {
    context.set_output(0, context.input_type(0), std::nullopt);
    return {};
  }
  std::vector<std::size_t> gone;
  if (axes != nullptr) gone = KINGLET_TRY(checked_axes(context, axes->to_int64s(), x->size()));
  Shape out;
  for (std::size_t i = 0; i < x->size(); ++i) {
    const bool named = std::ranges::find(gone, i) != gone.end();
    if (named && (*x)[i] > 1) return context.fail(format_text("axis {} of {} is not 1", i, to_string(*x)));
    if (named && (*x)[i] == 0) return context.fail(format_text("axis {} of {} is not 1", i, to_string(*x)));
    const bool dropped = axes != nullptr ? named : (*x)[i] == 1;
    if (!dropped) out.push_back((*x)[i]);
  }
  context.set_output(0, context.input_type(0), out);
  return {};
}

Result<void> infer_unsqueeze(InferContext& context) {
  KINGLET_TRY(need_type(context, 0, kAnyType));
  KINGLET_TRY(need_type(context, 1, kIndices));
  const std::optional<Shape>& x = context.input_shape(0);
  const Tensor* axes = context.input_constant(1);
  if (!x || axes == nullptr) {
    context.set_output(0, context.input_type(0), std::nullopt);
    return {};
  }
  const std::size_t rank = x->size() + static_cast<std::size_t>(axes->element_count());
  if (rank > kMaxRank) return context.fail(format_text("makes {} dimensions, the limit is {}", rank, kMaxRank));
  const std::vector<std::size_t> added = KINGLET_TRY(checked_axes(context, axes->to_int64s(), rank));
  Shape out;
  for (std::size_t i = 0, next = 0; i < rank; ++i) {
    out.push_back(std::ranges::find(added, i) != added.end() ? 1 : (*x)[next++]);
  }
  context.set_output(0, context.input_type(0), out);
  return {};
}

// --- Shape, Size ----------------------------------------------------------------------------------------------------

std::pair<std::size_t, std::size_t> shape_range(const Attributes& attributes, std::size_t rank) {
  const auto signed_rank = static_cast<std::int64_t>(rank);
  const auto clamp = [&](std::int64_t at) {
    return static_cast<std::size_t>(std::clamp<std::int64_t>(at < 0 ? at + signed_rank : at, 0, signed_rank));
  };
  const std::size_t start = clamp(std::max<std::int64_t>(attributes.get_int("start", 0), -signed_rank));
  const std::size_t end = clamp(std::max<std::int64_t>(attributes.get_int("end", signed_rank), -signed_rank));
  return {start, std::max(start, end)};
}

Result<void> infer_shape(InferContext& context) {
  Dim count = kUnknownDim;
  if (context.input_shape(0)) {
    const auto [start, end] = shape_range(context.attributes(), context.input_shape(0)->size());
    count = static_cast<Dim>(end - start);
  }
  context.set_output(0, DataType::kI64, Shape{count});
  return {};
}

Result<void> infer_size(InferContext& context) {
  context.set_output(0, DataType::kI64, Shape{});
  return {};
}

Result<void> evaluate_shape(const Node& node, Inputs inputs, std::span<Tensor> outputs) {
  KINGLET_CHECK(shape_numbers(node, inputs[0]->shape(), outputs[0]));
  return {};
}

// The same numbers in the same order.
constexpr OpParts other_shape(Normalize normalize, Infer infer) {
  return {.normalize = normalize,
          .infer = infer,
          .evaluate = evaluate_same_numbers,
          .lower = lower_reshape,
          .traits = {.never_negative = NeverNegative::kLikeFirst,
                     .levels = Levels::kOfFirst,
                     .numbers = Numbers::kMoved,
                     .reshapes = true}};
}

}  // namespace

bool shape_numbers(const Node& node, std::span<const Dim> shape, Tensor& numbers) {
  const auto out = numbers.mutable_data<std::int64_t>();
  if (node.op_type == "Size") {
    out[0] = element_count(shape).value_or(0);
    return true;
  }
  if (node.op_type != "Shape") return false;
  const auto [start, end] = shape_range(node.attributes, shape.size());
  std::ranges::copy(shape.subspan(start, end - start), out.begin());
  return true;
}

const OpParts kIdentity =
    each_number(infer_same<kAnyType>, evaluate_same_numbers, lower_copy,
                {.never_negative = NeverNegative::kLikeFirst, .levels = Levels::kOfFirst, .numbers = Numbers::kMoved});
const OpParts kDropout{.normalize = normalize_dropout,
                       .infer = infer_dropout,
                       .evaluate = evaluate_dropout,
                       .lower = lower_copy,
                       .traits = {.dims = DimRule::kLikeFirst, .numbers = Numbers::kMoved}};
const OpParts kReshape = other_shape(normalize_reshape, infer_reshape);
const OpParts kFlatten = other_shape(nullptr, infer_flatten);
const OpParts kSqueeze = other_shape(normalize_axes, infer_squeeze);
const OpParts kUnsqueeze = other_shape(normalize_axes, infer_unsqueeze);
const OpParts kShape{.infer = infer_shape, .evaluate = evaluate_shape};
const OpParts kSize{.infer = infer_size, .evaluate = evaluate_shape};

}  // namespace kinglet::engine::ops
