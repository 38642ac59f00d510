// SPDX-License-Identifier: Apache-2.0
// Why: dimensions, and the small integer tensors that describe shapes, as expressions of dimensions that are not known
// before the model runs: what fold_shape_arithmetic computes with. Inference itself knows numbers only.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/passes/rewrite.h"

namespace kinglet::engine {

// factor * symbol + offset; a plain number when factor is 0 (then symbol is 0 as well). Equal terms are equal numbers
// in every run; different ones may be.
struct Term {
  std::int64_t factor = 0;
  std::uint32_t symbol = 0;
  std::int64_t offset = 0;
  [[nodiscard]] bool is_number() const { return factor == 0; }
  auto operator<=>(const Term&) const = default;
};
using Terms = std::vector<Term>;

// An axis or index as ONNX counts it, negative from the end; nothing when there are not so many.
[[nodiscard]] std::optional<std::size_t> place(std::int64_t at, std::size_t count);

// Follows a graph node by node, in order. Thread-bound; the graph must outlive it.
class SymbolicShapes {
 public:
  explicit SymbolicShapes(const Graph& graph) : graph_(graph) {}

  // Works out the node's outputs; types and shapes of all its values must have been inferred. Again after a change.
  void visit(NodeId id);

  // Elements of an integer or bool tensor of up to 64 elements and rank 0 or 1; nothing when not followed.
  [[nodiscard]] std::optional<Terms> numbers(ValueId id) const;
  // One term a dimension; nothing when the rank is unknown.
  [[nodiscard]] std::optional<Terms> dims(ValueId id);
  // The term is no smaller than 0 in every run.
  [[nodiscard]] bool is_never_negative(const Term& term) const;

 private:
  enum class Sign : std::uint8_t { kAny, kNeverNegative };
  Term fresh(Sign sign);
  Term add(const Term& a, const Term& b, int sign);
  Term multiply(const Term& a, const Term& b);
  std::optional<Term> divide(const Term& a, const Term& b);
  Term product(const Terms& terms);

  std::optional<Terms> numbers_of(const Node& node);
  std::optional<Terms> picked(const Node& node);
  std::optional<Terms> joined(const Node& node);
  std::optional<Terms> sliced(const Node& node);
  std::optional<Terms> listed_dims(const Node& node);
  std::optional<Terms> combined(const Node& node);
  std::optional<Terms> chosen(const Node& node);
  std::optional<Term> combine(const Node& node, const Term& a, const Term& b);

  // The dimension `axis` of the node's output, where its operator tells more than inference does.
  std::optional<Term> dim_of(const Node& node, std::size_t output, std::size_t axis);
  std::optional<Term> moved_dim(const Node& node, std::size_t axis);
  std::optional<Term> reshaped_dim(const Node& node, std::size_t axis);
  std::optional<Term> broadcast_dim(const Node& node, std::size_t axis, std::size_t rank, std::size_t skip_last);
  std::optional<Term> joined_dim(const Node& node, std::size_t axis);
  std::optional<Term> matrix_dim(const Node& node, std::size_t axis, std::size_t rank);
  std::optional<Term> sliced_dim(const Node& node, std::size_t axis, std::size_t rank);
  std::optional<Term> input_dim(const Node& node, std::size_t input, std::size_t axis);
  std::optional<std::vector<std::int64_t>> axes_of(const Node& node, std::size_t rank) const;

  const Graph& graph_;
  std::vector<Sign> signs_{Sign::kNeverNegative};  // by symbol; symbol 0 belongs to plain numbers
  std::map<std::pair<Term, Term>, Term> products_;
  std::unordered_map<std::uint32_t, Terms> numbers_;
  std::unordered_map<std::uint32_t, Terms> dims_;
};

}  // namespace kinglet::engine
