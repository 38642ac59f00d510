// SPDX-License-Identifier: Apache-2.0
// kinglet::Rearrange: what a chain of Reshape, Transpose and Gather of one index does, as one copy. Session passes make
// it; files do not hold it.
//   y = Reshape(Transpose(Take(Reshape(x, split))), shape): `take` has a number an axis of split, the index that is
//   taken of it or -1 for the whole axis; `perm` is the order of the whole axes. No size in split is 1.
#include <algorithm>
#include <numeric>

#include "engine/base/format.h"
#include "engine/ops/common.h"
#include "engine/ops/lower.h"
#include "engine/ops/rows.h"

namespace kinglet::engine::ops {
namespace {

constexpr std::int64_t kWhole = -1;

Result<void> infer_rearrange(InferContext& context) {
  KINGLET_TRY(need_type(context, 0, kAnyType));
  const Shape split = context.attributes().get_ints("split");
  const Shape shape = context.attributes().get_ints("shape");
  const std::vector<std::int64_t> take = context.attributes().get_ints("take");
  std::vector<std::int64_t> perm = context.attributes().get_ints("perm");
  const std::optional<std::int64_t> whole = element_count(split);
  const bool positive = std::ranges::all_of(split, [](Dim dim) { return dim > 0; });
  if (!positive || !whole || split.size() > kMaxRank || take.size() != split.size()) {
    return context.fail(format_text("cannot rearrange {}", to_string(split)));
  }
  std::vector<std::int64_t> kept;
  std::int64_t count = 1;
  for (std::size_t i = 0; i < split.size(); ++i) {
    if (take[i] < kWhole || take[i] >= split[i]) return context.fail(format_text("takes {} of {}", take[i], split[i]));
    if (take[i] != kWhole) continue;
    kept.push_back(static_cast<std::int64_t>(i));
    count *= split[i];
  }
  std::ranges::sort(perm);
  const std::optional<Shape>& x = context.input_shape(0);
  if (perm != kept || element_count(shape) != count || (x && is_static(*x) && element_count(*x) != whole)) {
    return context.fail(format_text("cannot rearrange {} into {}", to_string(split), to_string(shape)));
  }
  context.set_output(0, context.input_type(0), shape);
  return {};
}

Result<void> evaluate_rearrange(const Node& node, Inputs inputs, std::span<Tensor> outputs) {
  const Shape split = node.attributes.get_ints("split");
  const std::vector<std::int64_t> take = node.attributes.get_ints("take");
  const std::vector<std::int64_t> dense = row_major_strides(split);
  std::int64_t start = 0;
  for (std::size_t i = 0; i < split.size(); ++i) start += take[i] == kWhole ? 0 : take[i] * dense[i];
  Shape shape;
  std::vector<std::int64_t> strides;
  for (const std::int64_t axis : node.attributes.get_ints("perm")) {
    shape.push_back(split[static_cast<std::size_t>(axis)]);
    strides.push_back(dense[static_cast<std::size_t>(axis)]);
  }
  Tensor target(inputs[0]->type(), shape);
  copy_strided(*inputs[0], start, strides, target);
  outputs[0] = target.reshaped(outputs[0].shape());
  return {};
}

// Numbers atoms of `sizes` by the dimension of `shape` they make up; nothing when one lies across two.
std::optional<std::vector<Dims>> group_by(const Shape& shape, const Dims& atoms, const Dims& sizes) {
  std::vector<Dims> groups(shape.size());
  std::size_t next = 0;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    auto left = static_cast<std::size_t>(shape[axis]);
    while (left > 1) {
      if (next == atoms.size() || left % sizes[atoms[next]] != 0) return std::nullopt;
      left /= sizes[atoms[next]];
      groups[axis].push_back(atoms[next++]);
    }
  }
  return groups;
}

// `atoms`, given in the order of `shape`, in the order they have in memory.
std::optional<Dims> in_memory(const Shape& shape, Layout layout, const Dims& atoms, const Dims& sizes) {
  if (layout == Layout::kLogical) return atoms;
  const auto groups = group_by(shape, atoms, sizes);
  if (!groups) return std::nullopt;
  Dims out;
  for (std::size_t place = 0; place < groups->size(); ++place) {
    const Dims& group = (*groups)[logical_axis(place, layout)];
    out.insert(out.end(), group.begin(), group.end());
  }
  return out;
}

struct Move {
  Dims split;
  Dims perm;
};

// Atoms that stay neighbours become one.
Move merged(const Dims& source, const Dims& target, const Dims& sizes) {
  Dims place(sizes.size(), 0);
  for (std::size_t i = 0; i < source.size(); ++i) place[source[i]] = i;
  Dims starts;  // places in `source` where a run begins, in the order of `target`
  Dims lengths;
  for (std::size_t i = 0; i < target.size(); ++i) {
    if (i > 0 && place[target[i]] == place[target[i - 1]] + 1) {
      lengths.back() *= sizes[target[i]];
      continue;
    }
    starts.push_back(place[target[i]]);
    lengths.push_back(sizes[target[i]]);
  }
  Dims by_source(starts.size());
  std::iota(by_source.begin(), by_source.end(), 0);
  std::ranges::sort(by_source, {}, [&](std::size_t run) { return starts[run]; });
  Move move;
  move.perm.resize(starts.size());
  for (std::size_t i = 0; i < by_source.size(); ++i) {
    move.split.push_back(lengths[by_source[i]]);
    move.perm[by_source[i]] = i;
  }
  return move;
}

Result<void> add_move(SubgraphBuilder& builder, const Move& move, Operand input, Operand output) {
  if (move.split.size() <= 1) return builder.reshape(input, output);
  Dims turned_dims;
  for (const std::size_t axis : move.perm) turned_dims.push_back(move.split[axis]);
  Operand split = input;
  if (builder.dims(input) != move.split) {
    split = KINGLET_TRY(builder.temporary(move.split));
    KINGLET_TRY(builder.reshape(input, split));
  }
  if (builder.dims(output) == turned_dims) return builder.transpose(move.perm, split, output);
  const Operand turned = KINGLET_TRY(builder.temporary(turned_dims));
  KINGLET_TRY(builder.transpose(move.perm, split, turned));
  return builder.reshape(turned, output);
}

// Cuts the taken indices out of `input`, whose atoms lie in the order of `source`; those leave `source`.
Result<Operand> take_out(SubgraphBuilder& builder, std::span<const std::int64_t> take, const Dims& sizes, Dims& source,
                         Operand input) {
  Dims dims;  // neighbours of one kind as one axis
  Dims offsets;
  Dims cut;
  bool whole_before = false;
  for (const std::size_t atom : source) {
    const bool whole = take[atom] == kWhole;
    if (dims.empty() || whole != whole_before) {
      dims.push_back(1);
      offsets.push_back(0);
      cut.push_back(1);
    }
    dims.back() *= sizes[atom];
    if (whole) {
      cut.back() *= sizes[atom];
    } else {
      offsets.back() = offsets.back() * sizes[atom] + static_cast<std::size_t>(take[atom]);
    }
    whole_before = whole;
  }
  const Operand split = KINGLET_TRY(builder.temporary(dims));
  const Operand out = KINGLET_TRY(builder.temporary(cut));
  KINGLET_TRY(builder.reshape(input, split));
  KINGLET_TRY(builder.slice(offsets, cut, split, out));
  std::erase_if(source, [&](std::size_t atom) { return take[atom] != kWhole; });
  return out;
}

Result<bool> lower_rearrange(SubgraphBuilder& builder, const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (graph.value(node.inputs[0]).type != DataType::kF32) return false;
  const Dims sizes = dims_of(node.attributes.get_ints("split"));
  if (std::ranges::contains(sizes, 1U)) return false;  // which dimension such an atom lies in cannot be told
  const Dims order = dims_of(node.attributes.get_ints("perm"));
  const std::vector<std::int64_t> take = node.attributes.get_ints("take");
  Dims logical(sizes.size());
  std::iota(logical.begin(), logical.end(), 0);
  Layout from = builder.layout(node.inputs[0]);
  auto source = in_memory(*graph.value(node.inputs[0]).shape, from, logical, sizes);
  if (!source) {
    from = Layout::kLogical;
    source = logical;
  }
  const auto target = in_memory(*graph.value(node.outputs[0]).shape, builder.layout(node.outputs[0]), order, sizes);
  if (!target) return false;
  Operand input = KINGLET_TRY(builder.input(node.inputs[0], from));
  const Operand output = KINGLET_TRY(builder.output(node.outputs[0]));
  if (source->size() != target->size()) input = KINGLET_TRY(take_out(builder, take, sizes, *source, input));
  KINGLET_TRY(add_move(builder, merged(*source, *target, sizes), input, output));
  return true;
}

}  // namespace

const OpParts kRearrange{.infer = infer_rearrange, .evaluate = evaluate_rearrange, .lower = lower_rearrange};

}  // namespace kinglet::engine::ops
