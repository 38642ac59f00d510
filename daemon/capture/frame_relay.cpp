// SPDX-License-Identifier: Apache-2.0
#include "daemon/capture/frame_relay.h"

#include <utility>

namespace kinglet::daemon {

bool FrameRelay::take_turn(SteadyTime now, SteadyClock::duration interval) {
  if (last_ && now - *last_ < interval) return false;
  last_ = now;
  return true;
}

bool FrameRelay::put(camera::FrameCopies& copies, const camera::FrameView& view, const camera::FrameInfo& info,
                     SteadyTime now) {
  camera::FrameCopies::Share copy;
  {
    MutexLock lock(mutex_);
    std::swap(copy, ready_);
  }
  const bool was_there = static_cast<bool>(copy);
  copy = {};
  copy = copies.of(view, info, now);
  {
    MutexLock lock(mutex_);
    std::swap(copy, ready_);
  }
  changed_.notify_all();
  return was_there;
}

camera::FrameCopies::Share FrameRelay::take(SteadyTime until) {
  MutexLock lock(mutex_);
  while (!ready_ && !ended_) {
    if (changed_.wait_until(mutex_, until) == std::cv_status::timeout) break;
  }
  return std::exchange(ready_, {});
}

void FrameRelay::end() {
  {
    MutexLock lock(mutex_);
    ended_ = true;
  }
  changed_.notify_all();
}

bool FrameRelay::has_ended() {
  MutexLock lock(mutex_);
  return ended_;
}

}  // namespace kinglet::daemon
