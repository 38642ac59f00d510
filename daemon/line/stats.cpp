// SPDX-License-Identifier: Apache-2.0
#include "daemon/line/stats.h"

#include <algorithm>
#include <utility>

namespace kinglet::daemon {

void DetectorTotals::add(const DetectorWork& work) {
  looks += work.looks;
  left_out += work.left_out;
  for (std::size_t i = 0; i < kBeingCount; ++i) found[i] += work.found[i];
  merged += work.refined.merged;
  split += work.refined.split;
  tightened += work.refined.tightened;
  time += work.time;
}

Stats::Stats(SteadyTime start, Stats* whole) : start_(start), whole_(whole), images_(start), frames_(start) {}

void Stats::add_captured(SteadyTime now) {
  if (whole_ != nullptr) whole_->add_captured(now);
  MutexLock lock(mutex_);
  frames_.add(now);
  ++captured_;
}

void Stats::add_skipped(SkipReason reason) {
  if (whole_ != nullptr) whole_->add_skipped(reason);
  MutexLock lock(mutex_);
  ++skipped_[std::to_underlying(reason)];
}

void Stats::add_looked_away(SkipReason reason) {
  if (whole_ != nullptr) whole_->add_looked_away(reason);
  MutexLock lock(mutex_);
  ++skipped_[std::to_underlying(reason)];
  unanswered_since_.reset();
  // Of the other reasons some frames between those that fail have one.
  if (reason == SkipReason::kPaused || reason == SkipReason::kSchedule) failed_in_a_row_ = 0;
}

void Stats::set_gate(const std::optional<Motion>& motion, double pace) {
  MutexLock lock(mutex_);
  motion_ = motion;
  pace_ = pace;
}

void Stats::set_suggestion(const std::optional<Suggestion>& suggestion) {
  MutexLock lock(mutex_);
  suggestion_ = suggestion;
}

void Stats::set_reload_failed(bool failed) {
  MutexLock lock(mutex_);
  reload_failed_ = failed;
}

void Stats::add_error() {
  if (whole_ != nullptr) whole_->add_error();
  MutexLock lock(mutex_);
  ++errors_;
}

void Stats::add_visit() {
  if (whole_ != nullptr) whole_->add_visit();
  MutexLock lock(mutex_);
  ++visits_;
}

void Stats::add_prediction(SteadyTime now, const Prediction& prediction) {
  if (whole_ != nullptr) whole_->add_prediction(now, prediction);
  MutexLock lock(mutex_);
  images_.add(now);
  latency_.add(now, prediction.age);
  wait_.add(now, prediction.timing.wait);
  preprocess_.add(now, prediction.timing.preprocess);
  inference_.add(now, prediction.timing.inference / std::max<std::size_t>(1, prediction.region_count));
  postprocess_.add(now, prediction.timing.postprocess);
  ++predictions_;
  inferences_ += prediction.region_count;
  for (std::size_t i = 0; i < kLeftOutCount; ++i) left_out_[i] += prediction.left_out[i];
  detector_.add(prediction.detector);
  ++by_outcome_[std::to_underlying(prediction.answer.outcome)];
  unanswered_since_.reset();
  failed_in_a_row_ = 0;
}

Stats::View Stats::view(SteadyTime now) const {
  using std::chrono::seconds;
  MutexLock lock(mutex_);
  return View{.uptime = now - start_,
              .images_per_second_now = images_.per_second(now, seconds(5)),
              .images_per_second_1m = images_.per_second(now, seconds(60)),
              .images_per_second_15m = images_.per_second(now, seconds(900)),
              .frames_per_second = frames_.per_second(now, seconds(5)),
              .predictions = predictions_,
              .by_outcome = by_outcome_,
              .inferences = inferences_,
              .left_out = left_out_,
              .detector = detector_,
              .visits = visits_,
              .captured = captured_,
              .errors = errors_,
              .skipped = skipped_,
              .motion = motion_,
              .pace = pace_,
              .suggestion = suggestion_,
              .reload_failed = reload_failed_,
              .latency = latency_.stage(now),
              .wait = wait_.stage(now),
              .preprocess = preprocess_.stage(now),
              .inference = inference_.stage(now),
              .postprocess = postprocess_.stage(now)};
}

void Stats::add_handed(SteadyTime now) {
  MutexLock lock(mutex_);
  if (!unanswered_since_) unanswered_since_ = now;
}

void Stats::add_given_back() {
  MutexLock lock(mutex_);
  unanswered_since_.reset();
}

void Stats::add_failed(SteadyTime now) {
  if (whole_ != nullptr) whole_->add_failed(now);
  MutexLock lock(mutex_);
  ++errors_;
  unanswered_since_.reset();
  if (failed_in_a_row_++ == 0) failing_since_ = now;
}

std::optional<SteadyTime> Stats::unanswered_since() const {
  constexpr int kFew = 3;  // any cable spoils one now and then
  MutexLock lock(mutex_);
  return failed_in_a_row_ >= kFew ? failing_since_ : unanswered_since_;
}

}  // namespace kinglet::daemon
