// SPDX-License-Identifier: Apache-2.0
// Operators that reorder numbers: Transpose, and DepthToSpace and SpaceToDepth, which are transposes of the input seen
// with six axes. Any element type.
#include <algorithm>
#include <array>

#include "engine/base/format.h"
#include "engine/ops/common.h"
#include "engine/ops/lower.h"
#include "engine/ops/rows.h"

namespace kinglet::engine::ops {
namespace {

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
  const std::vector<std::int64_t> perm = context.attributes().get_ints("perm");
  const std::size_t rank = x ? x->size() : perm.size();
  std::vector<bool> seen(rank, false);
  for (const std::int64_t axis : perm) {
    if (perm.size() != rank || axis < 0 || axis >= static_cast<std::int64_t>(rank) ||
        seen[static_cast<std::size_t>(axis)]) {
      return context.fail(format_text("perm {} is not an order of {} axes", to_string(perm), rank));
    }
    seen[static_cast<std::size_t>(axis)] = true;
  }
  std::optional<Shape> out;
  if (x) {
    out.emplace();
    for (const std::size_t axis : permutation(context.attributes(), rank)) out->push_back((*x)[axis]);
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

Result<bool> lower_transpose(SubgraphBuilder& builder, const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const std::size_t rank = graph.value(node.inputs[0]).shape->size();
  if (rank == 0) return false;
  const std::vector<std::size_t> order = permutation(node.attributes, rank);
  const Layout from = builder.layout(node.inputs[0]);
  const Layout to = builder.layout(node.outputs[0]);
  Dims physical(rank);
  for (std::size_t place = 0; place < rank; ++place) {
    physical[place] = physical_axis(order[logical_axis(place, to)], from);
  }
  const Operand input = KINGLET_TRY(builder.input(node.inputs[0], from));
  const Operand output = KINGLET_TRY(builder.output(node.outputs[0]));
  if (std::ranges::is_sorted(physical)) {
    KINGLET_TRY(builder.reshape(input, output));
  } else {
    KINGLET_TRY(builder.transpose(physical, input, output));
  }
  return true;
}

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
      return context.fail(format_text("blocks of {} do not divide {}", block, to_string(*context.input_shape(0))));
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

const OpParts kTranspose{
    .infer = infer_transpose,
    .evaluate = evaluate_transpose,
    .lower = lower_transpose,
    .traits = {.never_negative = NeverNegative::kLikeFirst, .levels = Levels::kOfFirst, .numbers = Numbers::kMoved}};
const OpParts kDepthToSpace{
    .infer = infer_depth, .evaluate = evaluate_depth_to_space, .traits = {.numbers = Numbers::kMoved}};
const OpParts kSpaceToDepth{
    .infer = infer_depth, .evaluate = evaluate_space_to_depth, .traits = {.numbers = Numbers::kMoved}};

}  // namespace kinglet::engine::ops
