// SPDX-License-Identifier: Apache-2.0
// Why: libstdc++'s std::mutex carries no annotations, so clang's -Wthread-safety sees nothing. These wrappers do.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

#ifdef __clang__
#define KINGLET_ANNOTATE(x) __attribute__((x))
#else
#define KINGLET_ANNOTATE(x)
#endif
#define KINGLET_GUARDED_BY(mutex) KINGLET_ANNOTATE(guarded_by(mutex))
#define KINGLET_REQUIRES(mutex) KINGLET_ANNOTATE(requires_capability(mutex))

namespace kinglet {

class KINGLET_ANNOTATE(capability("mutex")) Mutex {
 public:
  void lock() KINGLET_ANNOTATE(acquire_capability()) { mutex_.lock(); }
  void unlock() KINGLET_ANNOTATE(release_capability()) { mutex_.unlock(); }
  [[nodiscard]] bool try_lock() KINGLET_ANNOTATE(try_acquire_capability(true)) { return mutex_.try_lock(); }

 private:
  friend class Condition;
  std::mutex mutex_;
};

class KINGLET_ANNOTATE(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) KINGLET_ANNOTATE(acquire_capability(mutex)) : mutex_(mutex) { mutex_.lock(); }
  ~MutexLock() KINGLET_ANNOTATE(release_capability()) { mutex_.unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

// Waits with a Mutex held. Spurious wake-ups happen: call in a loop over the condition.
class Condition {
 public:
  void wait(Mutex& mutex) KINGLET_REQUIRES(mutex) {
    std::unique_lock<std::mutex> lock(mutex.mutex_, std::adopt_lock);
    condition_.wait(lock);
    lock.release();
  }
  template <typename Clock, typename Duration>
  std::cv_status wait_until(Mutex& mutex, std::chrono::time_point<Clock, Duration> deadline) KINGLET_REQUIRES(mutex) {
    std::unique_lock<std::mutex> lock(mutex.mutex_, std::adopt_lock);
    const std::cv_status status = condition_.wait_until(lock, deadline);
    lock.release();
    return status;
  }
  void notify_one() { condition_.notify_one(); }
  void notify_all() { condition_.notify_all(); }

 private:
  std::condition_variable condition_;
};

}  // namespace kinglet
