// SPDX-License-Identifier: Apache-2.0
#include "daemon/gate/gate.h"

#include <algorithm>

namespace kinglet::daemon {
namespace {

SteadyClock::duration interval_of(double per_second) {
  return std::chrono::duration_cast<SteadyClock::duration>(Seconds(1 / per_second));
}

}  // namespace

std::string_view to_string(SkipReason reason) {
  switch (reason) {
    case SkipReason::kNoMotion:
      return "no_motion";
    case SkipReason::kRate:
      return "rate";
    case SkipReason::kSchedule:
      return "schedule";
    case SkipReason::kPaused:
      return "paused";
    case SkipReason::kSettling:
      return "settling";
  }
  return "rate";
}

Gate::Gate(const GateOptions& options)
    : options_(options), interval_(interval_of(options_.max_fps)), detector_(options_.region) {}

void Gate::set_pace(double share) { interval_ = interval_of(options_.max_fps * share); }

bool Gate::is_due(SteadyTime now) {
  if (now < due_ - interval_ / 2) return false;
  due_ = std::max(due_, now) + interval_;
  return true;
}

bool Gate::is_worth_a_look(const camera::Frame& frame, const Moment& moment) {
  motion_.reset();
  // One that cannot be measured is looked at: whoever reads it says what is wrong.
  if (!options_.motion || frame.info().still || !grid_.measure(frame.small())) return true;
  motion_ = detector_.update(grid_.cells(), moment.now);
  const bool something = motion_->moving || motion_->new_scene;
  if (something) open_until_ = moment.now + options_.hold;
  return something || moment.visit_open || moment.now < open_until_ || moment.now >= next_look_;
}

std::optional<SkipReason> Gate::decide(const camera::Frame& frame, const Moment& moment) {
  if (!is_due(moment.now)) return SkipReason::kRate;
  if (moment.clock_synced && !is_open(options_.schedule, moment.wall)) return SkipReason::kSchedule;
  if (!is_worth_a_look(frame, moment)) return SkipReason::kNoMotion;
  next_look_ = moment.now + options_.look_every;
  return std::nullopt;
}

}  // namespace kinglet::daemon
