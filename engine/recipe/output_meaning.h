// SPDX-License-Identifier: Apache-2.0
// Why: what an output means is decided once, when a model is loaded: which of its outputs has the scores, and what
// their numbers are. Daemon and tool, and checks of a changed model, read scores by this and nothing else.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/error.h"
#include "engine/recipe/output_form.h"
#include "engine/recipe/scores.h"

namespace kinglet::engine {

struct OutputMeaning {
  std::size_t output = 0;                   // the numbers; of kTopK without any: the indices
  std::optional<std::size_t> indices = {};  // of kTopK: the output that has them
  std::string name = {};                    // of `output`
  Meaning meaning = Meaning::kLogits;
  Meaning best = Meaning::kLogits;  // of kTopK: what its numbers are
  bool has_scores = true;           // false: it names classes without any number, and the first gets score 1
  std::size_t classes = 0;
  std::string decided_by = {};  // "last operator Softmax", "recipe"; for people

  [[nodiscard]] ScoreNature nature(double temperature) const;
};

// What is known beside the graph.
struct OutputWish {
  std::string_view name = {};              // the output that a person names; empty: none
  std::string_view stated = "auto";        // Recipe::output
  std::optional<std::size_t> labels = {};  // how many labels the model has
};

// kBadData, with what each output is instead: boxes, maps, other types; and where several could be the scores.
[[nodiscard]] Result<OutputMeaning> decide_output(std::span<const OutputForm> forms, const OutputWish& wish);

// How many labels a classifier of pictures wants. Nothing while that is not known, or it is no classifier.
[[nodiscard]] std::optional<std::size_t> class_count(const Graph& graph, const RowRules& rules,
                                                     const OutputWish& wish = {});

}  // namespace kinglet::engine
