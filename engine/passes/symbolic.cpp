// SPDX-License-Identifier: Apache-2.0
#include "engine/passes/symbolic.h"

#include <algorithm>

namespace kinglet::engine {
namespace {

constexpr std::int64_t kMostNumbers = 64;

bool is_whole(DataType type) { return type == DataType::kI64 || type == DataType::kI32 || type == DataType::kBool; }

// Elements of a value that may describe a shape; nothing when it is larger, of more axes, or not counted.
std::optional<std::size_t> small_count(const Value& value) {
  if (!is_whole(value.type) || !value.shape || value.shape->size() > 1) return std::nullopt;
  const std::optional<std::int64_t> count = element_count(*value.shape);
  if (!count || *count > kMostNumbers) return std::nullopt;
  return static_cast<std::size_t>(*count);
}

std::optional<Terms> terms_of(const Tensor& constant) {
  if (constant.element_count() > kMostNumbers || constant.shape().size() > 1) return std::nullopt;
  Terms terms;
  if (constant.type() == DataType::kBool) {
    for (const bool number : constant.data<bool>()) terms.push_back({.offset = number ? 1 : 0});
    return terms;
  }
  if (!is_whole(constant.type())) return std::nullopt;
  for (const std::int64_t number : constant.to_int64s()) terms.push_back({.offset = number});
  return terms;
}

std::optional<std::int64_t> only_number(const std::optional<Terms>& terms) {
  if (!terms || terms->size() != 1 || !terms->front().is_number()) return std::nullopt;
  return terms->front().offset;
}

}  // namespace

std::optional<std::size_t> place(std::int64_t at, std::size_t count) {
  const std::int64_t index = at < 0 ? at + static_cast<std::int64_t>(count) : at;
  if (index < 0 || index >= static_cast<std::int64_t>(count)) return std::nullopt;
  return static_cast<std::size_t>(index);
}

// --- Terms ---------------------------------------------------------------------------------------------------------

Term SymbolicShapes::fresh(Sign sign) {
  signs_.push_back(sign);
  return {.factor = 1, .symbol = static_cast<std::uint32_t>(signs_.size() - 1), .offset = 0};
}

bool SymbolicShapes::is_never_negative(const Term& term) const {
  return term.factor >= 0 && term.offset >= 0 && signs_[term.symbol] == Sign::kNeverNegative;
}

Term SymbolicShapes::add(const Term& a, const Term& b, int sign) {
  Term sum;
  const bool alike = a.symbol == b.symbol || a.is_number() || b.is_number();
  std::int64_t factor = 0;
  std::int64_t offset = 0;
  const bool overflows =
      __builtin_mul_overflow(b.factor, sign, &factor) || __builtin_add_overflow(a.factor, factor, &sum.factor) ||
      __builtin_mul_overflow(b.offset, sign, &offset) || __builtin_add_overflow(a.offset, offset, &sum.offset);
  if (!alike || overflows) {
    const bool grows = sign > 0 && is_never_negative(a) && is_never_negative(b);
    return fresh(grows ? Sign::kNeverNegative : Sign::kAny);
  }
  sum.symbol = sum.factor == 0 ? 0 : std::max(a.symbol, b.symbol);
  return sum;
}

Term SymbolicShapes::multiply(const Term& a, const Term& b) {
  if (!a.is_number() && !b.is_number()) {
    const auto [at, added] = products_.try_emplace(std::minmax(a, b));
    if (added) {
      at->second = fresh(is_never_negative(a) && is_never_negative(b) ? Sign::kNeverNegative : Sign::kAny);
    }
    return at->second;
  }
  const Term& scaled = b.is_number() ? a : b;
  const std::int64_t by = b.is_number() ? b.offset : a.offset;
  Term out{.factor = 0, .symbol = scaled.symbol, .offset = 0};
  if (__builtin_mul_overflow(scaled.factor, by, &out.factor) ||
      __builtin_mul_overflow(scaled.offset, by, &out.offset)) {
    return fresh(Sign::kAny);
  }
  if (out.factor == 0) out.symbol = 0;
  return out;
}

// Whole quotients only, so that rounding does not matter.
std::optional<Term> SymbolicShapes::divide(const Term& a, const Term& b) {
  if (!b.is_number() || b.offset <= 0) return std::nullopt;
  if (a.is_number() && a.offset >= 0) return Term{.offset = a.offset / b.offset};
  if (a.factor % b.offset != 0 || a.offset % b.offset != 0) return std::nullopt;
  return Term{.factor = a.factor / b.offset, .symbol = a.symbol, .offset = a.offset / b.offset};
}

Term SymbolicShapes::product(const Terms& terms) {
  Term out{.offset = 1};
  for (const Term& term : terms) out = multiply(out, term);
  return out;
}

// --- Small integer tensors -----------------------------------------------------------------------------------------

std::optional<Terms> SymbolicShapes::numbers(ValueId id) const {
  if (id == kNoValue) return std::nullopt;
  if (const Tensor* constant = fixed_constant(graph_, id)) return terms_of(*constant);
  const auto at = numbers_.find(std::to_underlying(id));
  if (at == numbers_.end()) return std::nullopt;
  return at->second;
}

std::optional<Terms> SymbolicShapes::listed_dims(const Node& node) {
  const std::optional<Terms> all = dims(node.inputs[0]);
  if (!all) return std::nullopt;
  if (is_op(node, "Size")) return Terms{product(*all)};
  const auto rank = static_cast<std::int64_t>(all->size());
  const auto within = [&](std::int64_t at) { return std::clamp<std::int64_t>(at < 0 ? at + rank : at, 0, rank); };
  const std::int64_t start = within(node.attributes.get_int("start", 0));
  const std::int64_t end = within(node.attributes.get_int("end", rank));
  if (start >= end) return Terms{};
  return Terms(all->begin() + start, all->begin() + end);
}

std::optional<Terms> SymbolicShapes::picked(const Node& node) {
  const std::optional<Terms> from = numbers(node.inputs[0]);
  const std::optional<Terms> indices = numbers(node.inputs[1]);
  if (!from || !indices || graph_.value(node.inputs[0]).shape->size() != 1) return std::nullopt;
  Terms out;
  for (const Term& index : *indices) {
    const std::optional<std::size_t> at = index.is_number() ? place(index.offset, from->size()) : std::nullopt;
    if (!at) return std::nullopt;
    out.push_back((*from)[*at]);
  }
  return out;
}

std::optional<Terms> SymbolicShapes::joined(const Node& node) {
  Terms out;
  for (const ValueId input : node.inputs) {
    const std::optional<Terms> part = numbers(input);
    if (!part) return std::nullopt;
    out.insert(out.end(), part->begin(), part->end());
  }
  return out;
}

std::optional<Terms> SymbolicShapes::sliced(const Node& node) {
  const std::optional<Terms> from = numbers(node.inputs[0]);
  if (!from || !graph_.value(node.inputs[0]).shape || graph_.value(node.inputs[0]).shape->size() != 1) {
    return std::nullopt;
  }
  const auto number_at = [&](std::size_t input, std::int64_t fallback) {
    return has_input(node, input) ? only_number(numbers(node.inputs[input])) : std::optional(fallback);
  };
  const auto count = static_cast<std::int64_t>(from->size());
  const std::optional<std::int64_t> start = number_at(1, 0);
  const std::optional<std::int64_t> end = number_at(2, count);
  const std::optional<std::int64_t> step = number_at(4, 1);
  if (!start || !end || !step || *step < 1) return std::nullopt;
  const auto within = [&](std::int64_t at) { return std::clamp<std::int64_t>(at < 0 ? at + count : at, 0, count); };
  Terms out;
  for (std::int64_t at = within(std::max(*start, -count)); at < within(std::max(*end, -count)); at += *step) {
    out.push_back((*from)[static_cast<std::size_t>(at)]);
    if (*step > kMostNumbers) break;
  }
  return out;
}

std::optional<Term> SymbolicShapes::combine(const Node& node, const Term& a, const Term& b) {
  if (is_op(node, "Add")) return add(a, b, 1);
  if (is_op(node, "Sub")) return add(a, b, -1);
  if (is_op(node, "Mul")) return multiply(a, b);
  if (is_op(node, "Div")) return divide(a, b);
  if (a == b) return Term{.offset = 1};  // Equal
  if (a.is_number() && b.is_number()) return Term{.offset = 0};
  const auto never = [&](const Term& term, const Term& number) {
    return number.is_number() && number.offset < 0 && is_never_negative(term);
  };
  if (never(a, b) || never(b, a)) return Term{.offset = 0};
  return std::nullopt;
}

std::optional<Terms> SymbolicShapes::combined(const Node& node) {
  if (graph_.value(node.inputs[0]).type != DataType::kI64) return std::nullopt;  // 32 bits may overflow unseen
  const std::optional<Terms> a = numbers(node.inputs[0]);
  const std::optional<Terms> b = numbers(node.inputs[1]);
  if (!a || !b || a->empty() || b->empty()) return std::nullopt;
  const std::size_t count = std::max(a->size(), b->size());
  if ((a->size() != count && a->size() != 1) || (b->size() != count && b->size() != 1)) return std::nullopt;
  Terms out;
  for (std::size_t i = 0; i < count; ++i) {
    const std::optional<Term> term = combine(node, (*a)[a->size() == 1 ? 0 : i], (*b)[b->size() == 1 ? 0 : i]);
    if (!term) return std::nullopt;
    out.push_back(*term);
  }
  return out;
}

// Where
std::optional<Terms> SymbolicShapes::chosen(const Node& node) {
  const std::optional<Terms> condition = numbers(node.inputs[0]);
  const std::optional<Terms> yes = numbers(node.inputs[1]);
  const std::optional<Terms> no = numbers(node.inputs[2]);
  if (!condition || !yes || !no) return std::nullopt;
  const std::size_t count = std::max({condition->size(), yes->size(), no->size()});
  Terms out;
  for (std::size_t i = 0; i < count; ++i) {
    const auto at = [&](const Terms& terms) -> const Term* {
      if (terms.size() == 1) return &terms[0];
      return i < terms.size() ? &terms[i] : nullptr;
    };
    const Term* which = at(*condition);
    const Term* left = at(*yes);
    const Term* right = at(*no);
    if (which == nullptr || left == nullptr || right == nullptr || !which->is_number()) return std::nullopt;
    out.push_back(which->offset != 0 ? *left : *right);
  }
  return out;
}

std::optional<Terms> SymbolicShapes::numbers_of(const Node& node) {
  if (is_any_of(node, {"Shape", "Size"})) return listed_dims(node);
  if (is_op(node, "Gather")) return picked(node);
  if (is_op(node, "Concat")) return joined(node);
  if (is_op(node, "Slice")) return sliced(node);
  if (is_any_of(node, {"Add", "Sub", "Mul", "Div", "Equal"})) return combined(node);
  if (is_op(node, "Where")) return chosen(node);
  if (is_reshape(node) || is_op(node, "Identity") ||
      (is_op(node, "Cast") && graph_.value(node.outputs[0]).type == DataType::kI64)) {
    return numbers(node.inputs[0]);
  }
  if (is_op(node, "ReduceProd") && graph_.value(node.inputs[0]).shape &&
      graph_.value(node.inputs[0]).shape->size() == 1) {
    const std::optional<Terms> factors = numbers(node.inputs[0]);
    if (factors) return Terms{product(*factors)};
  }
  return std::nullopt;
}

void SymbolicShapes::visit(NodeId id) {
  const Node& node = graph_.node(id);
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    const ValueId output = node.outputs[i];
    if (output == kNoValue) continue;
    dims_.erase(std::to_underlying(output));
    const std::optional<Shape>& shape = graph_.value(output).shape;
    if (!shape) continue;
    Terms terms;
    for (std::size_t axis = 0; axis < shape->size(); ++axis) {
      if ((*shape)[axis] != kUnknownDim) {
        terms.push_back({.offset = (*shape)[axis]});
        continue;
      }
      const std::optional<Term> known = dim_of(node, i, axis);
      terms.push_back(known ? *known : fresh(Sign::kNeverNegative));
    }
    dims_.insert_or_assign(std::to_underlying(output), std::move(terms));
  }
  if (node.outputs.size() != 1 || node.outputs[0] == kNoValue) return;
  const std::optional<std::size_t> count = small_count(graph_.value(node.outputs[0]));
  if (!count) return;
  std::optional<Terms> numbers = numbers_of(node);
  if (numbers && numbers->size() == *count) {
    numbers_.insert_or_assign(std::to_underlying(node.outputs[0]), *std::move(numbers));
  }
}

}  // namespace kinglet::engine
