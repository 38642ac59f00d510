// SPDX-License-Identifier: Apache-2.0
// Operators that address numbers by numbers: Gather, GatherElements, GatherND, ScatterElements, ScatterND, Where,
// OneHot. Indices are data: an index out of range is an error of the model, found when it runs.
#include <algorithm>

#include "engine/base/format.h"
#include "engine/base/text.h"
#include "engine/ops/common.h"
#include "engine/ops/lower.h"
#include "engine/ops/normalize.h"
#include "engine/ops/rows.h"

namespace kinglet::engine::ops {
namespace {

std::unexpected<Error> out_of_range(const Node& node, std::int64_t index, std::int64_t size) {
  return fail(ErrorCode::kBadData, format_text("index {} lies outside an axis of {}", index, size),
              format_text("node \"{}\" ({})", printable(node.name), node.op_type));
}

// The indices, made non-negative against `size`.
Result<std::vector<std::int64_t>> checked_indices(const Node& node, const Tensor& indices, std::int64_t size) {
  std::vector<std::int64_t> out = indices.to_int64s();
  for (std::int64_t& index : out) {
    if (index < -size || index >= size) return out_of_range(node, index, size);
    if (index < 0) index += size;
  }
  return out;
}

// --- Gather ---------------------------------------------------------------------------------------------------------

Result<void> infer_gather(InferContext& context) {
  KINGLET_TRY(need_type(context, 0, kAnyType));
  KINGLET_TRY(need_type(context, 1, kIndices));
  const std::optional<Shape>& x = context.input_shape(0);
  const std::optional<Shape>& indices = context.input_shape(1);
  std::optional<Shape> out;
  if (x) {
    const std::size_t axis = KINGLET_TRY(checked_axis(context, context.attributes().get_int("axis", 0), x->size()));
    if (indices) {
      const auto at = x->begin() + static_cast<std::ptrdiff_t>(axis);
      out.emplace(x->begin(), at);
      out->insert(out->end(), indices->begin(), indices->end());
      out->insert(out->end(), at + 1, x->end());
    }
  }
  context.set_output(0, context.input_type(0), out);
  return {};
}

Result<void> evaluate_gather(const Node& node, Inputs inputs, std::span<Tensor> outputs) {
  const Tensor& x = *inputs[0];
  const AxisView view = view_axis(x.shape(), axis_index(node.attributes.get_int("axis", 0), x.shape().size()));
  const std::vector<std::int64_t> indices = KINGLET_TRY(checked_indices(node, *inputs[1], view.length));
  visit_size(x.type(), [&]<typename T>() {
    const T* from = raw<T>(x).data();
    T* to = raw<T>(outputs[0]).data();
    for (std::int64_t outer = 0; outer < view.outer; ++outer) {
      for (const std::int64_t index : indices) {
        to = std::copy_n(from + (outer * view.length + index) * view.inner, view.inner, to);
      }
    }
  });
  return {};
}

// Neighbouring indices of a constant list, as slices along the axis.
struct Run {
  std::size_t start = 0;
  std::size_t length = 0;
};
std::optional<std::vector<Run>> runs_of(const Tensor& indices, Dim size) {
  constexpr std::size_t kMostRuns = 16;  // each is a copy of its own
  std::vector<Run> runs;
  for (const std::int64_t given : indices.to_int64s()) {
    if (given < -size || given >= size) return std::nullopt;  // an error, found when it runs
    const auto index = static_cast<std::size_t>(given < 0 ? given + size : given);
    if (!runs.empty() && runs.back().start + runs.back().length == index) {
      ++runs.back().length;
    } else {
      runs.push_back({.start = index, .length = 1});
    }
    if (runs.size() > kMostRuns) return std::nullopt;
  }
  return runs;
}

Result<bool> lower_gather(SubgraphBuilder& builder, const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const Shape& shape = *graph.value(node.inputs[0]).shape;
  const Tensor* indices = constant_input(graph, node, 1);
  if (indices == nullptr || indices->element_count() == 0 || shape.empty()) return false;
  const std::size_t axis = axis_index(node.attributes.get_int("axis", 0), shape.size());
  const auto runs = runs_of(*indices, shape[axis]);
  if (!runs) return false;
  const Operand input = KINGLET_TRY(builder.input(node.inputs[0], Layout::kLogical));
  const Operand output = KINGLET_TRY(builder.output(node.outputs[0]));
  Dims sizes = builder.dims(input);
  Dims offsets(sizes.size(), 0);
  std::vector<Operand> parts;
  for (const Run& run : *runs) {
    offsets[axis] = run.start;
    sizes[axis] = run.length;
    parts.push_back(KINGLET_TRY(builder.temporary(sizes)));
    KINGLET_TRY(builder.slice(offsets, sizes, input, parts.back()));
  }
  Operand joined = parts.front();
  if (parts.size() > 1) {
    sizes[axis] = static_cast<std::size_t>(indices->element_count());
    joined = KINGLET_TRY(builder.temporary(sizes));
    KINGLET_TRY(builder.concatenate(axis, parts, joined));
  }
  KINGLET_TRY(builder.reshape(joined, output));
  return true;
}

// --- GatherElements, ScatterElements --------------------------------------------------------------------------------

Result<std::size_t> element_axis(const InferContext& context) {
  const std::optional<Shape>& x = context.input_shape(0);
  const std::optional<Shape>& indices = context.input_shape(1);
  if (!x) return std::size_t{0};
  const std::size_t axis = KINGLET_TRY(checked_axis(context, context.attributes().get_int("axis", 0), x->size()));
  if (!indices) return axis;
  bool fits = indices->size() == x->size();
  for (std::size_t i = 0; fits && i < x->size(); ++i) {
    fits = i == axis || (*x)[i] == kUnknownDim || (*indices)[i] <= (*x)[i];
  }
  if (fits) return axis;
  return context.fail(format_text("indices {} do not fit {}", to_string(*indices), to_string(*x)));
}

Result<void> infer_gather_elements(InferContext& context) {
  KINGLET_TRY(need_type(context, 0, kAnyType));
  KINGLET_TRY(need_type(context, 1, kIndices));
  KINGLET_TRY(element_axis(context));
  context.set_output(0, context.input_type(0), context.input_shape(1));
  return {};
}

// Offsets into x, one for each index, in order.
Result<std::vector<std::int64_t>> element_offsets(const Node& node, const Shape& x, const Tensor& index_tensor) {
  const std::size_t axis = axis_index(node.attributes.get_int("axis", 0), x.size());
  const std::vector<std::int64_t> indices = KINGLET_TRY(checked_indices(node, index_tensor, x[axis]));
  std::vector<std::int64_t> strides = row_major_strides(x);
  const std::int64_t along = strides[axis];
  strides[axis] = 0;
  std::vector<std::int64_t> offsets;
  offsets.reserve(indices.size());
  walk<1>(index_tensor.shape(), {strides},
          [&](const auto& at) { offsets.push_back(at[0] + indices[offsets.size()] * along); });
  return offsets;
}

Result<void> evaluate_gather_elements(const Node& node, Inputs inputs, std::span<Tensor> outputs) {
  const std::vector<std::int64_t> offsets = KINGLET_TRY(element_offsets(node, inputs[0]->shape(), *inputs[1]));
  visit_size(inputs[0]->type(), [&]<typename T>() {
    const auto from = raw<T>(*inputs[0]);
    const auto to = raw<T>(outputs[0]);
    for (std::size_t i = 0; i < offsets.size(); ++i) to[i] = from[static_cast<std::size_t>(offsets[i])];
  });
  return {};
}

Result<void> check_reduction(const InferContext& context) {
  constexpr std::array<std::string_view, 5> kReductions{"none", "add", "mul", "max", "min"};
  if (std::ranges::find(kReductions, context.attributes().get_string("reduction", "none")) != kReductions.end())
    return {};
  return context.fail("attribute reduction has an unknown value");
}

// How an update meets what is there.
template <typename T>
T reduced(std::string_view reduction, T before, T update) {
  if constexpr (!std::is_same_v<T, bool>) {
    if constexpr (std::is_integral_v<T>) {
      using U = std::make_unsigned_t<T>;
      if (reduction == "add") return static_cast<T>(static_cast<U>(before) + static_cast<U>(update));
      if (reduction == "mul") return static_cast<T>(static_cast<U>(before) * static_cast<U>(update));
    } else {
      if (reduction == "add") return before + update;
      if (reduction == "mul") return before * update;
    }
    if (reduction == "max") return std::max(before, update);
    if (reduction == "min") return std::min(before, update);
  }
  return update;
}

Result<void> infer_scatter_elements(InferContext& context) {
  KINGLET_TRY(need_type(context, 0, kAnyType));
  KINGLET_TRY(need_type(context, 1, kIndices));
  KINGLET_TRY(need_type_of(context, 2, 0));
  KINGLET_TRY(element_axis(context));
  KINGLET_TRY(check_reduction(context));
  if (context.input_shape(1) && context.input_shape(2) && is_static(*context.input_shape(1)) &&
      is_static(*context.input_shape(2)) && *context.input_shape(1) != *context.input_shape(2)) {
    return context.fail("indices and updates differ in shape");
  }
  context.set_output(0, context.input_type(0), context.input_shape(0));
  return {};
}

Result<void> evaluate_scatter_elements(const Node& node, Inputs inputs, std::span<Tensor> outputs) {
  const std::vector<std::int64_t> offsets = KINGLET_TRY(element_offsets(node, inputs[0]->shape(), *inputs[1]));
  const std::string_view reduction = node.attributes.get_string("reduction", "none");
  outputs[0] = *inputs[0];
  visit_type(inputs[0]->type(), [&]<typename T>() {
    const auto updates = inputs[2]->data<T>();
    const auto to = outputs[0].mutable_data<T>();
    for (std::size_t i = 0; i < offsets.size(); ++i) {
      T& element = to[static_cast<std::size_t>(offsets[i])];
      element = reduced(reduction, element, updates[i]);
    }
  });
  return {};
}

// --- GatherND, ScatterND: each row of indices names a block of x ----------------------------------------------------

Result<void> infer_gather_nd(InferContext& context) {
  KINGLET_TRY(need_type(context, 0, kAnyType));
  KINGLET_TRY(need_type(context, 1, kIndices));
  KINGLET_TRY(need_rank(context, 0, 1));
  KINGLET_TRY(need_rank(context, 1, 1));
  const std::optional<Shape>& x = context.input_shape(0);
  const std::optional<Shape>& indices = context.input_shape(1);
  const std::int64_t batch = KINGLET_TRY(checked_int(context, "batch_dims", 0, 0, kMaxRank));
  std::optional<Shape> out;
  if (x && indices && indices->back() != kUnknownDim) {
    const auto batch_rank = static_cast<std::size_t>(batch);
    const std::size_t depth = batch_rank + static_cast<std::size_t>(indices->back());
    bool fits = indices->back() >= 0 && indices->back() <= static_cast<Dim>(kMaxRank) && depth <= x->size() &&
                batch_rank < indices->size();
    for (std::size_t i = 0; fits && i < batch_rank; ++i) fits = (*x)[i] == (*indices)[i];
    if (!fits) return context.fail(format_text("indices {} do not fit {}", to_string(*indices), to_string(*x)));
    out.emplace(indices->begin(), indices->end() - 1);
    out->insert(out->end(), x->begin() + static_cast<std::ptrdiff_t>(depth), x->end());
  }
  context.set_output(0, context.input_type(0), out);
  return {};
}

// The start of each block in x, and how many elements a block has.
struct Blocks {
  std::vector<std::int64_t> starts;
  std::int64_t size = 1;
};

Result<Blocks> blocks_of(const Node& node, const Shape& x, const Tensor& indices, std::size_t batch_rank) {
  const std::vector<std::int64_t> strides = row_major_strides(x);
  const std::vector<std::int64_t> numbers = indices.to_int64s();
  const auto depth = static_cast<std::size_t>(indices.shape().back());
  const std::int64_t rows = *element_count(std::span(indices.shape()).first(indices.shape().size() - 1));
  const std::int64_t batches = *element_count(std::span(x).first(batch_rank));
  Blocks blocks{.starts = {}, .size = *element_count(std::span(x).subspan(batch_rank + depth))};
  const std::int64_t batch_stride = *element_count(std::span(x).subspan(batch_rank));
  for (std::int64_t row = 0; row < rows; ++row) {
    std::int64_t start = row / (rows / batches) * batch_stride;
    for (std::size_t i = 0; i < depth; ++i) {
      std::int64_t index = numbers[static_cast<std::size_t>(row) * depth + i];
      const Dim size = x[batch_rank + i];
      if (index < -size || index >= size) return out_of_range(node, index, size);
      if (index < 0) index += size;
      start += index * strides[batch_rank + i];
    }
    blocks.starts.push_back(start);
  }
  return blocks;
}

Result<void> evaluate_gather_nd(const Node& node, Inputs inputs, std::span<Tensor> outputs) {
  const auto batch_rank = static_cast<std::size_t>(node.attributes.get_int("batch_dims", 0));
  if (outputs[0].element_count() == 0) return {};
  const Blocks blocks = KINGLET_TRY(blocks_of(node, inputs[0]->shape(), *inputs[1], batch_rank));
  visit_size(inputs[0]->type(), [&]<typename T>() {
    T* to = raw<T>(outputs[0]).data();
    for (const std::int64_t start : blocks.starts) to = std::copy_n(raw<T>(*inputs[0]).data() + start, blocks.size, to);
  });
  return {};
}

Result<void> infer_scatter_nd(InferContext& context) {
  KINGLET_TRY(need_type(context, 0, kAnyType));
  KINGLET_TRY(need_type(context, 1, kIndices));
  KINGLET_TRY(need_type_of(context, 2, 0));
  KINGLET_TRY(check_reduction(context));
  KINGLET_TRY(need_rank(context, 0, 1));
  KINGLET_TRY(need_rank(context, 1, 1));
  const std::optional<Shape>& x = context.input_shape(0);
  const std::optional<Shape>& indices = context.input_shape(1);
  const std::optional<Shape>& updates = context.input_shape(2);
  if (x && indices && updates && is_static(*x) && is_static(*indices) && is_static(*updates)) {
    const bool deep = indices->back() < 0 || indices->back() > static_cast<Dim>(x->size());
    Shape wanted(indices->begin(), indices->end() - 1);
    if (!deep) wanted.insert(wanted.end(), x->begin() + indices->back(), x->end());
    if (deep || *updates != wanted) {
      return context.fail(format_text("indices {} and updates {} do not fit {}", to_string(*indices),
                                      to_string(*updates), to_string(*x)));
    }
  }
  context.set_output(0, context.input_type(0), x);
  return {};
}

Result<void> evaluate_scatter_nd(const Node& node, Inputs inputs, std::span<Tensor> outputs) {
  outputs[0] = *inputs[0];
  if (inputs[2]->element_count() == 0) return {};
  const Blocks blocks = KINGLET_TRY(blocks_of(node, inputs[0]->shape(), *inputs[1], 0));
  const std::string_view reduction = node.attributes.get_string("reduction", "none");
  visit_type(inputs[0]->type(), [&]<typename T>() {
    const T* updates = inputs[2]->data<T>().data();
    T* to = outputs[0].mutable_data<T>().data();
    for (const std::int64_t start : blocks.starts) {
      for (std::int64_t i = 0; i < blocks.size; ++i) to[start + i] = reduced(reduction, to[start + i], *updates++);
    }
  });
  return {};
}

// --- Where ----------------------------------------------------------------------------------------------------------

Result<void> infer_where(InferContext& context) {
  KINGLET_TRY(need_type(context, 0, kBool));
  KINGLET_TRY(need_type(context, 1, kAnyType));
  KINGLET_TRY(need_type_of(context, 2, 1));
  context.set_output(0, context.input_type(1), KINGLET_TRY(broadcast_inputs(context)));
  return {};
}

Result<void> evaluate_where(const Node& /*node*/, Inputs inputs, std::span<Tensor> outputs) {
  const Shape& shape = outputs[0].shape();
  const auto condition = inputs[0]->data<bool>();
  visit_size(outputs[0].type(), [&]<typename T>() {
    const auto yes = raw<T>(*inputs[1]);
    const auto no = raw<T>(*inputs[2]);
    T* to = raw<T>(outputs[0]).data();
    walk<3>(shape,
            {broadcast_strides(inputs[0]->shape(), shape), broadcast_strides(inputs[1]->shape(), shape),
             broadcast_strides(inputs[2]->shape(), shape)},
            [&](const auto& at) {
              *to++ = condition[static_cast<std::size_t>(at[0])] ? yes[static_cast<std::size_t>(at[1])]
                                                                 : no[static_cast<std::size_t>(at[2])];
            });
  });
  return {};
}

// --- OneHot: indices, depth, [off, on] ------------------------------------------------------------------------------

Result<void> infer_one_hot(InferContext& context) {
  KINGLET_TRY(need_type(context, 0, kNumbers));
  KINGLET_TRY(need_type(context, 1, kNumbers));
  KINGLET_TRY(need_type(context, 2, kAnyType));
  if (context.input_shape(2) && element_count(*context.input_shape(2)).value_or(2) != 2) {
    return context.fail("values are not [off, on]");
  }
  std::optional<Shape> out = context.input_shape(0);
  if (out) {
    const std::size_t axis =
        KINGLET_TRY(checked_axis(context, context.attributes().get_int("axis", -1), out->size() + 1));
    Dim depth = kUnknownDim;
    if (const Tensor* number = context.input_constant(1)) {
      if (number->element_count() != 1) return context.fail("depth is not one number");
      double value = 0;
      if (number->type() == DataType::kF16) {
        value = number->to_floats()[0];
      } else {
        visit_type(number->type(), [&]<typename T>() { value = static_cast<double>(number->data<T>()[0]); });
      }
      if (!(value >= 0 && value <= 1 << 30)) return context.fail(format_text("depth is {}", value));
      depth = static_cast<Dim>(value);
    }
    out->insert(out->begin() + static_cast<std::ptrdiff_t>(axis), depth);
  }
  context.set_output(0, context.input_type(2), out);
  return {};
}

Result<void> evaluate_one_hot(const Node& node, Inputs inputs, std::span<Tensor> outputs) {
  const std::size_t axis = axis_index(node.attributes.get_int("axis", -1), outputs[0].shape().size());
  const AxisView view = view_axis(outputs[0].shape(), axis);
  visit_type(outputs[0].type(), [&]<typename V>() {
    const auto values = inputs[2]->data<V>();
    const auto to = outputs[0].mutable_data<V>();
    std::ranges::fill(to, values[0]);
    visit_type(inputs[0]->type(), [&]<typename I>() {
      const auto indices = inputs[0]->data<I>();
      for (std::int64_t i = 0; i < view.outer * view.inner; ++i) {
        const auto real = static_cast<double>(indices[static_cast<std::size_t>(i)]);
        if (!(real >= -static_cast<double>(view.length) && real < static_cast<double>(view.length))) continue;
        std::int64_t index = static_cast<std::int64_t>(real);
        if (index < 0) index += view.length;
        to[static_cast<std::size_t>((i / view.inner * view.length + index) * view.inner + i % view.inner)] = values[1];
      }
    });
  });
  return {};
}

}  // namespace

const OpParts kGather{
    .infer = infer_gather, .evaluate = evaluate_gather, .lower = lower_gather, .traits = {.numbers = Numbers::kMoved}};
const OpParts kGatherElements{
    .infer = infer_gather_elements, .evaluate = evaluate_gather_elements, .traits = {.numbers = Numbers::kMoved}};
const OpParts kGatherND{
    .infer = infer_gather_nd, .evaluate = evaluate_gather_nd, .traits = {.numbers = Numbers::kMoved}};
const OpParts kScatterElements{.infer = infer_scatter_elements, .evaluate = evaluate_scatter_elements};
const OpParts kScatterND{.infer = infer_scatter_nd, .evaluate = evaluate_scatter_nd};
const OpParts kWhere{
    .infer = infer_where, .evaluate = evaluate_where, .traits = {.elementwise = Elementwise::kBroadcast}};
const OpParts kOneHot{.infer = infer_one_hot, .evaluate = evaluate_one_hot};

}  // namespace kinglet::engine::ops
