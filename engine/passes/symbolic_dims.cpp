// SPDX-License-Identifier: Apache-2.0
// Why: the dimensions of what a node makes, operator by operator; symbolic.cpp has the numbers.
#include <algorithm>

#include "engine/passes/symbolic.h"

namespace kinglet::engine {

std::optional<Terms> SymbolicShapes::dims(ValueId id) {
  if (id == kNoValue) return std::nullopt;
  const auto at = dims_.find(std::to_underlying(id));
  if (at != dims_.end()) return at->second;
  const std::optional<Shape>& shape = graph_.value(id).shape;
  if (!shape) return std::nullopt;
  Terms terms;
  for (const Dim dim : *shape) terms.push_back(dim == kUnknownDim ? fresh(Sign::kNeverNegative) : Term{.offset = dim});
  dims_.emplace(std::to_underlying(id), terms);
  return terms;
}

std::optional<Term> SymbolicShapes::input_dim(const Node& node, std::size_t input, std::size_t axis) {
  if (!has_input(node, input)) return std::nullopt;
  const std::optional<Terms> all = dims(node.inputs[input]);
  if (!all || axis >= all->size()) return std::nullopt;
  return (*all)[axis];
}

std::optional<std::vector<std::int64_t>> SymbolicShapes::axes_of(const Node& node, std::size_t rank) const {
  const Tensor* axes = fixed_input(graph_, node, 1);
  if (axes == nullptr) return std::nullopt;
  std::vector<std::int64_t> out;
  for (const std::int64_t axis : axes->to_int64s()) {
    const std::optional<std::size_t> at = place(axis, rank);
    if (!at) return std::nullopt;
    out.push_back(static_cast<std::int64_t>(*at));
  }
  std::ranges::sort(out);
  return out;
}

// Transpose, Unsqueeze, Squeeze, Flatten: the same dimensions in another place.
std::optional<Term> SymbolicShapes::moved_dim(const Node& node, std::size_t axis) {
  const std::optional<Terms> from = dims(node.inputs[0]);
  if (!from) return std::nullopt;
  const std::size_t rank = from->size();
  if (is_op(node, "Transpose")) {
    const std::vector<std::int64_t> perm = node.attributes.get_ints("perm");
    if (perm.empty()) return input_dim(node, 0, rank - 1 - axis);
    return input_dim(node, 0, static_cast<std::size_t>(perm[axis]));
  }
  if (is_op(node, "Flatten")) {
    const std::int64_t at = node.attributes.get_int("axis", 1);
    const auto split = from->begin() + (at < 0 ? at + static_cast<std::int64_t>(rank) : at);
    return product(axis == 0 ? Terms(from->begin(), split) : Terms(split, from->end()));
  }
  const bool adds = is_op(node, "Unsqueeze");
  const std::optional<std::vector<std::int64_t>> axes = axes_of(node, graph_.value(node.outputs[0]).shape->size());
  if (adds && axes) {
    const auto before = std::ranges::count_if(*axes, [&](auto a) { return a < static_cast<std::int64_t>(axis); });
    return input_dim(node, 0, axis - static_cast<std::size_t>(before));
  }
  const std::optional<std::vector<std::int64_t>> dropped = adds ? std::nullopt : axes_of(node, rank);
  if (!dropped) return std::nullopt;
  for (std::size_t i = 0, kept = 0; i < rank; ++i) {
    if (std::ranges::binary_search(*dropped, static_cast<std::int64_t>(i))) continue;
    if (kept++ == axis) return (*from)[i];
  }
  return std::nullopt;
}

std::optional<Term> SymbolicShapes::reshaped_dim(const Node& node, std::size_t axis) {
  const std::optional<Terms> target = numbers(node.inputs[1]);
  std::optional<Terms> left = dims(node.inputs[0]);
  if (!target || !left || axis >= target->size()) return std::nullopt;
  const bool copies = node.attributes.get_int("allowzero", 0) == 0;
  const auto meant = [&](std::size_t i) -> std::optional<Term> {
    const Term& term = (*target)[i];
    if (copies && term == Term{}) return input_dim(node, 0, i);
    if (!is_never_negative(term)) return std::nullopt;
    return term;
  };
  if ((*target)[axis] != Term{.offset = -1}) return meant(axis);
  // What the other dimensions leave of the input's.
  std::int64_t numerator = 1;
  std::int64_t denominator = 1;
  for (std::size_t i = 0; i < target->size(); ++i) {
    if (i == axis) continue;
    const std::optional<Term> other = meant(i);
    if (!other) return std::nullopt;
    if (other->is_number()) {
      if (__builtin_mul_overflow(denominator, other->offset, &denominator)) return std::nullopt;
      continue;
    }
    const auto same = std::ranges::find(*left, *other);
    if (same == left->end()) return std::nullopt;
    left->erase(same);
  }
  Terms rest;
  for (const Term& term : *left) {
    if (!term.is_number()) {
      rest.push_back(term);
    } else if (__builtin_mul_overflow(numerator, term.offset, &numerator)) {
      return std::nullopt;
    }
  }
  if (denominator == 0 || numerator % denominator != 0) return std::nullopt;
  return multiply(product(rest), Term{.offset = numerator / denominator});
}

// Numpy's broadcasting, axes counted from the end; the last `skip_last` axes belong to something else.
std::optional<Term> SymbolicShapes::broadcast_dim(const Node& node, std::size_t axis, std::size_t rank,
                                                  std::size_t skip_last) {
  std::optional<Term> out;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const std::optional<Terms> from = dims(node.inputs[i]);
    if (!from || from->size() < skip_last) return std::nullopt;
    if (from->size() + axis < rank) continue;  // no such axis: 1
    const Term& term = (*from)[from->size() + axis - rank];
    if (term == Term{.offset = 1}) continue;
    if (out && *out != term) return std::nullopt;
    out = term;
  }
  return out;
}

