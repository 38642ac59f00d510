// SPDX-License-Identifier: Apache-2.0
// Why: a clock that goes on only when a test lets it. The thread that has it does an hour's turns in no time, and
// between them time stands still for as long as a real neighbour needs to answer.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <utility>

#include "daemon/tell/clock.h"
#include "engine/base/mutex.h"

namespace kinglet::daemon {

// Thread-safe; of one thread besides the test's.
class StandingClock {
 public:
  [[nodiscard]] Clock clock() {
    return {.now = [this] { return now(); },
            .wall = [this] { return wall(); },
            .let_pass = [this](std::chrono::milliseconds span) { return go(span); }};
  }
  [[nodiscard]] SteadyTime now() const {
    MutexLock lock(mutex_);
    return now_;
  }
  // What people's clocks say goes on with it.
  [[nodiscard]] WallTime wall() const {
    MutexLock lock(mutex_);
    return wall_ + std::chrono::duration_cast<WallTime::duration>(now_ - set_at_);
  }
  void set_wall(WallTime wall) {
    MutexLock lock(mutex_);
    wall_ = wall;
    set_at_ = now_;
  }
  // So much time goes by in the steps of the thread; then all that was due has been done, and the thread waits.
  void pass(std::chrono::milliseconds span) {
    MutexLock lock(mutex_);
    end_ = now_ + span;
    waits_ = false;
    while (!waits_) changed_.wait(mutex_);
  }
  // Time goes by until this is so, which the thread asks before each step.
  void pass_until(std::function<bool()> is_so) {
    MutexLock lock(mutex_);
    end_ = SteadyTime::max();
    is_so_ = std::move(is_so);
    waits_ = false;
    while (!waits_) changed_.wait(mutex_);
  }
  // From now on time goes by as fast as the thread lets it.
  void run() {
    MutexLock lock(mutex_);
    end_ = SteadyTime::max();
  }

 private:
  std::chrono::milliseconds go(std::chrono::milliseconds span) {
    MutexLock lock(mutex_);
    if (is_so_ && is_so_()) {
      end_ = now_;
      is_so_ = nullptr;
    }
    if (now_ == end_) {
      waits_ = true;
      changed_.notify_all();
      return std::chrono::milliseconds(1);
    }
    now_ = std::min(now_ + span, end_);
    return std::chrono::milliseconds(0);
  }

  mutable Mutex mutex_;
  Condition changed_;
  SteadyTime now_ KINGLET_GUARDED_BY(mutex_){std::chrono::hours(1)};
  SteadyTime set_at_ KINGLET_GUARDED_BY(mutex_) = now_;
  WallTime wall_ KINGLET_GUARDED_BY(mutex_){};  // at set_at_
  SteadyTime end_ KINGLET_GUARDED_BY(mutex_) = now_;
  std::function<bool()> is_so_ KINGLET_GUARDED_BY(mutex_);
  bool waits_ KINGLET_GUARDED_BY(mutex_) = false;
};

}  // namespace kinglet::daemon
