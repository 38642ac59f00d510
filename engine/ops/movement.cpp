// SPDX-License-Identifier: Apache-2.0
// Operators that pick, join, repeat and reorder numbers without changing them: Transpose, Concat, Split, Slice, Expand,
// Tile, DepthToSpace, SpaceToDepth. Any element type.
#include <algorithm>
#include <cstring>
#include <format>

#include "engine/ops/common.h"
#include "engine/ops/lower.h"
#include "engine/ops/normalize.h"
#include "engine/ops/rows.h"

namespace kinglet::engine::ops {
namespace {

// --- Transpose
// ----------------------------------------------------------------------------------------------------------

std::vector<std::size_t> permutation(const Attributes& attributes, std::size_t rank) {
  std::vector<std::size_t> out;
  for (const std::int64_t axis : attributes.get_ints("perm")) out.push_back(static_cast<std::size_t>(axis));
  if (!out.empty()) return out;
  for (std::size_t i = rank; i-- > 0;) out.push_back(i);
  return out;
}

Result<void> infer_transpose(InferContext& context) {
  KINGLET_TRY(need_type(context, 0, kAnyType));
  const std::optional<Shape>& x = context.input_shape(0);
  std::optional<Shape> out;
  if (x) {
    const std::vector<std::int64_t> perm = context.attributes().get_ints("perm");
    std::vector<bool> seen(x->size(), false);
    for (const std::int64_t axis : perm) {
      if (axis < 0 || axis >= static_cast<std::int64_t>(x->size()) || seen[static_cast<std::size_t>(axis)]) {
        return context.fail(std::format("perm {} is not an order of {} axes", to_string(perm), x->size()));
      }
      seen[static_cast<std::size_t>(axis)] = true;
    }
    if (!perm.empty() && perm.size() != x->size()) {
      return context.fail(std::format("perm {} is not an order of {} axes", to_string(perm), x->size()));
    }
    out.emplace();
    for (const std::size_t axis : permutation(context.attributes(), x->size())) out->push_back((*x)[axis]);
  }
  context.set_output(0, context.input_type(0), out);
  return {};
}

Result<void> evaluate_transpose(const Node& node, Inputs inputs, std::span<Tensor> outputs) {
  const std::vector<std::int64_t> dense = row_major_strides(inputs[0]->shape());
  std::vector<std::int64_t> strides;
  for (const std::size_t axis : permutation(node.attributes, dense.size())) strides.push_back(dense[axis]);
  copy_strided(*inputs[0], 0, strides, outputs[0]);
  return {};
}

// --- Concat
// -------------------------------------------------------------------------------------------------------------

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
    const std::optional<Shape>& x = context.input_shape(i);
    if (!x) {
      unknown = true;
      continue;
    }
    const std::size_t axis = KINGLET_TRY(checked_axis(context, context.attributes().get_int("axis", 0), x->size()));
    if (!out) {
      out = x;
      continue;
    }
    bool fits = out->size() == x->size();
    for (std::size_t k = 0; fits && k < x->size(); ++k) {
      Dim& dim = (*out)[k];
      if (k == axis) {
        dim = dim == kUnknownDim || (*x)[k] == kUnknownDim ? kUnknownDim : dim + (*x)[k];
      } else if (dim == kUnknownDim) {
        dim = (*x)[k];
      } else {
        fits = (*x)[k] == kUnknownDim || (*x)[k] == dim;
      }
    }
    if (!fits)
      return context.fail(std::format("cannot join {} and {} on axis {}", to_string(*out), to_string(*x), axis));
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

// --- Split
// --------------------------------------------------------------------------------------------------------------

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
      if (length < 0 || length > kMaxDim) return context.fail(std::format("split holds {}", length));
      sum += length;
    }
    if (lengths.size() != count || sum != whole) {
      return context.fail(std::format("split {} into {} outputs of {}", to_string(lengths), count, whole));
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

// --- Slice: data, starts, ends, axes, steps
// -----------------------------------------------------------------------------

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
      return context.fail(std::format("input {} has {} numbers, starts has {}", i, inputs[i]->element_count(), count));
    }
  }
  if (inputs[3] != nullptr) {
    KINGLET_TRY(checked_axes(context, inputs[3]->to_int64s(), x->size()));
  } else if (count > static_cast<std::int64_t>(x->size())) {
    return context.fail(std::format("cuts {} axes of {}", count, to_string(*x)));
  }
  if (inputs[4] != nullptr) {
    for (const std::int64_t step : inputs[4]->to_int64s()) {
      if (step == 0 || step < -kMaxDim) return context.fail(std::format("a step is {}", step));
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

// --- Expand, Tile
// ---------------------------------------------------------------------------------------------------------

Result<void> infer_expand(InferContext& context) {
  KINGLET_TRY(need_type(context, 0, kAnyType));
  KINGLET_TRY(need_type(context, 1, kIndices));
  const std::optional<Shape>& x = context.input_shape(0);
  const Tensor* wanted = context.input_constant(1);
  std::optional<Shape> out;
  if (x && wanted != nullptr) {
    const std::vector<std::int64_t> dims = wanted->to_int64s();
    for (const std::int64_t dim : dims) {
      if (dim < 0 || dim > kMaxDim) return context.fail(std::format("the shape holds {}", dim));
    }
    out = broadcast(*x, dims);
    if (!out) return context.fail(std::format("cannot expand {} to {}", to_string(*x), to_string(dims)));
  }
  context.set_output(0, context.input_type(0), out);
  return {};
}

Result<void> evaluate_expand(const Node& /*node*/, Inputs inputs, std::span<Tensor> outputs) {
  copy_strided(*inputs[0], 0, broadcast_strides(inputs[0]->shape(), outputs[0].shape()), outputs[0]);
  return {};
}

Result<void> infer_tile(InferContext& context) {
  KINGLET_TRY(need_type(context, 0, kAnyType));
  KINGLET_TRY(need_type(context, 1, kIndices));
  std::optional<Shape> out = context.input_shape(0);
  const Tensor* repeats = context.input_constant(1);
  if (out && repeats != nullptr) {
    const std::vector<std::int64_t> times = repeats->to_int64s();
    if (times.size() != out->size())
      return context.fail(std::format("{} repeats for {}", times.size(), to_string(*out)));
    for (std::size_t i = 0; i < times.size(); ++i) {
      if (times[i] < 0 || times[i] > kMaxDim) return context.fail(std::format("repeats {} times", times[i]));
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

// --- DepthToSpace, SpaceToDepth: a transpose of the input seen with six axes
// ---------------------------------------------

Result<void> infer_depth(InferContext& context) {
  KINGLET_TRY(need_type(context, 0, kAnyType));
  KINGLET_TRY(need_rank(context, 0, 4, 4));
  const std::int64_t block = KINGLET_TRY(checked_int(context, "blocksize", 0, 1, 1 << 15));
  std::optional<Shape> out = context.input_shape(0);
  if (out) {
    const bool to_space = context.node().op_type == "DepthToSpace";
    const auto scale = [&](Dim& dim, bool grow, std::int64_t factor) {
      if (dim == kUnknownDim) return true;
      if (!grow && dim % factor != 0) return false;
      dim = grow ? dim * factor : dim / factor;
      return true;
    };
    if (!scale((*out)[1], !to_space, block * block) || !scale((*out)[2], to_space, block) ||
        !scale((*out)[3], to_space, block)) {
      return context.fail(std::format("blocks of {} do not divide {}", block, to_string(*context.input_shape(0))));
    }
  }
  context.set_output(0, context.input_type(0), out);
  return {};
}

// to = from, seen as `split` and read in the order `perm`.
void copy_permuted(const Tensor& from, const Shape& split, std::span<const std::size_t> perm, Tensor& to) {
  const std::vector<std::int64_t> dense = row_major_strides(split);
  Shape shape;
  std::vector<std::int64_t> strides;
  for (const std::size_t axis : perm) {
    shape.push_back(split[axis]);
    strides.push_back(dense[axis]);
  }
  Tensor target(from.type(), shape);
  copy_strided(from, 0, strides, target);
  to = target.reshaped(to.shape());
}

Result<void> evaluate_depth_to_space(const Node& node, Inputs inputs, std::span<Tensor> outputs) {
  const Shape& x = inputs[0]->shape();
  const Dim block = node.attributes.get_int("blocksize", 1);
  const Dim depth = x[1] / (block * block);
  if (node.attributes.get_string("mode", "DCR") == "CRD") {
    const std::array<std::size_t, 6> perm{0, 1, 4, 2, 5, 3};
    copy_permuted(*inputs[0], {x[0], depth, block, block, x[2], x[3]}, perm, outputs[0]);
  } else {
    const std::array<std::size_t, 6> perm{0, 3, 4, 1, 5, 2};
    copy_permuted(*inputs[0], {x[0], block, block, depth, x[2], x[3]}, perm, outputs[0]);
  }
  return {};
}

Result<void> evaluate_space_to_depth(const Node& node, Inputs inputs, std::span<Tensor> outputs) {
  const Shape& x = inputs[0]->shape();
  const Dim block = node.attributes.get_int("blocksize", 1);
  const std::array<std::size_t, 6> perm{0, 3, 5, 1, 2, 4};
  copy_permuted(*inputs[0], {x[0], x[1], x[2] / block, block, x[3] / block, block}, perm, outputs[0]);
  return {};
}

}  // namespace

const Op kTranspose{.op_type = "Transpose",
                    .infer = infer_transpose,
                    .evaluate = evaluate_transpose,
                    .lower = lower_transpose,
                    .layout = LayoutRule::kTransposes};
const Op kConcat{.op_type = "Concat",
                 .max_inputs = Op::kVariadic,
                 .normalize = normalize_concat,
                 .infer = infer_concat,
                 .evaluate = evaluate_concat,
                 .lower = lower_concat,
                 .layout = LayoutRule::kFollow};
const Op kSplit{.op_type = "Split",
                .max_inputs = 2,
                .max_outputs = Op::kVariadic,
                .normalize = normalize_split,
                .infer = infer_split,
                .evaluate = evaluate_split,
                .lower = lower_split,
                .layout = LayoutRule::kFollow};
const Op kSlice{.op_type = "Slice",
                .min_inputs = 3,
                .max_inputs = 5,
                .normalize = normalize_slice,
                .infer = infer_slice,
                .evaluate = evaluate_slice,
                .lower = lower_slice,
                .layout = LayoutRule::kFollow};
const Op kExpand{
    .op_type = "Expand", .min_inputs = 2, .max_inputs = 2, .infer = infer_expand, .evaluate = evaluate_expand};
const Op kTile{.op_type = "Tile", .min_inputs = 2, .max_inputs = 2, .infer = infer_tile, .evaluate = evaluate_tile};
const Op kDepthToSpace{.op_type = "DepthToSpace", .infer = infer_depth, .evaluate = evaluate_depth_to_space};
const Op kSpaceToDepth{.op_type = "SpaceToDepth", .infer = infer_depth, .evaluate = evaluate_space_to_depth};

}  // namespace kinglet::engine::ops
