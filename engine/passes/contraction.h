// SPDX-License-Identifier: Apache-2.0
// Why: an Einsum of two factors as a matrix product: what replace_einsum and replace_einsum_by_transposes share.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/passes/rewrite.h"

namespace kinglet::engine {

// Permutations that make the factors [batch..., rows, inner] and [batch..., inner, columns], and the product
// [batch..., rows, columns] what the equation asks for.
struct Contraction {
  std::vector<std::int64_t> first;
  std::vector<std::int64_t> second;
  std::vector<std::int64_t> product;
  // All three are in order: the node is a MatMul as it stands.
  [[nodiscard]] bool is_plain() const;
};

// Nothing unless the equation names both factors and the result without "..." and without a letter twice in one of
// them, sums over exactly one letter, and has exactly one letter of its own for each factor; floats; every letter means
// dimensions known to be equal (no broadcasting of 1).
[[nodiscard]] std::optional<Contraction> match_contraction(const Graph& graph, const Node& einsum);

}  // namespace kinglet::engine
