// SPDX-License-Identifier: Apache-2.0
// Why: a thread that hangs cannot say so. It says beforehand by when it comes round again, and others look at the time.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <utility>

#include "engine/base/clock.h"

namespace kinglet {

// Belongs to one thread, which outlives none of those that look. Thread-safe.
class Pulse {
 public:
  explicit Pulse(std::string name) : name_(std::move(name)) {}  // of the thread, at most 15 letters

  // Of the thread itself, which comes round again within `longest` as far as it is up to it: a wait has such an end,
  // and work goes on at once.
  void beat(SteadyClock::duration longest = {}) {
    if (thread_ == 0) thread_ = ::gettid();
    const SteadyTime now = SteadyClock::now();
    last_ = now;
    by_ = now + longest;
  }
  // Of the thread itself: it ends, or waits for something that has no end of its own. Nothing is promised.
  void rest() { by_ = SteadyTime::max(); }

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] SteadyTime last() const { return last_; }  // beat
  // Of what it promised; max(): nothing.
  [[nodiscard]] SteadyTime by() const { return by_; }
  [[nodiscard]] pid_t thread() const { return thread_; }  // 0: never begun

 private:
  const std::string name_;
  std::atomic<SteadyTime> last_{};
  std::atomic<SteadyTime> by_{SteadyTime::max()};
  std::atomic<pid_t> thread_{0};
};

}  // namespace kinglet
