// SPDX-License-Identifier: Apache-2.0
#include "daemon/line/gate/gate.h"

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
  // One that waited for other cameras does not make the next ones late as well; after a pause nothing is caught up.
  if (now - due_ >= 2 * interval_) due_ = now;
  due_ += interval_;
  return true;
}

Result<void> Gate::measure(const camera::FrameView& view, const Decoding& decoding, bool is_looked_at) {
  if (decoding.decoder == nullptr) return grid_.measure(view);
  if (!is_looked_at) return grid_.measure(view, *decoding.decoder, 0, 0);
  return grid_.measure(view, *decoding.decoder, decoding.width, decoding.height);
}

bool Gate::is_worth_a_look(const camera::Frame& frame, const Moment& moment, const Decoding& decoding) {
  motion_.reset();
  // A picture that somebody chose is looked at whether it moves or not.
  const bool judged = options_.motion && !frame.info().still;
  if (!judged && !moment.where_matters) return true;
  const bool in_any_case = !judged || moment.visit_open || moment.now < open_until_ || moment.now >= next_look_;
  // One that cannot be measured is looked at: whoever reads it says what is wrong.
  if (!measure(frame.small(), decoding, in_any_case)) return true;
  motion_ = detector_.update(grid_.cells(), moment.now, moment.birds);
  const bool something = motion_->moving || motion_->new_scene;
  if (something) open_until_ = moment.now + options_.hold;
  return something || in_any_case;
}

std::optional<SkipReason> Gate::decide(const camera::Frame& frame, const Moment& moment, const Decoding& decoding) {
  if (!is_due(moment.now)) return SkipReason::kRate;
  if (moment.clock_synced && !is_open(options_.schedule, moment.wall)) return SkipReason::kSchedule;
  if (!is_worth_a_look(frame, moment, decoding)) return SkipReason::kNoMotion;
  next_look_ = moment.now + options_.look_every;
  return std::nullopt;
}

}  // namespace kinglet::daemon
