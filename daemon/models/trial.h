// SPDX-License-Identifier: Apache-2.0
// Why: a new model proves itself beside the old one, on the same frames, before it takes its place. Pure: answers and
// times come in as values.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>

#include "engine/base/clock.h"
#include "visits/decide.h"

namespace kinglet::daemon {

// What the owner asks of a model that is to answer from now on.
struct TrialRule {
  std::size_t frames = 100;           // that both models look at
  double least_agreement = 0.95;      // share of frames in which both see the same species first
  double most_time = 1.0;             // times the time of the one before
  std::chrono::seconds within{3600};  // both looked at all the frames
};

struct TrialReport {
  std::size_t wanted = 0;
  std::size_t frames = 0;
  std::size_t agreeing = 0;      // the same species first
  std::size_t same_answers = 0;  // and the same outcome: accepted, or the same reason for none
  double score_difference = 0;   // of the first species where they agree, on average, 0 to 1
  Milliseconds before{};         // preprocessing and inference of a frame, on average
  Milliseconds after{};

  [[nodiscard]] double agreement() const;   // 0 to 1
  [[nodiscard]] double time_ratio() const;  // after / before
};

// Why the rule keeps the model before; nothing: the new one may answer.
[[nodiscard]] std::optional<std::string> reason_to_keep(const TrialReport& report, const TrialRule& rule);

// Thread-bound; allocates nothing after construction.
class Trial {
 public:
  // One model's answer to a frame, with what its numbers stand for.
  struct Side {
    const visits::Answer& answer;
    const visits::Taxa& taxa;
    SteadyClock::duration taken{};
  };

  explicit Trial(std::size_t frames) : wanted_(frames) {}

  void add(const Side& before, const Side& after);
  [[nodiscard]] bool complete() const { return frames_ >= wanted_; }
  [[nodiscard]] TrialReport report() const;

 private:
  std::size_t wanted_;
  std::size_t frames_ = 0;
  std::size_t agreeing_ = 0;
  std::size_t same_answers_ = 0;
  double score_difference_ = 0;
  SteadyClock::duration before_{};
  SteadyClock::duration after_{};
};

}  // namespace kinglet::daemon
