// SPDX-License-Identifier: Apache-2.0
// Why: how far a model's scores may be believed, measured on pictures whose labels are known, and the temperature that
// makes 0.9 mean nine of ten.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "visits/taxa.h"

namespace kinglet::visits {

// The scores of pictures of known taxa.
class Calibration {
 public:
  explicit Calibration(const Taxa& taxa) : taxa_(taxa) {}

  // `scores`: probabilities at temperature 1, one a class. `taxon` has classes of its own.
  void add(std::span<const float> scores, std::uint32_t taxon);
  [[nodiscard]] std::size_t size() const { return truth_.size(); }

  // The temperature from 0.1 to 10 with the least mean surprise.
  [[nodiscard]] double best_temperature() const;

  struct Judgement {
    double surprise = 0;              // mean -log(score of the true one)
    double calibration_error = 0;     // mean gap between score and share that is right, over ten bins of the best score
    double right_ratio = 0;           // the best is the true one
    double answered_ratio = 0;        // the best reaches `min_score`
    double answered_right_ratio = 0;  // of these, right; 1 when there are none
  };
  [[nodiscard]] Judgement judge(double temperature, double min_score) const;

 private:
  // Sums over the classes of each taxon at this temperature into `out`.
  void temper(std::size_t picture, double temperature, std::vector<double>& out) const;

  const Taxa& taxa_;
  std::vector<std::vector<float>> logs_;  // of the scores
  std::vector<std::uint32_t> truth_;
};

}  // namespace kinglet::visits
