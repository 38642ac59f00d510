// SPDX-License-Identifier: Apache-2.0
// Why: a slow worker gets a copy of a frame now and then, and never keeps those waiting who have the frames: where it
// is late the newer one takes the place of the one that waits.
#pragma once

#include <optional>

#include "camera/frame/frame_copies.h"
#include "engine/base/clock.h"
#include "engine/base/mutex.h"

namespace kinglet::daemon {

// One thread gives, one takes; end() is anybody's.
class FrameRelay {
 public:
  // Of the giving thread. Is a copy due? Then the next one is `interval` after `now`.
  [[nodiscard]] bool take_turn(SteadyTime now, SteadyClock::duration interval);
  // Of the giving thread: the one of `copies` that is of this frame. The copy before, where nobody has taken it, is let
  // go of first, so that this one may be made in its memory. True: there was one.
  bool put(camera::FrameCopies& copies, const camera::FrameView& view, const camera::FrameInfo& info, SteadyTime now);

  // Of the taking thread. The newest copy that was not taken yet, waited for until `until` or the end; empty: none
  // came.
  [[nodiscard]] camera::FrameCopies::Share take(SteadyTime until);

  void end();  // take() waits no more
  [[nodiscard]] bool has_ended();

 private:
  std::optional<SteadyTime> last_;  // of the giving thread

  Mutex mutex_;
  Condition changed_;
  camera::FrameCopies::Share ready_ KINGLET_GUARDED_BY(mutex_);  // not taken yet
  bool ended_ KINGLET_GUARDED_BY(mutex_) = false;
};

}  // namespace kinglet::daemon
