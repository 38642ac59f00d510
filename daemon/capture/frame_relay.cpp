// SPDX-License-Identifier: Apache-2.0
#include "daemon/capture/frame_relay.h"

#include <utility>

#include "camera/frame/frame_copy.h"

namespace kinglet::daemon {

bool FrameRelay::take_turn(SteadyTime now, SteadyClock::duration interval) {
  if (last_ && now - *last_ < interval) return false;
  last_ = now;
  return true;
}

bool FrameRelay::put(const camera::FrameView& view, const camera::FrameInfo& info, SteadyTime now) {
  camera::copy_view(view, filling_.bytes, filling_.view);
  filling_.info = info;
  filling_.at = now;
  bool was_fresh = false;
  {
    MutexLock lock(mutex_);
    std::swap(filling_, ready_);
    was_fresh = std::exchange(is_fresh_, true);
  }
  changed_.notify_all();
  return was_fresh;
}

const FrameCopy* FrameRelay::take(SteadyTime until) {
  MutexLock lock(mutex_);
  while (!is_fresh_ && !ended_) {
    if (changed_.wait_until(mutex_, until) == std::cv_status::timeout) break;
  }
  if (!std::exchange(is_fresh_, false)) return nullptr;
  std::swap(ready_, reading_);
  return &reading_;
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
