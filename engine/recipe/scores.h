// SPDX-License-Identifier: Apache-2.0
// Why: numbers of a classifier's output become scores of 0 to 1, and the best of them. One place for daemon and tool.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "engine/base/error.h"
#include "engine/graph/data_type.h"
#include "engine/recipe/recipe.h"

namespace kinglet::engine {

struct Score {
  std::size_t index = 0;  // class
  float value = 0;        // 0 to 1 after to_scores
  bool operator==(const Score&) const = default;
};

// f32, u8 or i8: what the output of a classifier may be.
[[nodiscard]] bool is_score_type(DataType type);
// The numbers of such an output, one a class. 8-bit ones without `quantization` are 0 to 1 in 255 steps. Allocates
// nothing. Reentrant.
void read_outputs(std::span<const std::byte> bytes, DataType type, const std::optional<Quantization>& quantization,
                  std::span<float> outputs);

// What the numbers of a classifier's output are.
enum class Meaning : std::uint8_t {
  kProbabilities,  // of one soft-max: they add up to one
  kLogits,         // before a soft-max
  kIndependent,    // each from 0 to 1 by itself, as sigmoids give them
  kTopK,           // of the best few classes only, which the model names by their indices
};
[[nodiscard]] std::string_view to_string(Meaning meaning);  // "probabilities", "logits", "independent", "top_k"
[[nodiscard]] std::optional<Meaning> meaning_of(std::string_view name);

// Writes scores of 0 to 1 of `outputs` to `scores` (same length; may be the same memory): logits by soft-max (a single
// one by the logistic function, a soft-max of one is always 1), others as they are. The logits (of probabilities: their
// logarithms; of independent ones: each one's) are divided by `temperature`; kTopK has had it already. kBadData, with
// `scores` untouched, when an output is NaN or infinite. Allocates nothing unless it fails. Reentrant.
[[nodiscard]] Result<void> to_scores(std::span<const float> outputs, Meaning meaning, std::span<float> scores,
                                     double temperature = 1);

// The same of the best few of `classes` logits; `best` holds them and then their scores. The others are at most as
// large as the smallest of these and count so: what the scores are at least.
void best_logits_to_scores(std::span<float> best, std::size_t classes, double temperature);

// What decisions have to know of scores.
struct ScoreNature {
  double temperature = 1;     // they have it already
  bool add_up_to_one = true;  // false: independent ones, which say nothing of each other
};

// The best min(best.size(), scores.size()) in falling order; equal ones in order of class. Returns their count.
// Allocates nothing. Reentrant.
[[nodiscard]] std::size_t top_k(std::span<const float> scores, std::span<Score> best);
[[nodiscard]] std::vector<Score> top_k(std::span<const float> scores, std::size_t count);

}  // namespace kinglet::engine
