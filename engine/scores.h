// SPDX-License-Identifier: Apache-2.0
// Why: what a classifier's output row means: probabilities, and the best of them. One place for daemon and tool.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "engine/base/error.h"
#include "engine/graph/data_type.h"
#include "engine/recipe.h"

namespace kinglet::engine {

struct Score {
  std::size_t index = 0;  // class
  float value = 0;        // 0 to 1 after to_probabilities
  bool operator==(const Score&) const = default;
};

// f32, u8 or i8: what the output of a classifier may be.
[[nodiscard]] bool is_score_type(DataType type);
// The numbers of such an output, one a class. 8-bit ones without `quantization` are 0 to 1 in 255 steps. Allocates
// nothing. Reentrant.
void read_outputs(std::span<const std::byte> bytes, DataType type, const std::optional<Quantization>& quantization,
                  std::span<float> outputs);

// Writes probabilities of `outputs` to `probabilities` (same length; may be the same memory). `kind` is
// Recipe::output: "probabilities" copies, "logits" applies soft-max, "auto" applies it unless all outputs lie in 0..1
// and add up to about one. The logits (of probabilities: their logarithms) are divided by `temperature`. kBadData when
// an output is NaN or infinite. Allocates nothing unless it fails. Reentrant.
[[nodiscard]] Result<void> to_probabilities(std::span<const float> outputs, std::string_view kind,
                                            std::span<float> probabilities, double temperature = 1);

// The best min(best.size(), scores.size()) in falling order; equal ones in order of class. Returns their count.
// Allocates nothing. Reentrant.
[[nodiscard]] std::size_t top_k(std::span<const float> scores, std::span<Score> best);
[[nodiscard]] std::vector<Score> top_k(std::span<const float> scores, std::size_t count);

}  // namespace kinglet::engine
