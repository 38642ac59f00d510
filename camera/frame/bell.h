// SPDX-License-Identifier: Apache-2.0
// Why: who takes from several mailboxes, and has other work besides, waits at one place for all of it.
#pragma once

#include "engine/base/clock.h"
#include "engine/base/mutex.h"

namespace kinglet::camera {

// Thread-safe. One waits, any ring.
class Bell {
 public:
  void ring() {
    {
      MutexLock lock(mutex_);
      rang_ = true;
    }
    changed_.notify_one();
  }
  // Until it rings, or the deadline passes; not at all where it rang since the last wait.
  void wait(SteadyTime deadline) {
    MutexLock lock(mutex_);
    while (!rang_) {
      if (changed_.wait_until(mutex_, deadline) == std::cv_status::timeout) break;
    }
    rang_ = false;
  }

 private:
  Mutex mutex_;
  Condition changed_;
  bool rang_ KINGLET_GUARDED_BY(mutex_) = false;
};

}  // namespace kinglet::camera
