// SPDX-License-Identifier: Apache-2.0
// Why: one piece of work beside another, again and again, without a thread made for each and without an allocation.
#pragma once

#include <exception>
#include <functional>
#include <thread>

#include "engine/base/mutex.h"

namespace kinglet::daemon {

// Used by one thread, its owner's.
class SideThread {
 public:
  explicit SideThread(const char* name);
  ~SideThread();
  SideThread(const SideThread&) = delete;
  SideThread& operator=(const SideThread&) = delete;

  // Runs `work` on the side thread and `own` on the caller's; returns when both are done. What either throws is thrown
  // here, `own`'s first.
  void run(const std::function<void()>& work, const std::function<void()>& own);

 private:
  void loop();
  std::exception_ptr wait();

  Mutex mutex_;
  Condition changed_;
  const std::function<void()>* work_ KINGLET_GUARDED_BY(mutex_) = nullptr;
  std::exception_ptr error_ KINGLET_GUARDED_BY(mutex_);
  bool ends_ KINGLET_GUARDED_BY(mutex_) = false;
  std::jthread thread_;  // last: joined first
};

}  // namespace kinglet::daemon
