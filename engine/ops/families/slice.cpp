// SPDX-License-Identifier: Apache-2.0
// Slice: data, starts, ends, axes, steps. Any element type.
#include <algorithm>
#include <numeric>

#include "engine/base/format.h"
#include "engine/ops/common.h"
#include "engine/ops/lower.h"
#include "engine/ops/normalize.h"
#include "engine/ops/rows.h"

namespace kinglet::engine::ops {
namespace {

Result<void> normalize_slice(Graph& graph, NodeId id, std::int64_t opset) {
  if (opset >= 10) return {};
  ints_to_input(graph, id, "starts", 1);
  ints_to_input(graph, id, "ends", 2);
  ints_to_input(graph, id, "axes", 3);
  if (graph.node(id).inputs.size() < 3) return refuse(graph, id, ErrorCode::kBadData, "starts and ends are missing");
  return {};
}

struct Cut {
  std::int64_t start = 0, step = 1, count = 0;
};

// numpy's rule, clamped; step is not 0.
Cut cut_of(Dim dim, std::int64_t start, std::int64_t end, std::int64_t step) {
  const auto clamp = [&](std::int64_t at, std::int64_t low, std::int64_t high) {
    if (at < 0) at = at < -dim ? -1 - dim : at;  // avoids overflow of at + dim
    return std::clamp(at < 0 ? at + dim : at, low, high);
  };
  Cut cut{.start = 0, .step = step, .count = 0};
  if (step > 0) {
    cut.start = clamp(start, 0, dim);
    const std::int64_t room = clamp(end, 0, dim) - cut.start;
    cut.count = room > 0 ? (room - 1) / step + 1 : 0;
  } else if (dim > 0) {
    cut.start = clamp(start, 0, dim - 1);
    const std::int64_t room = cut.start - clamp(end, -1, dim - 1);
    cut.count = room > 0 ? (room - 1) / -step + 1 : 0;
  }
  return cut;
}

std::optional<std::int64_t> number(Inputs inputs, std::size_t input, std::size_t i) {
  if (input >= inputs.size() || inputs[input] == nullptr) return std::nullopt;
  return inputs[input]->to_int64s().at(i);
}

// One cut an axis of `shape`, from checked inputs.
std::vector<Cut> cuts_of(const Shape& shape, Inputs inputs) {
  std::vector<Cut> cuts;
  for (const Dim dim : shape) cuts.push_back({.start = 0, .step = 1, .count = dim});
  const auto count = static_cast<std::size_t>(inputs[1]->element_count());
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t axis = axis_index(number(inputs, 3, i).value_or(static_cast<std::int64_t>(i)), shape.size());
    if (shape[axis] == kUnknownDim) {
      cuts[axis].count = kUnknownDim;
      continue;
    }
    cuts[axis] = cut_of(shape[axis], *number(inputs, 1, i), *number(inputs, 2, i), number(inputs, 4, i).value_or(1));
  }
  return cuts;
}

Result<void> infer_slice(InferContext& context) {
  KINGLET_TRY(need_type(context, 0, kAnyType));
  const std::optional<Shape>& x = context.input_shape(0);
  std::vector<const Tensor*> inputs(5, nullptr);
  bool known = x.has_value();
  for (std::size_t i = 1; i < context.input_count(); ++i) {
    if (!context.has_input(i)) continue;
    KINGLET_TRY(need_type(context, i, kIndices));
    KINGLET_TRY(need_rank(context, i, 1, 1));
    inputs[i] = context.input_constant(i);
    known = known && inputs[i] != nullptr;
  }
  if (!known) {
    context.set_output(0, context.input_type(0), x ? std::optional(Shape(x->size(), kUnknownDim)) : std::nullopt);
    return {};
  }
  const std::int64_t count = inputs[1]->element_count();
  for (std::size_t i = 2; i < 5; ++i) {
    if (inputs[i] != nullptr && inputs[i]->element_count() != count) {
      return context.fail(format_text("input {} has {} numbers, starts has {}", i, inputs[i]->element_count(), count));
    }
  }
  if (inputs[3] != nullptr) {
    KINGLET_TRY(checked_axes(context, inputs[3]->to_int64s(), x->size()));
  } else if (count > static_cast<std::int64_t>(x->size())) {
    return context.fail(format_text("cuts {} axes of {}", count, to_string(*x)));
  }
  if (inputs[4] != nullptr) {
    for (const std::int64_t step : inputs[4]->to_int64s()) {
      if (step == 0 || step < -kMaxDim) return context.fail(format_text("a step is {}", step));
    }
  }
  Shape out;
  for (const Cut& cut : cuts_of(*x, inputs)) out.push_back(cut.count);
  context.set_output(0, context.input_type(0), out);
  return {};
}

Result<void> evaluate_slice(const Node& /*node*/, Inputs inputs, std::span<Tensor> outputs) {
  std::vector<std::int64_t> strides = row_major_strides(inputs[0]->shape());
  const std::vector<Cut> cuts = cuts_of(inputs[0]->shape(), inputs);
  std::int64_t start = 0;
  for (std::size_t i = 0; i < strides.size(); ++i) {
    start += cuts[i].start * strides[i];
    strides[i] = cuts[i].count > 1 ? strides[i] * cuts[i].step : 0;
  }
  copy_strided(*inputs[0], start, strides, outputs[0]);
  return {};
}

// Constant axes of `count` cuts; nothing when they are computed.
std::optional<std::vector<std::size_t>> axes_of(const Graph& graph, const Node& node, std::size_t count,
                                                std::size_t rank) {
  std::vector<std::size_t> axes(count);
  std::iota(axes.begin(), axes.end(), 0);
  if (!is_given(node, 3)) return axes;
  const Tensor* given = constant_input(graph, node, 3);
  if (given == nullptr || given->element_count() != static_cast<std::int64_t>(count)) return std::nullopt;
  const std::vector<std::int64_t> named = given->to_int64s();
  for (std::size_t i = 0; i < count; ++i) axes[i] = axis_index(named[i], rank);
  return axes;
}

struct PhysicalCut {
  std::size_t start = 0, step = 1, count = 0;
};

// One cut a physical axis, in the direction of the axis; nothing when a number is computed or an axis runs backwards.
std::optional<std::vector<PhysicalCut>> constant_cuts(const Graph& graph, const Node& node, Layout layout) {
  const Shape& shape = *graph.value(node.inputs[0]).shape;
  const Shape& output = *graph.value(node.outputs[0]).shape;
  const Tensor* given = constant_input(graph, node, 1);
  if (given == nullptr) return std::nullopt;
  const std::vector<std::int64_t> starts = given->to_int64s();
  const auto axes = axes_of(graph, node, starts.size(), shape.size());
  const Tensor* steps = constant_input(graph, node, 4);
  if (!axes || (is_given(node, 4) && steps == nullptr)) return std::nullopt;
  std::vector<PhysicalCut> cuts(shape.size());
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    cuts[physical_axis(axis, layout)].count = static_cast<std::size_t>(output[axis]);
  }
  for (std::size_t i = 0; i < axes->size(); ++i) {
    const std::int64_t size = shape.at((*axes)[i]);
    const std::int64_t step = steps != nullptr ? steps->to_int64s().at(i) : 1;
    if (step < 1) return std::nullopt;
    std::int64_t start = starts[i];
    if (start < 0) start = start < -size ? 0 : start + size;
    PhysicalCut& cut = cuts[physical_axis((*axes)[i], layout)];
    cut.start = static_cast<std::size_t>(std::min(start, size));
    cut.step = cut.count > 1 ? static_cast<std::size_t>(step) : 1;
  }
  return cuts;
}

