// SPDX-License-Identifier: Apache-2.0
// Why: Einsum's equation as lists of labels, for inference, evaluation and rewrites into MatMul.
#pragma once

#include <cstddef>
#include <expected>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kinglet::engine::ops {

// A label is an index: the letter's own character code, or kEllipsis + n for the n-th dimension from the right that
// "..." stands for. Inputs may name a label twice (the diagonal), the output names each once.
struct EinsumEquation {
  static constexpr int kEllipsis = 128;

  std::vector<std::vector<int>> inputs;  // as many as the node has, one label a dimension
  std::vector<int> output;
};

// The error is a sentence without place. `ranks`: dimensions of each input.
[[nodiscard]] std::expected<EinsumEquation, std::string> parse_einsum(std::string_view equation,
                                                                      std::span<const std::size_t> ranks);

}  // namespace kinglet::engine::ops
