// SPDX-License-Identifier: Apache-2.0
// Why: how long silence is healthy, in one place: the camera's supervisor, /livez and the watchdog all ask here. A
// source says what it needs (FrameSource::longest_start, longest_pause); nobody is waited for who has nothing to do.
#pragma once

#include <chrono>

#include "engine/base/clock.h"

namespace kinglet::daemon {

// A thread that did not come round for longer than this is dead: a model may take seconds for one frame.
inline constexpr std::chrono::seconds kDeadAfter{30};
// A thread of another kind is late so long after the time by which it wanted to come round.
inline constexpr std::chrono::seconds kLateAfter{15};
// A frame that was handed over to be answered is answered, or looked away from on purpose, within this.
inline constexpr std::chrono::seconds kAnsweredWithin{10};
// One next() of a source waits no longer: how soon a stop is noticed.
inline constexpr std::chrono::milliseconds kOneNext{250};

// What may be expected of the camera when. Pure: time comes in as a value. Of one thread, or under its owner's lock.
class Patience {
 public:
  // `stall_after`, `restart_after`: without a frame, of a source that is quick.
  Patience(SteadyClock::duration stall_after, SteadyClock::duration restart_after)
      : stall_after_(stall_after), restart_after_(restart_after) {}

  // The capture thread came round; it waits for nothing that takes long.
  void turn(SteadyTime now);
  // A start begins that may take so long.
  void start(SteadyTime now, SteadyClock::duration longest_start);
  // It went well; a frame may keep the next one waiting for so long.
  void started(SteadyTime now, SteadyClock::duration longest_pause);
  // The newest frame that somebody can read came at `at`.
  void frame(SteadyTime at);
  // Frames come that nobody could read since `since`: as if there were none.
  void unreadable(SteadyTime since) { last_sign_ = since; }
  // The source is ended because of a stall. Starts that nothing follows are no cure.
  void gave_up();
  // There is no camera, and it is known why.
  void absent();
  // Nothing is tried before `until`, on purpose.
  void rest(SteadyTime until);

  // Without a frame for so long it is a stall.
  [[nodiscard]] SteadyClock::duration longest_silence() const { return stall_after_ + pause_; }
  [[nodiscard]] bool is_stalled(SteadyTime now) const { return now - last_sign_ > longest_silence(); }
  [[nodiscard]] bool is_to_restart(SteadyTime now) const { return now - last_sign_ > restart_after_ + pause_; }
  // Of the newest frame, or of the start that none has followed yet.
  [[nodiscard]] SteadyTime last_sign() const { return last_sign_; }

  // By then there is a frame, or a reason why there is none.
  [[nodiscard]] SteadyTime sign_by() const { return sign_by_; }
  // By then the capture thread comes round.
  [[nodiscard]] SteadyTime turn_by() const { return turn_by_; }

 private:
  const SteadyClock::duration stall_after_;
  const SteadyClock::duration restart_after_;
  SteadyClock::duration pause_{};
  SteadyTime last_sign_{};
  SteadyTime sign_by_{};
  SteadyTime turn_by_{};
  bool fruitful_ = true;  // a frame came since the last start that went well
  bool in_vain_ = false;  // started well, ended without a frame
};

}  // namespace kinglet::daemon