// Every step-th of one axis: seen as [outer, count, step, inner] it is the first along `step`. Nothing when the last
// group of `step` does not lie inside.
Result<std::optional<Operand>> take_every(SubgraphBuilder& builder, std::size_t axis, const PhysicalCut& cut,
                                          Operand input) {
  const Dims dims = builder.dims(input);
  const auto product = [&](std::size_t first, std::size_t last) {
    std::size_t count = 1;
    for (std::size_t i = first; i < last; ++i) count *= dims[i];
    return count;
  };
  const std::size_t within = cut.start % cut.step;
  const std::size_t base = cut.start - within;
  if (base + cut.count * cut.step > dims[axis]) return std::nullopt;
  const std::size_t outer = product(0, axis);
  const std::size_t inner = product(axis + 1, dims.size());
  Operand flat = KINGLET_TRY(builder.temporary({outer, dims[axis], inner}));
  KINGLET_TRY(builder.reshape(input, flat));
  if (cut.count * cut.step != dims[axis]) {
    const Dims part{outer, cut.count * cut.step, inner};
    const Operand cropped = KINGLET_TRY(builder.temporary(part));
    KINGLET_TRY(builder.slice({0, base, 0}, part, flat, cropped));
    flat = cropped;
  }
  const Operand grouped = KINGLET_TRY(builder.temporary({outer, cut.count, cut.step, inner}));
  const Operand firsts = KINGLET_TRY(builder.temporary({outer, cut.count, 1, inner}));
  Dims shape = dims;
  shape[axis] = cut.count;
  const Operand out = KINGLET_TRY(builder.temporary(shape));
  KINGLET_TRY(builder.reshape(flat, grouped));
  KINGLET_TRY(builder.slice({0, 0, within, 0}, {outer, cut.count, 1, inner}, grouped, firsts));
  KINGLET_TRY(builder.reshape(firsts, out));
  return out;
}

Result<bool> lower_slice(SubgraphBuilder& builder, const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const Layout layout = builder.layout(node.outputs[0]);
  auto cuts = constant_cuts(graph, node, layout);
  if (!cuts) return false;
  Operand input = KINGLET_TRY(builder.input(node.inputs[0], layout));
  for (std::size_t axis = 0; axis < cuts->size(); ++axis) {
    PhysicalCut& cut = (*cuts)[axis];
    if (cut.step == 1) continue;
    const auto taken = KINGLET_TRY(take_every(builder, axis, cut, input));
    if (!taken) return false;
    input = *taken;
    cut.start = 0;
  }
  const Operand output = KINGLET_TRY(builder.output(node.outputs[0]));
  const Dims sizes = builder.dims(output);
  Dims offsets;
  for (const PhysicalCut& cut : *cuts) offsets.push_back(cut.start);
  if (builder.dims(input) == sizes) {
    KINGLET_TRY(builder.reshape(input, output));
  } else {
    KINGLET_TRY(builder.slice(offsets, sizes, input, output));
  }
  return true;
}

}  // namespace

const OpParts kSlice{.normalize = normalize_slice,
                     .infer = infer_slice,
                     .evaluate = evaluate_slice,
                     .lower = lower_slice,
                     .traits = {.levels = Levels::kOfFirst, .numbers = Numbers::kMoved}};

}  // namespace kinglet::engine::ops
