// SPDX-License-Identifier: Apache-2.0
// Why: many middling looks at one bird say more than one good look, and ten looks within a second hardly more than
// one. What all looks at one thing say together.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "engine/base/clock.h"

namespace kinglet::visits {

// What one picture that somebody chose is worth: a visitor that is seen for a second. min_score and the other
// thresholds are those of such a picture. Measured on scenes and on clips of a real feeder (docs/benchmarks.md, "Scenes
// of a feeder").
inline constexpr double kPictureLooks = 2.5;

// How sure so many looks are beside one picture, from 0 for none over 1 for kPictureLooks to 2.
[[nodiscard]] constexpr double certainty_of(double looks) { return 2 * looks / (looks + kPictureLooks); }

// The mean of the looks' scores. A look soon after another one is worth only part of one, and looks of some time ago
// count less and less: another bird may sit there by now. Thread-bound; allocates when it is made only.
class Evidence {
 public:
  explicit Evidence(std::size_t classes) : mean_(classes) {}

  // All that was said of another thing is forgotten.
  void clear() { looks_ = 0; }
  // `scores`: finite, 0 to 1, one a class. `at` never goes back.
  void add(std::span<const float> scores, SteadyTime at);
  // A picture that somebody chose stands for itself.
  void set_picture(std::span<const float> scores);

  [[nodiscard]] std::span<const float> scores() const { return mean_; }
  // Independent ones that it is worth.
  [[nodiscard]] double looks() const { return looks_; }

 private:
  std::vector<float> mean_;
  double looks_ = 0;
  SteadyTime at_{};
};

}  // namespace kinglet::visits