std::optional<Term> SymbolicShapes::joined_dim(const Node& node, std::size_t axis) {
  const std::optional<Terms> first = dims(node.inputs[0]);
  if (!first) return std::nullopt;
  const std::optional<std::size_t> along = place(node.attributes.get_int("axis", 0), first->size());
  if (!along) return std::nullopt;
  if (axis != *along) return input_dim(node, 0, axis);
  if (is_op(node, "Split")) return std::nullopt;
  Term sum;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const std::optional<Term> part = input_dim(node, i, axis);
    if (!part) return std::nullopt;
    sum = add(sum, *part, 1);
  }
  return sum;
}

std::optional<Term> SymbolicShapes::matrix_dim(const Node& node, std::size_t axis, std::size_t rank) {
  if (is_op(node, "Gemm")) {
    if (axis == 0) return input_dim(node, 0, node.attributes.get_int("transA", 0) != 0 ? 1 : 0);
    return input_dim(node, 1, node.attributes.get_int("transB", 0) != 0 ? 0 : 1);
  }
  const std::optional<Terms> a = dims(node.inputs[0]);
  const std::optional<Terms> b = dims(node.inputs[1]);
  if (!a || !b || a->size() < 2 || b->size() < 2) return std::nullopt;
  if (axis + 2 == rank) return (*a)[a->size() - 2];
  if (axis + 1 == rank) return b->back();
  return broadcast_dim(node, axis, rank, 2);
}

std::optional<Term> SymbolicShapes::sliced_dim(const Node& node, std::size_t axis, std::size_t rank) {
  const Tensor* axes = fixed_input(graph_, node, 3);
  if (axes == nullptr) return std::nullopt;
  const bool cut = std::ranges::any_of(axes->to_int64s(), [&](auto a) { return place(a, rank) == axis; });
  return cut ? std::nullopt : input_dim(node, 0, axis);
}

std::optional<Term> SymbolicShapes::dim_of(const Node& node, std::size_t output, std::size_t axis) {
  const std::size_t rank = graph_.value(node.outputs[output]).shape->size();
  if (is_any_of(node, {"Transpose", "Unsqueeze", "Squeeze", "Flatten"})) return moved_dim(node, axis);
  if (is_op(node, "Reshape")) return reshaped_dim(node, axis);
  if (is_any_of(node, {"Concat", "Split"})) return joined_dim(node, axis);
  if (is_any_of(node, {"MatMul", "Gemm"})) return matrix_dim(node, axis, rank);
  if (is_op(node, "Slice")) return sliced_dim(node, axis, rank);
  const Traits& traits = traits_of(node);
  if (traits.elementwise == Elementwise::kUnary) return input_dim(node, 0, axis);
  if (traits.elementwise == Elementwise::kBroadcast) return broadcast_dim(node, axis, rank, 0);
  switch (traits.dims) {
    case DimRule::kLikeFirst:
      return output == 0 ? input_dim(node, 0, axis) : std::nullopt;
    case DimRule::kBatch:
      return axis == 0 ? input_dim(node, 0, 0) : std::nullopt;
    case DimRule::kReduced: {  // reduced axes are 1: not asked for
      const bool keeps = node.attributes.get_int("keepdims", 1) != 0 && fixed_input(graph_, node, 1) != nullptr;
      return keeps ? input_dim(node, 0, axis) : std::nullopt;
    }
    case DimRule::kUnknown:
      break;
  }
  return std::nullopt;
}

}  // namespace kinglet::engine
