// SPDX-License-Identifier: Apache-2.0
// Why: cameras lock out who tries a wrong login some five times within half an hour, and with him everybody at his
// address. One that was refused rests before it is tried again, longer each time; another one counts at once.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>

#include "engine/base/clock.h"
#include "engine/base/mutex.h"

namespace kinglet::camera {

// Of one door of one camera. `login` is a number that stands for it (std::hash). Time comes in as a value. Thread-safe.
class RefusedLogin {
 public:
  explicit RefusedLogin(SteadyClock::duration first_rest) : first_rest_(first_rest) {}

  [[nodiscard]] bool rests(std::size_t login, SteadyTime now) const {
    const MutexLock lock(mutex_);
    return rest_ != rest_.zero() && login == login_ && now < until_;
  }
  void refused(std::size_t login, SteadyTime now) {
    const MutexLock lock(mutex_);
    rest_ = rest_ == rest_.zero() || login != login_ ? first_rest_ : std::min(5 * rest_, kLongestRest);
    login_ = login;
    until_ = now + rest_;
  }
  void taken() {
    const MutexLock lock(mutex_);
    rest_ = rest_.zero();
  }

 private:
  static constexpr SteadyClock::duration kLongestRest = std::chrono::hours(1);

  const SteadyClock::duration first_rest_;
  mutable Mutex mutex_;
  std::size_t login_ KINGLET_GUARDED_BY(mutex_) = 0;
  SteadyClock::duration rest_ KINGLET_GUARDED_BY(mutex_){};
  SteadyTime until_ KINGLET_GUARDED_BY(mutex_){};
};

}  // namespace kinglet::camera
