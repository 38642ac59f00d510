// SPDX-License-Identifier: Apache-2.0
// Why: what the daemon counts about frames and answers. Written once a frame, read by the API, metrics and status line.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "daemon/line/gate/gate.h"
#include "daemon/line/prediction.h"
#include "daemon/line/regions/suggestion.h"
#include "daemon/metrics/histogram.h"
#include "engine/base/mutex.h"

namespace kinglet::daemon {

// Sums of DetectorWork.
struct DetectorTotals {
  std::uint64_t looks = 0;
  std::uint64_t left_out = 0;
  std::array<std::uint64_t, kBeingCount> found{};
  std::uint64_t merged = 0, split = 0, tightened = 0;  // as Refined
  SteadyClock::duration time{};

  void add(const DetectorWork& work);
  [[nodiscard]] bool is_asked() const { return looks + left_out > 0; }
};

// Thread-safe; allocates nothing after construction.
class Stats {
 public:
  // What is counted of one camera counts for all of them as well, in `whole`, which outlives this: not what is about
  // its picture (the gate, a suggestion) or its newest frame.
  explicit Stats(SteadyTime start, Stats* whole = nullptr);

  void add_captured(SteadyTime now);
  void add_skipped(SkipReason reason);
  // The same by the thread that answers: it works, there is only nothing to be answered.
  void add_looked_away(SkipReason reason);
  // What the gate saw in the newest frame, and how often it looks compared with the wish.
  void set_gate(const std::optional<Motion>& motion, double pace);
  void set_suggestion(const std::optional<Suggestion>& suggestion);  // as of the newest frame
  void set_reload_failed(bool failed);                               // the newest configuration could not be taken up
  void add_error();                                                  // a frame of the source that cannot be used
  void add_visit();                                                  // one has begun
  void add_prediction(SteadyTime now, const Prediction& prediction);

  struct Stage {
    RecentDurations::Summary recent;
    LifetimeHistogram lifetime;
  };
  struct View {
    SteadyClock::duration uptime{};
    std::optional<double> images_per_second_now;  // the last 5 s
    std::optional<double> images_per_second_1m;
    std::optional<double> images_per_second_15m;
    std::optional<double> frames_per_second;  // the last 5 s, as captured
    std::uint64_t predictions = 0;
    std::array<std::uint64_t, kOutcomeCount> by_outcome{};
    std::uint64_t inferences = 0;                         // regions that were looked at
    std::array<std::uint64_t, kLeftOutCount> left_out{};  // regions that were not
    DetectorTotals detector;
    std::uint64_t visits = 0;
    std::uint64_t captured = 0;
    std::uint64_t errors = 0;
    std::array<std::uint64_t, kSkipReasonCount> skipped{};
    std::optional<Motion> motion;  // nothing: no motion gate, or no frame yet
    double pace = 1;
    std::optional<Suggestion> suggestion;
    bool reload_failed = false;
    Stage latency;  // from exposure to answer, as Prediction::age
    Stage wait, preprocess;
    Stage inference;  // of one region
    Stage postprocess;
  };
  [[nodiscard]] View view(SteadyTime now) const;
  // A frame was handed over to be answered; nothing else says that the answer thread has anything to do.
  void add_handed(SteadyTime now);
  // The one that was taken needs no answer: there is no model.
  void add_given_back();
  // It could not be prepared or answered.
  void add_failed(SteadyTime now);
  // Since when one waits, or since when all those fail that are looked at; nothing: all is well.
  [[nodiscard]] std::optional<SteadyTime> unanswered_since() const;

 private:
  struct Recorder {
    RecentDurations recent;
    LifetimeHistogram lifetime;
    void add(SteadyTime now, SteadyClock::duration value) {
      recent.add(now, value);
      lifetime.add(value);
    }
    [[nodiscard]] Stage stage(SteadyTime now) const { return {recent.summarize(now), lifetime}; }
  };

  const SteadyTime start_;
  Stats* const whole_;
  mutable Mutex mutex_;
  RecentRate images_ KINGLET_GUARDED_BY(mutex_);
  RecentRate frames_ KINGLET_GUARDED_BY(mutex_);
  Recorder latency_ KINGLET_GUARDED_BY(mutex_);
  Recorder wait_ KINGLET_GUARDED_BY(mutex_);
  Recorder preprocess_ KINGLET_GUARDED_BY(mutex_);
  Recorder inference_ KINGLET_GUARDED_BY(mutex_);
  Recorder postprocess_ KINGLET_GUARDED_BY(mutex_);
  std::uint64_t predictions_ KINGLET_GUARDED_BY(mutex_) = 0;
  std::array<std::uint64_t, kOutcomeCount> by_outcome_ KINGLET_GUARDED_BY(mutex_){};
  std::uint64_t inferences_ KINGLET_GUARDED_BY(mutex_) = 0;
  std::array<std::uint64_t, kLeftOutCount> left_out_ KINGLET_GUARDED_BY(mutex_){};
  DetectorTotals detector_ KINGLET_GUARDED_BY(mutex_);
  std::uint64_t visits_ KINGLET_GUARDED_BY(mutex_) = 0;
  std::uint64_t captured_ KINGLET_GUARDED_BY(mutex_) = 0;
  std::uint64_t errors_ KINGLET_GUARDED_BY(mutex_) = 0;
  std::array<std::uint64_t, kSkipReasonCount> skipped_ KINGLET_GUARDED_BY(mutex_){};
  std::optional<Motion> motion_ KINGLET_GUARDED_BY(mutex_);
  double pace_ KINGLET_GUARDED_BY(mutex_) = 1;
  std::optional<Suggestion> suggestion_ KINGLET_GUARDED_BY(mutex_);
  bool reload_failed_ KINGLET_GUARDED_BY(mutex_) = false;
  std::optional<SteadyTime> unanswered_since_ KINGLET_GUARDED_BY(mutex_);
  std::optional<SteadyTime> failing_since_ KINGLET_GUARDED_BY(mutex_);
  int failed_in_a_row_ KINGLET_GUARDED_BY(mutex_) = 0;
};

}  // namespace kinglet::daemon
