// SPDX-License-Identifier: Apache-2.0
// Why: a slow worker gets a frame now and then, never holds a camera's buffer, and never keeps those waiting who have
// the frames: three copies go round, of which each side owns one.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "camera/frame/frame.h"
#include "engine/base/clock.h"
#include "engine/base/mutex.h"

namespace kinglet::daemon {

struct FrameCopy {
  std::vector<std::byte> bytes;
  camera::FrameView view;  // shows `bytes`
  camera::FrameInfo info;
  SteadyTime at{};  // when it was made
};

// One thread gives, one takes; end() is anybody's.
class FrameRelay {
 public:
  // Of the giving thread. Is a copy due? Then the next one is `interval` after `now`.
  [[nodiscard]] bool take_turn(SteadyTime now, SteadyClock::duration interval);
  // Of the giving thread. Allocates only for a frame larger than any before. True: the copy before was never taken.
  bool put(const camera::FrameView& view, const camera::FrameInfo& info, SteadyTime now);

  // Of the taking thread. The newest copy that was not taken yet, waited for until `until` or the end; nullptr: none
  // came. Valid until one is taken again.
  [[nodiscard]] const FrameCopy* take(SteadyTime until);

  void end();  // take() waits no more
  [[nodiscard]] bool has_ended();

 private:
  FrameCopy filling_;  // of the giving thread
  std::optional<SteadyTime> last_;
  FrameCopy reading_;  // of the taking thread

  Mutex mutex_;
  Condition changed_;
  FrameCopy ready_ KINGLET_GUARDED_BY(mutex_);
  bool is_fresh_ KINGLET_GUARDED_BY(mutex_) = false;  // ready_ was not taken yet
  bool ended_ KINGLET_GUARDED_BY(mutex_) = false;
};

}  // namespace kinglet::daemon
