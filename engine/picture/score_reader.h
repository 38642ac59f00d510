// SPDX-License-Identifier: Apache-2.0
// Why: the outputs of a run as scores, one a class, by what was decided of them when the model was loaded.
#pragma once

#include <span>
#include <vector>

#include "engine/recipe/output_meaning.h"
#include "engine/session/session.h"

namespace kinglet::engine {

// Thread-bound, as its session.
class ScoreReader {
 public:
  // `session` as decided about; no more than its shapes are read here.
  ScoreReader(const Session& session, OutputMeaning meaning);

  [[nodiscard]] const OutputMeaning& meaning() const { return meaning_; }

  // Of the newest run: 0 to 1, one a class; classes that a top-k does not name get 0. kBadData when an output is not
  // finite, or names a class that there is not: then some of `scores` are not finite. Allocates nothing unless it
  // fails.
  [[nodiscard]] Result<void> read(const Session& session, double temperature, std::span<float> scores);
  // The numbers as the model gives them, one a class; of a top-k the scores.
  [[nodiscard]] Result<void> read_numbers(const Session& session, std::span<float> numbers);

 private:
  [[nodiscard]] Result<void> read_best(const Session& session, double temperature, std::span<float> scores);

  OutputMeaning meaning_;
  std::vector<float> best_;           // of a top-k
  std::vector<std::int64_t> places_;  // the same
};

}  // namespace kinglet::engine
