// SPDX-License-Identifier: Apache-2.0
// Why: what a change of a model costs: its answers beside those of the model before, picture by picture.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/base/error.h"
#include "engine/quantize/calibration/samples.h"
#include "engine/recipe/output_meaning.h"
#include "engine/session/session.h"

namespace kinglet::engine {

// All numbers of the first output as logits, for a model that is no classifier.
[[nodiscard]] OutputMeaning first_output(const Session& session);

// The numbers of a model's scores on each sample, one a class, as ScoreReader::read_numbers gives them.
using Answers = std::vector<std::vector<float>>;
[[nodiscard]] Result<Answers> answers_of(Session& session, const OutputMeaning& output, const Samples& samples,
                                         const Progress& progress);

// Signal to noise of numbers that should be the same: 10 lg (sum of squares / sum of squares of differences), in dB;
// 200 where nothing differs.
class Noise {
 public:
  void add(std::span<const float> before, std::span<const float> after);  // of the same length
  [[nodiscard]] double db() const;

 private:
  double signal_ = 0, noise_ = 0;
};

struct Judgement {
  std::size_t pictures = 0;
  std::size_t same_top1 = 0;
  std::size_t same_top5 = 0;  // the first class of one is among the first five of the other
  std::size_t labelled = 0;   // pictures whose class is known
  std::size_t right_before = 0;
  std::size_t right_after = 0;
  // Percentage points of right answers that the changed ones cost if the probabilities before are true: the mean, over
  // the pictures, of what the model before gave its own first class more than the one after's, and the standard error
  // of that mean. Counting needs many more pictures: answers that change are won and lost (docs/quantize.md).
  double expected_drop_percent = 0;
  double expected_drop_error_percent = 0;
  double max_score_error = 0;        // of scores of 0 to 1
  double mean_score_error = 0;       // of the first class before
  double signal_to_noise_db = 0;     // of the outputs
  std::vector<std::size_t> changed;  // pictures whose first class is another

  [[nodiscard]] double agreement_percent() const;
  // Percentage points: of known classes fewer right answers, else answers that changed. Below 0: better than before.
  [[nodiscard]] double drop_percent() const;
  // What a limit is held against: drop_percent, and where classes are known no less than what is expected and its
  // error together. A drop that the pictures hide by chance does not pass.
  [[nodiscard]] double judged_drop_percent() const;
  // Half of the 95 % interval of drop_percent, by the normal approximation over pictures (at least one counts as
  // changed).
  [[nodiscard]] double drop_margin_percent() const;
};

// `labels`: the class of each picture where known; empty: of none. Both have as many answers of the same length, which
// may mean different things; kBadData otherwise, or when an answer is not finite.
[[nodiscard]] Result<Judgement> judge(const Answers& before, Meaning meaning_before, const Answers& after,
                                      Meaning meaning_after, const std::vector<std::optional<std::size_t>>& labels);

// A model and what its output means.
struct Answering {
  Session& session;
  const OutputMeaning& output;
};
// The same of the models themselves.
[[nodiscard]] Result<Judgement> judge(Answering before, Answering after, const Samples& samples,
                                      const std::vector<std::optional<std::size_t>>& labels, const Progress& progress);

}  // namespace kinglet::engine
